"""Metadata of the sources and sinks ``redis-stream`` and ``redis-pubsub``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata
from siddhi.library.transports.delivery import ACK, BUFFER, EVENT_TIME, QUEUE, UNACKNOWLEDGED
from siddhi.library.transports.security import CLIENT_TLS

__all__ = ["CONNECTORS"]

_SERVER: tuple[ConnectorOption, ...] = (
    ConnectorOption(
        "url",
        "redis://host:port/database, rediss:// with TLS, or unix:///path; default: redis://localhost:6379",
        place="url",
    ),
    ConnectorOption("username", "the user; default: that of the server's default user"),
    ConnectorOption("password", "the password", secret=True),
    ConnectorOption(
        "timeout", "time after which a server that does not answer counts as lost, in ms; default: 30 sec", unit="ms"
    ),
    *CLIENT_TLS,
)
_FIELD = ConnectorOption("payload.field", "the field of an entry that has the payload; default: payload")

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="redis-stream",
        builtin="redis-stream",
        location="redis.streams.RedisStreamSource",
        packages=("redis",),
        extra="redis",
        options=(
            ConnectorOption("stream", "the key of the stream", required=True, place="name"),
            ConnectorOption("group", "the group of consumers, which is created; default: none", place="name"),
            ConnectorOption("consumer", "the name of this consumer in the group; default: '<host>/<app>/<stream>'"),
            ConnectorOption(
                "start",
                "where a new group, or a source without group and position, begins: new, earliest or an id; default: new",
            ),
            ConnectorOption(
                "claim.idle",
                "time after which an entry that another consumer has not acknowledged is taken over, in ms, 0: never; default: 5 min",
                unit="ms",
            ),
            ConnectorOption("dead.letter.stream", "stream that gets the entries that can't be mapped", place="name"),
            _FIELD,
            ConnectorOption("read.count", "largest number of entries that are read at once; default: 256"),
            ACK,
            EVENT_TIME,
            BUFFER,
            UNACKNOWLEDGED,
            *_SERVER,
        ),
        description="Reads a stream of Redis, alone or as a consumer of a group.",
        example="@source(type = 'redis-stream', stream = 'trades', group = 'alerts', consumer = 'one', @map(type = 'json'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SourceMetadata(
        name="redis-pubsub",
        builtin="redis-pubsub",
        location="redis.channels.RedisChannelSource",
        packages=("redis",),
        extra="redis",
        options=(
            ConnectorOption("channel", "the channels, separated by commas", place="name"),
            ConnectorOption("pattern", "patterns of channels such as news.*, separated by commas", place="name"),
            BUFFER,
            *_SERVER,
        ),
        description="Receives the messages of channels of Redis.",
        example="@source(type = 'redis-pubsub', pattern = 'trades.*', @map(type = 'json'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMetadata(
        name="redis-stream",
        builtin="redis-stream",
        location="redis.sink.RedisStreamSink",
        packages=("redis",),
        extra="redis",
        options=(
            ConnectorOption("stream", "the key of the stream", required=True, dynamic=True, place="name"),
            _FIELD,
            ConnectorOption("maxlen", "number of entries that the stream keeps; default: all"),
            ConnectorOption(
                "maxlen.approximate", "whether it may keep some more, which is much faster; default: 'true'"
            ),
            QUEUE,
            *_SERVER,
        ),
        description="Adds an entry to a stream of Redis for each payload.",
        example="@sink(type = 'redis-stream', stream = 'alerts', maxlen = '100000', @map(type = 'json'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
    SinkMetadata(
        name="redis-pubsub",
        builtin="redis-pubsub",
        location="redis.sink.RedisChannelSink",
        packages=("redis",),
        extra="redis",
        options=(
            ConnectorOption("channel", "the channel", required=True, dynamic=True, place="name"),
            QUEUE,
            *_SERVER,
        ),
        description="Publishes payloads to a channel of Redis.",
        example="@sink(type = 'redis-pubsub', channel = 'alerts.{{symbol}}', @map(type = 'json'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
