"""Connectors: interfaces of sources, sinks, mappers and distribution strategies, and the in-memory broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from siddhi.io.async_sink import AsyncSink
    from siddhi.io.async_source import AsyncSource, ReplayableSource

__all__ = [
    "AsyncSink",
    "AsyncSource",
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
    "ReplayableSource",
    "Sink",
    "SinkListener",
    "SinkMapper",
    "Source",
    "SourceEventListener",
    "SourceMapper",
    "Template",
]


_ASYNCHRONOUS = {"AsyncSink": "async_sink", "AsyncSource": "async_source", "ReplayableSource": "async_source"}


def __getattr__(name: str) -> object:
    """Load the asynchronous connectors at their first use: they import asyncio."""
    if name in _ASYNCHRONOUS:
        from importlib import import_module

        return getattr(import_module(f"siddhi.io.{_ASYNCHRONOUS[name]}"), name)
    raise AttributeError(f"module 'siddhi.io' has no attribute '{name}'")
