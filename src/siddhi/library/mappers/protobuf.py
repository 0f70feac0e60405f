"""Metadata of the mapper ``protobuf``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMapperMetadata, SourceMapperMetadata

__all__ = ["CONNECTORS"]

_MESSAGE = (
    # A class is imported, which runs its module: a policy allows it by the beginning of its name.
    ConnectorOption("class", "a generated class, such as 'package.module_pb2:Message'", place="name"),
    ConnectorOption("descriptor.file", "instead of a class: a file of protoc --descriptor_set_out", place="file"),
    ConnectorOption("message", "with 'descriptor.file': full name of the message, such as 'package.Message'"),
)

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMapperMetadata(
        name="protobuf",
        builtin="protobuf",
        location="mappers.protobuf_source.ProtobufSourceMapper",
        packages=("google.protobuf",),
        extra="protobuf",
        options=_MESSAGE,
        description="Maps a message of Protocol Buffers to an event.",
        example="@source(type = 'inMemory', topic = 'trades', @map(type = 'protobuf', class = 'trades_pb2:Trade',\n"
        "    @attributes(symbol = 'stock.symbol', price = 'price')))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMapperMetadata(
        name="protobuf",
        builtin="protobuf",
        location="mappers.protobuf_sink.ProtobufSinkMapper",
        packages=("google.protobuf",),
        extra="protobuf",
        options=_MESSAGE,
        description="Maps an event to a message of Protocol Buffers.",
        example="@sink(type = 'inMemory', topic = 'alerts', @map(type = 'protobuf', class = 'alerts_pb2:Alert',\n"
        "    @payload(stock.symbol = 'symbol', price = 'price')))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
