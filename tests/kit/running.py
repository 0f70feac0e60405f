"""Helpers to start an app and collect its outputs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from siddhi import Event, SiddhiAppRuntime, SiddhiManager

TRADES = "define stream Trades (symbol string, price double, volume int);"


@contextmanager
def running(app: str, *, manager: SiddhiManager | None = None) -> Iterator[SiddhiAppRuntime]:
    """Start an app, and shut it down at the end."""
    with (manager or SiddhiManager()).create_siddhi_app_runtime(app) as runtime:
        yield runtime


def collect(runtime: SiddhiAppRuntime, stream: str) -> list[tuple[Any, ...]]:
    """Collect the values of the events of a stream."""
    rows: list[tuple[Any, ...]] = []
    runtime.add_callback(stream, lambda events: rows.extend(event.data for event in events))
    return rows


def collect_events(runtime: SiddhiAppRuntime, stream: str) -> list[list[Event]]:
    """Collect the chunks of a stream."""
    chunks: list[list[Event]] = []
    runtime.add_callback(stream, chunks.append)
    return chunks
