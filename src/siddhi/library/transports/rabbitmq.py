"""Metadata of the source and sink ``rabbitmq``."""

from __future__ import annotations

from typing import Literal

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata
from siddhi.library.transports.delivery import ACK, BUFFER, EVENT_TIME, QUEUE
from siddhi.library.transports.security import CLIENT_TLS, java_stores

__all__ = ["CONNECTORS"]

_SERVER: tuple[ConnectorOption, ...] = (
    ConnectorOption(
        "uri", "the server: amqp://host:port/virtual-host, or amqps:// for TLS", required=True, place="url"
    ),
    ConnectorOption("username", "the user; default: that of 'uri', or guest"),
    ConnectorOption("password", "the password; default: that of 'uri', or guest", secret=True),
    ConnectorOption("heartbeat", "seconds after which a silent server counts as lost; default: 60", unit="sec"),
    ConnectorOption(
        "connection.timeout", "time that an attempt to connect may take, in ms; default: 30 sec", unit="ms"
    ),
    ConnectorOption("tls.enabled", "whether TLS is used; default: as 'uri' says"),
    *CLIENT_TLS,
    *java_stores("tls.truststore.path", "tls.truststore.password", "tls.truststore.type"),
    ConnectorOption("tls.version", "refused: the version of TLS is negotiated"),
)


def _property(name: str, description: str, unit: Literal["ms", "sec"] | None = None) -> ConnectorOption:
    return ConnectorOption(name, description, dynamic=True, unit=unit)


CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="rabbitmq",
        builtin="rabbitmq",
        location="rabbitmq.source.RabbitSource",
        packages=("aio_pika",),
        extra="rabbitmq",
        options=(
            ConnectorOption("exchange.name", "the exchange that the queue is bound to; default: none", place="name"),
            ConnectorOption("exchange.type", "direct, fanout, topic or headers; default: direct"),
            ConnectorOption("exchange.durable.enabled", "whether it outlives the server; default: 'false'"),
            ConnectorOption("exchange.autodelete.enabled", "whether it ends with its last queue; default: 'false'"),
            ConnectorOption("routing.key", "the key of the binding; default: empty"),
            ConnectorOption("headers", "arguments of the binding: 'name:text','name:text'"),
            ConnectorOption(
                "queue.name", "the queue; default: one of the server's choice for this connection", place="name"
            ),
            ConnectorOption("queue.durable.enabled", "whether it outlives the server; default: 'false'"),
            ConnectorOption(
                "queue.exclusive.enabled",
                "whether only this connection may use it; default: 'true' without 'queue.name'",
            ),
            ConnectorOption(
                "queue.autodelete.enabled",
                "whether it ends with its last consumer; default: 'true' without 'queue.name'",
            ),
            ConnectorOption(
                "dead.letter.exchange", "exchange of the queue for messages that are rejected", place="name"
            ),
            ConnectorOption("dead.letter.routing.key", "their routing key; default: that of the message"),
            ConnectorOption("reject.failed", "whether messages that can't be mapped are rejected; default: 'false'"),
            ConnectorOption("auto.ack", "'true' stands for ack = 'received', 'false' for ack = 'processed'"),
            ConnectorOption(
                "prefetch.count",
                "number of messages that the server sends without an acknowledgement; default: 'buffer.payloads', "
                "10000 with ack = 'checkpoint'",
            ),
            ConnectorOption(
                "consumer.threadpool.size", "has no effect: messages are received in one coroutine, in their order"
            ),
            ACK,
            EVENT_TIME,
            BUFFER,
            *_SERVER,
        ),
        description="Consumes a queue of RabbitMQ.",
        example="@source(type = 'rabbitmq', uri = 'amqp://localhost', exchange.name = 'trades', exchange.type = 'topic',\n"
        "        routing.key = 'nyse.*', queue.name = 'alerts', queue.durable.enabled = 'true', @map(type = 'json'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMetadata(
        name="rabbitmq",
        builtin="rabbitmq",
        location="rabbitmq.sink.RabbitSink",
        packages=("aio_pika",),
        extra="rabbitmq",
        options=(
            ConnectorOption(
                "exchange.name",
                "the exchange; default: the one of the server, whose routing keys are queues",
                dynamic=True,
                place="name",
            ),
            _property("exchange.type", "direct, fanout, topic or headers; default: direct"),
            _property("exchange.durable.enabled", "whether it outlives the server; default: 'false'"),
            _property("exchange.autodelete.enabled", "whether it ends with its last queue; default: 'false'"),
            _property("routing.key", "the routing key; default: empty"),
            _property("headers", "'name:text','name:text'"),
            ConnectorOption("mandatory", "whether a message that no queue takes is an error; default: 'false'"),
            _property("delivery.mode", "1, or 2: durable queues keep the message on the disk; default: 1"),
            _property("content.type", "type of the content"),
            _property("content.encoding", "its encoding"),
            _property("priority", "from 0 to 255; default: 0"),
            _property("correlation.id", "identifier of the message that it answers"),
            _property("reply.to", "queue for answers"),
            _property("expiration", "milliseconds after which the server drops it; default: never", unit="ms"),
            _property("message.id", "its identifier"),
            _property("timestamp", "milliseconds since 1970, or dd/MM/yyyy; default: the time of publishing"),
            _property("type", "its type"),
            _property("user.id", "the user, which the server checks"),
            _property("app.id", "the application"),
            QUEUE,
            *_SERVER,
        ),
        description="Publishes payloads to exchanges of RabbitMQ.",
        example="@sink(type = 'rabbitmq', uri = 'amqp://localhost', exchange.name = 'alerts', routing.key = '{{symbol}}',\n"
        "      delivery.mode = '2', @map(type = 'json'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
