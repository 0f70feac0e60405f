"""Helpers to map payloads by the mapper of a source or sink."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from siddhi import Event, SiddhiManager
from siddhi.io import InMemoryBroker
from siddhi.persistence import InMemoryErrorStore
from tests.kit.running import running


class Mapped:
    """What a source delivered: the chunks of events, and the errors and payloads in its error store."""

    def __init__(self) -> None:
        self.chunks: list[list[tuple[Any, ...]]] = []
        self.failed: list[tuple[str, Any]] = []

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The values of all events."""
        return [row for chunk in self.chunks for row in chunk]


def read(map_: str, attributes: str, payloads: Iterable[Any]) -> Mapped:
    """Send payloads through the mapper of a source.

    Args:
        map_: the annotation, such as ``@map(type = 'json')``.
        attributes: attributes of the stream, such as ``a int``.
        payloads: the payloads, sent one after the other.
    """
    found = Mapped()
    errors = InMemoryErrorStore()
    manager = SiddhiManager()
    manager.set_error_store(errors)
    text = f"@app:name('Mapped') @source(type = 'inMemory', topic = 'mapped', {map_}) define stream S ({attributes});"
    with running(text, manager=manager) as runtime:
        runtime.add_callback("S", lambda events: found.chunks.append([event.data for event in events]))
        for payload in payloads:
            InMemoryBroker.publish("mapped", payload)
    found.failed = [(entry.cause, entry.payload) for entry in errors.load_error_entries("Mapped")]
    return found


@contextmanager
def published(topic: str) -> Iterator[list[Any]]:
    """Collect what is published to a topic of the in-memory broker."""
    payloads: list[Any] = []
    InMemoryBroker.subscribe(topic, payloads.append)
    try:
        yield payloads
    finally:
        InMemoryBroker.unsubscribe(topic, payloads.append)


def write(map_: str, attributes: str, rows: Iterable[Any], *, chunk: bool = False) -> list[Any]:
    """Send rows to a sink, one by one or as a chunk, and return its payloads."""
    text = f"@sink(type = 'inMemory', topic = 'written', {map_}) define stream S ({attributes});"
    with published("written") as payloads, running(text) as runtime:
        handler = runtime.input_handler("S")
        if chunk:
            handler.send_events([Event(1, row) for row in rows])
        else:
            for row in rows:
                handler.send(row)
    return payloads
