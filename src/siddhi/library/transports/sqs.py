"""Metadata of the source and sink ``sqs``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata
from siddhi.library.transports.delivery import ACK, BUFFER, EVENT_TIME, QUEUE, UNACKNOWLEDGED

__all__ = ["CONNECTORS"]

_COMMON = (
    ConnectorOption("queue", "name or URL of the queue", required=True, place="url"),
    ConnectorOption("region", "the region, such as eu-west-1", required=True),
    ConnectorOption(
        "access.key", "the access key; default: as for all tools of AWS, from environment, files or machine"
    ),
    ConnectorOption("secret.key", "its secret", secret=True),
    ConnectorOption("endpoint.url", "another service with the same interface", place="url"),
    ConnectorOption("tls.ca.file", "PEM file of the authorities to trust; default: those of botocore", place="file"),
    ConnectorOption("timeout", "how long the service has to answer, in ms; default: 30 sec", unit="ms"),
)

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="sqs",
        builtin="sqs",
        location="sqs.source.SqsSource",
        packages=("boto3",),
        extra="aws",
        options=(
            *_COMMON,
            ConnectorOption("polling.interval", "milliseconds to wait if the queue was empty; default: 0", unit="ms"),
            ConnectorOption("wait.time", "seconds that a request waits for messages; default: 2", unit="sec"),
            ConnectorOption("max.number.of.messages", "number of messages of a request; default: 10, the largest"),
            ConnectorOption(
                "visibility.timeout",
                "seconds after which a message of a process that died is delivered again; default: 30",
                unit="sec",
            ),
            ConnectorOption("delete.messages", "whether messages are deleted; default: 'true'"),
            ConnectorOption(
                "failed.messages", "delete or keep: what happens to those that can't be mapped; default: delete"
            ),
            ConnectorOption(
                "delete.retry.interval", "milliseconds between two attempts to delete; default: 5000", unit="ms"
            ),
            ConnectorOption("max.number.of.delete.retry.attempts", "number of further attempts to delete; default: 10"),
            ConnectorOption("number.of.parallel.consumers", "number of requests at the same time; default: 1"),
            ACK,
            EVENT_TIME,
            BUFFER,
            UNACKNOWLEDGED,
        ),
        description="Receives the messages of a queue of Amazon SQS, and deletes them when they are processed.",
        example="@source(type = 'sqs', queue = 'orders', region = 'eu-west-1', @map(type = 'json'))\n"
        "define stream Orders (item string, amount int);",
    ),
    SinkMetadata(
        name="sqs",
        builtin="sqs",
        location="sqs.sink.SqsSink",
        packages=("boto3",),
        extra="aws",
        options=(
            *_COMMON,
            ConnectorOption("message.group.id", "FIFO queues: the group, within which order is kept", dynamic=True),
            ConnectorOption(
                "deduplication.id", "FIFO queues: identifies a message; default: one of the event", dynamic=True
            ),
            ConnectorOption("delay.interval", "seconds for which a message is held back; default: 0", unit="sec"),
            ConnectorOption(
                "concurrency", "number of requests at the same time; with more than 1 in no order; default: 1"
            ),
            QUEUE,
        ),
        description="Sends each payload as a message to a queue of Amazon SQS.",
        example="@sink(type = 'sqs', queue = 'alerts.fifo', region = 'eu-west-1', message.group.id = '{{symbol}}',\n"
        "      @map(type = 'json'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
