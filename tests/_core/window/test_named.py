"""A named window, put together by hand."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi._core.query.entry import QueryEntry, RecordCopier
from siddhi._core.record.event import EventPool, Layout, TypeCode
from siddhi._core.runtime.context import AppContext
from siddhi._core.stream.callback import StreamCallback
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.window.batch import LengthBatchWindow
from siddhi._core.window.length import LengthWindow
from siddhi._core.window.named import WindowPublisher

LAYOUT = Layout(["v"], [TypeCode.INT])


class NamedWindow:
    """A window (v int) between two junctions."""

    def __init__(self, kind: str, current: bool, expired: bool) -> None:
        app = AppContext("test")
        self.pool = EventPool(LAYOUT)
        self.input = StreamJunction(app, "W", LAYOUT)
        self.output = StreamJunction(app, "W", LAYOUT, self.pool)
        if kind == "length":
            window: Any = LengthWindow(app, self.pool, 1)
        else:
            window = LengthBatchWindow(app, self.pool, 2, True)
        window.make_state(0)
        window.next = WindowPublisher(app, self.output, current, expired)
        copier = RecordCopier(LAYOUT, self.pool, [0])
        self.input.subscribe(QueryEntry(app, (), copier, window, self.input, 2**64 - 1))
        self.chunks: list[list[tuple[int, bool]]] = []
        note = lambda events: self.chunks.append([(event["v"], event.is_expired) for event in events])  # noqa: E731
        self.output.subscribe(StreamCallback(app, self.pool, LAYOUT, "W", note))

    def send(self, *values: int) -> None:
        self.input.send_rows([(0, (value,)) for value in values])


def test_a_chunk_is_published_whole() -> None:
    window = NamedWindow("length", True, True)
    window.send(1)
    window.send(2, 3)
    assert window.chunks == [[(1, False)], [(1, True), (2, False), (2, True), (3, False)]]
    assert window.pool.alive == 1


@pytest.mark.parametrize(
    ("current", "expired", "published"),
    [
        (True, True, [[(1, False), (2, False)], [(1, True), (2, True), (3, False), (4, False)]]),
        (True, False, [[(1, False), (2, False)], [(3, False), (4, False)]]),
        (False, True, [[(1, True), (2, True)]]),
    ],
)
def test_reset_is_not_published(current: bool, expired: bool, published: list[list[tuple[int, bool]]]) -> None:
    window = NamedWindow("batch", current, expired)
    for value in (1, 2, 3, 4):
        window.send(value)
    assert window.chunks == published
    assert window.pool.alive == 2
