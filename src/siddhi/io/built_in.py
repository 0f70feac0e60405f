"""The classes behind the names of the built-in connectors (:mod:`siddhi.library.connectors`)."""

from __future__ import annotations

from typing import Any

from siddhi.extension.connectors import ConnectorMetadata
from siddhi.io.distribution import BroadcastStrategy, PartitionedStrategy, RoundRobinStrategy
from siddhi.io.mappers.pass_through import PassThroughSinkMapper, PassThroughSourceMapper
from siddhi.io.sinks.in_memory import InMemorySink
from siddhi.io.sinks.log import LogSink
from siddhi.io.sources.in_memory import InMemorySource

__all__ = ["class_of"]

_CLASSES: dict[tuple[str, str], type] = {
    ("source", "inMemory"): InMemorySource,
    ("source mapper", "passThrough"): PassThroughSourceMapper,
    ("sink", "inMemory"): InMemorySink,
    ("sink", "log"): LogSink,
    ("sink mapper", "passThrough"): PassThroughSinkMapper,
    ("distribution strategy", "roundRobin"): RoundRobinStrategy,
    ("distribution strategy", "partitioned"): PartitionedStrategy,
    ("distribution strategy", "broadcast"): BroadcastStrategy,
}


def class_of(metadata: ConnectorMetadata) -> Any:
    """Return the class of an extension: the user's, or the built-in one."""
    if metadata.native is None:
        return metadata.implementation
    return _CLASSES[metadata.title, metadata.native]
