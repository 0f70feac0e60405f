"""The built-ins, declared like extensions: metadata here, implementations in the compiled core."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from siddhi.extension.metadata import ExtensionMetadata
from siddhi.library.aggregators import AGGREGATORS
from siddhi.library.functions import FUNCTIONS
from siddhi.library.incremental_aggregators import INCREMENTAL_AGGREGATORS
from siddhi.library.namespaces.statistics import PLAIN
from siddhi.library.scripts import SCRIPT_LANGUAGES
from siddhi.library.stream_functions import STREAM_FUNCTIONS
from siddhi.library.windows import WINDOWS

__all__ = ["NAMESPACES", "built_in", "built_in_calls", "built_in_connectors", "built_in_namespace"]

NAMESPACES = {
    "env": "environment:EXTENSIONS",
    "extrema": "extrema:EXTREMA",
    "json": "json:EXTENSIONS",
    "list": "containers:LIST",
    "map": "containers:MAP",
    "math": "mathematics:EXTENSIONS",
    "priority": "priority:EXTENSIONS",
    "regex": "patterns:EXTENSIONS",
    "reorder": "extrema:REORDER",
    "stats": "statistics:STATS",
    "str": "text:EXTENSIONS",
    "ta": "technical:EXTENSIONS",
    "time": "dates:EXTENSIONS",
    "unique": "unique:EXTENSIONS",
    "unitconversion": "units:EXTENSIONS",
}
"""Module of ``siddhi.library.namespaces``, and the name in it, by namespace."""


def built_in() -> Iterator[ExtensionMetadata]:
    """Yield the metadata of every built-in."""
    yield from built_in_calls()
    for namespace in NAMESPACES:
        yield from built_in_namespace(namespace)
    yield from built_in_connectors()


def built_in_namespace(namespace: str) -> tuple[ExtensionMetadata, ...]:
    """Return the metadata of a namespace, one of :data:`NAMESPACES`."""
    module, _, name = NAMESPACES[namespace].partition(":")
    extensions: tuple[ExtensionMetadata, ...] = getattr(import_module(f"siddhi.library.namespaces.{module}"), name)
    return extensions


def built_in_connectors() -> Iterator[ExtensionMetadata]:
    """Yield the metadata of the sources, sinks, mappers, strategies and stores, which many apps do not use."""
    from siddhi.library.connectors import CONNECTORS

    yield from CONNECTORS


def built_in_calls() -> Iterator[ExtensionMetadata]:
    """Yield the metadata of what queries can call without a namespace."""
    yield from FUNCTIONS
    yield from AGGREGATORS
    yield from PLAIN
    yield from INCREMENTAL_AGGREGATORS
    yield from STREAM_FUNCTIONS
    yield from WINDOWS
    yield from SCRIPT_LANGUAGES
