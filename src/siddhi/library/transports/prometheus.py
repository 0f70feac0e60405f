"""Metadata of the source and sink ``prometheus``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata
from siddhi.library.transports.delivery import BUFFER, QUEUE
from siddhi.library.transports.security import CLIENT_TLS, java_stores

__all__ = ["CONNECTORS"]

_PACKAGES = ("prometheus_client", "prometheus_summary", "httpx2")

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="prometheus",
        builtin="prometheus",
        location="prometheus.source.PrometheusSource",
        packages=_PACKAGES,
        extra="prometheus",
        options=(
            ConnectorOption(
                "target.url", "what to scrape, such as http://host:9100/metrics", required=True, place="url"
            ),
            ConnectorOption("metric.type", "counter, gauge, histogram or summary", required=True),
            ConnectorOption("metric.name", "name of the metric; default: name of the stream"),
            ConnectorOption("scrape.interval", "seconds between two scrapes; default: 60", unit="sec"),
            ConnectorOption("scrape.timeout", "seconds that the target has to answer; default: 10", unit="sec"),
            ConnectorOption("scheme", "http or https, as in the 'target.url'"),
            ConnectorOption("job", "only samples with this label 'job'"),
            ConnectorOption("instance", "only samples with this label 'instance'"),
            ConnectorOption("grouping.key", "only samples with these labels: 'name:value','name:value'"),
            ConnectorOption("headers", "headers of the request: 'name:value','name:value'"),
            ConnectorOption("username", "name of the user, with basic authentication"),
            ConnectorOption("password", "password of the user", secret=True),
            *CLIENT_TLS,
            BUFFER,
            *java_stores("client.truststore.file", "client.truststore.password"),
        ),
        description="Scrapes a metric, and delivers an event for each of its samples if the answer has changed.",
        example="@source(type = 'prometheus', target.url = 'http://localhost:9100/metrics', metric.type = 'gauge',\n"
        "        metric.name = 'node_load1', @map(type = 'keyvalue'))\n"
        "define stream Loads (value double);",
    ),
    SinkMetadata(
        name="prometheus",
        builtin="prometheus",
        location="prometheus.sink.PrometheusSink",
        packages=_PACKAGES,
        extra="prometheus",
        options=(
            ConnectorOption("metric.type", "counter, gauge, histogram or summary", required=True),
            ConnectorOption("metric.name", "name of the metric; default: name of the stream"),
            ConnectorOption("metric.help", "its description; default: '<name>_<type>'"),
            ConnectorOption("value.attribute", "the attribute with the value; the others are labels; default: value"),
            ConnectorOption("buckets", "upper bounds of a histogram, by commas; default: those of the client library"),
            ConnectorOption("quantiles", "quantiles of a summary, by commas; default: none"),
            ConnectorOption("quantile.error", "error of the quantiles; default: 0.001"),
            ConnectorOption("publish.mode", "server or pushgateway; default: server"),
            ConnectorOption("server.url", "where to expose it; default: http://localhost:9080", place="url"),
            ConnectorOption("push.url", "the gateway; default: http://localhost:9091", place="url"),
            ConnectorOption("push.operation", "push (replace the group) or pushadd; default: pushadd"),
            ConnectorOption("job", "name of the job at the gateway; default: siddhiJob"),
            ConnectorOption("grouping.key", "more labels of the group at the gateway: 'name:value','name:value'"),
            ConnectorOption("username", "name of the user, with basic authentication"),
            ConnectorOption("password", "password of the user", secret=True),
            *CLIENT_TLS,
            QUEUE,
        ),
        description="Changes a metric by each event; a server exposes it, or it is pushed to a gateway.",
        example="@sink(type = 'prometheus', metric.type = 'counter', value.attribute = 'volume', @map(type = 'keyvalue'))\n"
        "define stream Volumes (symbol string, volume long);",
    ),
)
