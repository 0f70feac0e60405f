"""Metadata of the mapper ``binary``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, SinkMapperMetadata, SourceMapperMetadata

__all__ = ["CONNECTORS"]

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMapperMetadata(
        name="binary",
        builtin="binary",
        location="mappers.binary.BinarySourceMapper",
        description="Maps a message of Siddhi's binary format to a chunk of events with their timestamps.",
    ),
    SinkMapperMetadata(
        name="binary",
        builtin="binary",
        location="mappers.binary.BinarySinkMapper",
        description="Maps an event or a chunk to a message of Siddhi's binary format.",
    ),
)
