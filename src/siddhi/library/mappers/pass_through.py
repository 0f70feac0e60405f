"""Metadata of the mapper ``passThrough``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, SinkMapperMetadata, SourceMapperMetadata

__all__ = ["CONNECTORS"]

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMapperMetadata(
        name="passThrough",
        builtin="passThrough",
        location="mappers.pass_through.PassThroughSourceMapper",
        description="Passes on an event, a list of events, or a list of values unchanged.",
    ),
    SinkMapperMetadata(
        name="passThrough",
        builtin="passThrough",
        location="mappers.pass_through.PassThroughSinkMapper",
        description="Passes on an event unchanged, and the events of a chunk as a list.",
    ),
)
