"""Connectors: interfaces of sources, sinks, mappers and distribution strategies, and the in-memory broker."""

from __future__ import annotations

from siddhi.io.broker import InMemoryBroker
from siddhi.io.connector import Connector, ConnectorContext
from siddhi.io.options import DynamicOptions, Option, OptionHolder, Template
from siddhi.io.sink import DistributionStrategy, Sink, SinkListener, SinkMapper
from siddhi.io.source import (
    AttributeMapping,
    ConnectionCallback,
    InputEventHandler,
    Source,
    SourceEventListener,
    SourceMapper,
)

__all__ = [
    "AttributeMapping",
    "ConnectionCallback",
    "Connector",
    "ConnectorContext",
    "DistributionStrategy",
    "DynamicOptions",
    "InMemoryBroker",
    "InputEventHandler",
    "Option",
    "OptionHolder",
    "Sink",
    "SinkListener",
    "SinkMapper",
    "Source",
    "SourceEventListener",
    "SourceMapper",
    "Template",
]
