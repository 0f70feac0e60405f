"""Metadata of the source and sink ``tcp``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata
from siddhi.library.transports.delivery import BUFFER, QUEUE
from siddhi.library.transports.security import CLIENT_TLS, SERVER_TLS

__all__ = ["CONNECTORS"]

_SOCKET = (
    ConnectorOption("tcp.no.delay", "whether small packets are sent at once; default: 'true'"),
    ConnectorOption(
        "keep.alive", "whether the system finds out that a silent peer is gone, after about a minute; default: 'true'"
    ),
)

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="tcp",
        builtin="tcp",
        location="tcp.source.TcpSource",
        options=(
            ConnectorOption("context", "the channel; default: '<app>/<stream>'", place="name"),
            ConnectorOption("host", "the address to listen on; default: 0.0.0.0, all interfaces", place="url"),
            ConnectorOption("port", "the port to listen on; default: 9892", place="url"),
            *_SOCKET,
            *SERVER_TLS,
            BUFFER,
        ),
        description="Receives messages of Siddhi's TCP protocol; the system configuration can set the options of the server.",
        example="@source(type = 'tcp', context = 'trades', @map(type = 'binary'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMetadata(
        name="tcp",
        builtin="tcp",
        location="tcp.sink.TcpSink",
        options=(
            ConnectorOption("url", "the channel: tcp://host:port/context", required=True, place="url"),
            ConnectorOption(
                "sync", "has no effect: a payload is published when it is written to the socket", dynamic=True
            ),
            *_SOCKET,
            ConnectorOption("worker.threads", "has no effect: the event loop sends"),
            ConnectorOption("connection.timeout", "longest time to connect, in ms; default: 10 sec", unit="ms"),
            ConnectorOption(
                "tls.enabled", "whether the connection uses TLS; default: 'true' with another 'tls.*' option"
            ),
            *CLIENT_TLS,
            QUEUE,
        ),
        description="Sends messages of Siddhi's TCP protocol.",
        example="@sink(type = 'tcp', url = 'tcp://localhost:9892/alerts', @map(type = 'binary'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
