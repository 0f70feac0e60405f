"""Metadata of the source and sink ``nats``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata
from siddhi.library.transports.delivery import ACK, BUFFER, EVENT_TIME, QUEUE, UNACKNOWLEDGED
from siddhi.library.transports.security import CLIENT_TLS, java_stores

__all__ = ["CONNECTORS"]

_STREAMING = "selects JetStream; its value, the cluster of NATS Streaming, has no effect: JetStream needs none"

_CLIENT: tuple[ConnectorOption, ...] = (
    ConnectorOption(
        "server.urls", "servers: nats://host:port, separated by commas; default: nats://localhost:4222", place="url"
    ),
    ConnectorOption("bootstrap.servers", "older name of 'server.urls'", place="url"),
    ConnectorOption("client.id", "name of the client, for the server; default: <app>/<stream>"),
    ConnectorOption("jetstream", "whether messages are those of a stream of JetStream; default: by the other options"),
    ConnectorOption("cluster.id", _STREAMING),
    ConnectorOption("streaming.cluster.id", _STREAMING),
    ConnectorOption(
        "optional.configuration",
        "connect_timeout, ping_interval and max_outstanding_pings, in seconds: 'name:value','name:value'",
    ),
    ConnectorOption("auth.type", "user, token or tls; default: by the options"),
    ConnectorOption("username", "user of the server"),
    ConnectorOption("password", "its password", secret=True),
    ConnectorOption("token", "token of the server", secret=True),
    ConnectorOption("nkey.seed", "seed of an NKey", secret=True),
    ConnectorOption("credentials.file", "file with a JWT and the seed of its NKey", place="file"),
    *CLIENT_TLS,
    ConnectorOption("client.verify", "has no effect: a certificate in 'tls.certificate.file' is always shown"),
    *java_stores(
        "truststore.file",
        "truststore.password",
        "truststore.algorithm",
        "keystore.file",
        "keystore.password",
        "keystore.algorithm",
        "tls.store.type",
    ),
)

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="nats",
        builtin="nats",
        location="nats.source.NatsSource",
        packages=("nats",),
        extra="nats",
        options=(
            ConnectorOption("destination", "the subject, also with wildcards", required=True, place="name"),
            ConnectorOption("queue.group.name", "name of a group of sources that share the messages", place="name"),
            ConnectorOption("stream", "the stream of JetStream; default: the one that has the subject", place="name"),
            ConnectorOption(
                "durable.name",
                "name of the consumer of JetStream; default: a consumer that is deleted with the source",
                place="name",
            ),
            ConnectorOption("deliver.policy", "all, new or last: where to start without a position; default: all"),
            ConnectorOption(
                "subscription.sequence", "the same: the number of the message in the stream before the first one"
            ),
            ConnectorOption(
                "ack.wait",
                "time after which the server delivers again what is not acknowledged, in seconds, such as '30 sec'",
                unit="sec",
            ),
            ACK,
            EVENT_TIME,
            BUFFER,
            UNACKNOWLEDGED,
            *_CLIENT,
        ),
        description="Receives the messages of a subject of NATS, or of a stream of JetStream.",
        example="@source(type = 'nats', server.urls = 'nats://localhost:4222', destination = 'trades.*', stream = 'TRADES',\n"
        "        durable.name = 'alerts', ack = 'checkpoint', @map(type = 'json'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMetadata(
        name="nats",
        builtin="nats",
        location="nats.sink.NatsSink",
        packages=("nats",),
        extra="nats",
        options=(
            ConnectorOption("destination", "the subject", required=True, dynamic=True, place="name"),
            ConnectorOption("headers", "headers of the message: 'name:value','name:value'", dynamic=True),
            ConnectorOption("stream", "the stream of JetStream that must store the message", place="name"),
            ConnectorOption(
                "message.id",
                "id of the message: JetStream drops those whose id it has seen in the last minutes",
                dynamic=True,
            ),
            QUEUE,
            *_CLIENT,
        ),
        description="Publishes to subjects of NATS, or to streams of JetStream.",
        example="@sink(type = 'nats', server.urls = 'nats://localhost:4222', destination = 'alerts.{{symbol}}', jetstream = 'true',\n"
        "      @map(type = 'json'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
