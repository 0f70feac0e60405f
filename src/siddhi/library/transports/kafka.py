"""Metadata of the source and sink ``kafka``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata
from siddhi.library.transports.delivery import ACK, BUFFER, EVENT_TIME, QUEUE
from siddhi.library.transports.security import CLIENT_TLS

__all__ = ["CONNECTORS"]

_CLIENT: tuple[ConnectorOption, ...] = (
    ConnectorOption("bootstrap.servers", "brokers: host:port, separated by commas", required=True, place="url"),
    ConnectorOption(
        "optional.configuration",
        "settings of the client, librdkafka: 'name:value','name:value'; those that have an option are refused here",
    ),
    ConnectorOption(
        "security.protocol",
        "plaintext, ssl, sasl_plaintext or sasl_ssl; default: by the options 'tls.*' and 'sasl.mechanism'",
    ),
    ConnectorOption("sasl.mechanism", "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or GSSAPI"),
    ConnectorOption("sasl.username", "user of PLAIN and SCRAM"),
    ConnectorOption("sasl.password", "password of PLAIN and SCRAM", secret=True),
    ConnectorOption("oauth.client.id", "client of OAUTHBEARER, which gets a token with its credentials"),
    ConnectorOption("oauth.client.secret", "its secret", secret=True),
    ConnectorOption("oauth.token.url", "where it gets the token", place="url"),
    ConnectorOption("oauth.scope", "scope of the token"),
    *CLIENT_TLS,
)

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="kafka",
        builtin="kafka",
        location="kafka.source.KafkaSource",
        packages=("confluent_kafka",),
        extra="kafka",
        options=(
            ConnectorOption("topic.list", "topics, separated by commas", required=True, place="name"),
            ConnectorOption("group.id", "the consumer group", required=True, place="name"),
            ConnectorOption(
                "threading.option",
                "single.thread: one consumer; topic.wise: one for each topic; partition.wise: one for each partition; "
                "default: single.thread",
            ),
            ConnectorOption(
                "partition.no.list",
                "partitions of each topic, separated by commas; default: those that the group assigns",
            ),
            ConnectorOption("is.binary.message", "whether payloads are bytes instead of texts; default: 'false'"),
            ConnectorOption(
                "seq.enabled", "whether repeated messages are dropped by sequence header; default: 'false'"
            ),
            ConnectorOption(
                "auto.offset.reset", "earliest or latest: where to start without a position; default: earliest"
            ),
            ConnectorOption(
                "topic.offsets.map",
                "where to start without a restored position: topic=offset, or topic/partition=offset",
            ),
            ConnectorOption(
                "start.timestamp",
                "the same by time: the first message of this time, in milliseconds or as 2026-01-31T12:00:00Z",
            ),
            ConnectorOption("enable.offsets.commit", "whether offsets are committed; default: 'true'"),
            ConnectorOption(
                "enable.async.commit",
                "'false': the offsets of a batch are committed before the next one is read; default: 'true'",
            ),
            ACK,
            EVENT_TIME,
            BUFFER,
            *_CLIENT,
        ),
        description="Receives the messages of Kafka topics.",
        example="@source(type = 'kafka', bootstrap.servers = 'localhost:9092', topic.list = 'trades', group.id = 'alerts',\n"
        "        ack = 'checkpoint', @map(type = 'json'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMetadata(
        name="kafka",
        builtin="kafka",
        location="kafka.sink.KafkaSink",
        packages=("confluent_kafka",),
        extra="kafka",
        options=(
            ConnectorOption("topic", "the topic", required=True, dynamic=True, place="name"),
            ConnectorOption("partition.no", "the partition; default: by the key", dynamic=True),
            ConnectorOption("key", "the key of the message", dynamic=True),
            ConnectorOption("headers", "headers of the message: 'name:value','name:value'", dynamic=True),
            ConnectorOption("record.timestamp", "time of the message: now, or event; default: now"),
            ConnectorOption(
                "is.binary.message", "whether payloads with a sequence header are bytes; default: those that are bytes"
            ),
            ConnectorOption(
                "is.synchronous", "whether the app waits until each payload is published; default: 'false'"
            ),
            ConnectorOption(
                "transactional.id",
                "publishes in transactions that are committed when a state of the app is saved; no other sink may have this id",
            ),
            ConnectorOption("sequence.id", "id of the sender in sequence headers; default: no headers"),
            ConnectorOption("use.avro.serializer", "not supported: refused; @map(type = 'avro') has a registry"),
            QUEUE,
            *_CLIENT,
        ),
        description="Publishes to Kafka topics.",
        example="@sink(type = 'kafka', bootstrap.servers = 'localhost:9092', topic = 'alerts', key = '{{symbol}}',\n"
        "      @map(type = 'json'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
