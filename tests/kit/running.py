"""Apps in tests: start one, note what it puts out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from siddhi import Event, SiddhiAppRuntime, SiddhiManager

TRADES = "define stream Trades (symbol string, price double, volume int);"


@contextmanager
def running(app: str, *, manager: SiddhiManager | None = None) -> Iterator[SiddhiAppRuntime]:
    """A started app; it is shut down at the end."""
    with (manager or SiddhiManager()).create_siddhi_app_runtime(app) as runtime:
        yield runtime


def collect(runtime: SiddhiAppRuntime, stream: str) -> list[tuple[Any, ...]]:
    """The values of what reaches a stream from now on."""
    rows: list[tuple[Any, ...]] = []
    runtime.add_callback(stream, lambda events: rows.extend(event.data for event in events))
    return rows


def collect_events(runtime: SiddhiAppRuntime, stream: str) -> list[list[Event]]:
    """The chunks that reach a stream from now on."""
    chunks: list[list[Event]] = []
    runtime.add_callback(stream, chunks.append)
    return chunks
