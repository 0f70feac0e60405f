"""Metadata of the sources and sinks ``websocket`` and ``websocket-server``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata
from siddhi.library.transports.delivery import BUFFER, QUEUE
from siddhi.library.transports.security import BASIC_AUTH, CLIENT_TLS, SERVER_TLS, java_stores

__all__ = ["CONNECTORS"]

_SESSION = (
    ConnectorOption("sub.protocol", "sub-protocols, the preferred one first; default: none"),
    ConnectorOption(
        "idle.timeout",
        "milliseconds (or '5 sec') without a message after which the connection is closed; default: -1, never",
        unit="ms",
    ),
    ConnectorOption("ping.interval", "time between pings, in ms; 0: none; default: 20 sec", unit="ms"),
    ConnectorOption(
        "ping.timeout",
        "time after a ping without any sign of the peer that ends the connection, in ms; default: 20 sec",
        unit="ms",
    ),
    ConnectorOption("max.message.size", "bytes of the largest message that is received; default: 16777216"),
    ConnectorOption("compression", "whether messages are compressed if the peer supports it; default: 'false'"),
)
_CLIENT = (
    ConnectorOption("url", "the server: ws://host:port/path or wss://host:port/path", required=True, place="url"),
    *_SESSION,
    ConnectorOption("headers", "headers of the request: 'name:value','name:value'", secret=True),
    ConnectorOption("connection.timeout", "longest time to connect, in ms; default: 10 sec", unit="ms"),
    *BASIC_AUTH,
    *CLIENT_TLS,
    *java_stores("truststore.path", "truststore.password"),
)
_SERVER = (
    ConnectorOption("host", "the address to listen on", required=True, place="url"),
    ConnectorOption("port", "the port to listen on", required=True, place="url"),
    ConnectorOption("path", "the path that clients connect to; default: any path", place="name"),
    *_SESSION,
    ConnectorOption("allowed.origins", "origins of web pages that may connect, separated by commas; default: all"),
    ConnectorOption("max.clients", "number of clients of the server at the same time; default: 10000"),
    *BASIC_AUTH,
    ConnectorOption("tls.enabled", "whether clients connect with wss; default: 'true' with 'tls.certificate.file'"),
    *SERVER_TLS,
    *java_stores("keystore.path", "keystore.password"),
)

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="websocket",
        builtin="websocket",
        location="websocket.source.WebSocketSource",
        packages=("websockets",),
        extra="websocket",
        options=(
            *_CLIENT,
            ConnectorOption("connect.message", "text sent after each connect, such as a subscription", secret=True),
            BUFFER,
        ),
        description="Receives the messages of a WebSocket server, as a client.",
        example="@source(type = 'websocket', url = 'wss://feed.example.org/trades', @map(type = 'json'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SourceMetadata(
        name="websocket-server",
        builtin="websocket-server",
        location="websocket.server_source.WebSocketServerSource",
        packages=("websockets",),
        extra="websocket",
        options=(*_SERVER, BUFFER),
        description="Receives the messages of WebSocket clients, as their server.",
        example="@source(type = 'websocket-server', host = 'localhost', port = '8025', path = '/trades', "
        "@map(type = 'json'))\ndefine stream Trades (symbol string, price double);",
    ),
    SinkMetadata(
        name="websocket",
        builtin="websocket",
        location="websocket.sink.WebSocketSink",
        packages=("websockets",),
        extra="websocket",
        options=(
            *_CLIENT,
            ConnectorOption(
                "confirm",
                "whether a payload is published only when the server has answered a ping sent after it; default: 'false'",
            ),
            QUEUE,
        ),
        description="Sends messages to a WebSocket server, as a client.",
        example="@sink(type = 'websocket', url = 'ws://localhost:8025/alerts', @map(type = 'json'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
    SinkMetadata(
        name="websocket-server",
        builtin="websocket-server",
        location="websocket.server_sink.WebSocketServerSink",
        packages=("websockets",),
        extra="websocket",
        options=(
            *_SERVER,
            ConnectorOption("client.queue.size", "number of messages that may wait for one client; default: 1000"),
            ConnectorOption(
                "slow.client",
                "what happens if its queue is full: drop (its oldest message), close (its connection) or wait (the app waits); "
                "default: drop",
            ),
            QUEUE,
        ),
        description="Sends messages to all connected WebSocket clients, as their server.",
        example="@sink(type = 'websocket-server', host = 'localhost', port = '8025', path = '/alerts', "
        "@map(type = 'json'))\ndefine stream Alerts (symbol string, price double);",
    ),
)
