"""Metadata of the source and sink ``tcp``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata

__all__ = ["CONNECTORS"]

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="tcp",
        native="tcp",
        options=(ConnectorOption("context", "the channel; default: '<app>/<stream>'", place="name"),),
        description="Receives messages of Siddhi's TCP protocol; the system configuration sets host and port (9892).",
        example="@source(type = 'tcp', context = 'trades', @map(type = 'binary'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMetadata(
        name="tcp",
        native="tcp",
        options=(ConnectorOption("url", "the channel: tcp://host:port/context", required=True, place="url"),),
        description="Sends messages of Siddhi's TCP protocol.",
        example="@sink(type = 'tcp', url = 'tcp://localhost:9892/alerts', @map(type = 'binary'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
