"""Attributes that carry times, beside times that are given: they are equal, or null and filled in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from siddhi.errors import EventError, InvalidTemporalEvent
from siddhi.temporal import MAX, TemporalEvent
from tests.kit.running import running

APP = "@temporal(model = '{}', start = 'f', end = 'u') define stream S (id int, f long, u long);"
POINTS = "@temporal(model = 'point', start = 'f') define stream S (id int, f long);"


def rows(app: str, *sends: Callable[[Any], object]) -> list[TemporalEvent]:
    """Return what S shows of items."""
    items: list[TemporalEvent] = []
    with running(app) as runtime:
        runtime.add_temporal_callback("S", items.extend)
        handler: Any = runtime.input_handler("S")
        for send in sends:
            send(handler)
        handler.cti(100)
    return items[:-1]


@pytest.mark.parametrize(
    ("app", "send", "item"),
    [
        (APP.format("interval"), lambda s: s.insert(3, 5, (1, None, None)), ("insert", 3, 5, (1, 3, 5))),
        (APP.format("interval"), lambda s: s.insert(3, 5, (1, 3, 5)), ("insert", 3, 5, (1, 3, 5))),
        (APP.format("interval"), lambda s: s.point(3, (1, None, None)), ("insert", 3, 4, (1, 3, 4))),
        (
            APP.format("interval"),
            lambda s: s.insert_batch({"id": [1], "f": [3], "u": [None], "a": [3], "b": [5]}, start="a", end="b"),
            ("insert", 3, 5, (1, 3, 5)),
        ),
        (POINTS, lambda s: s.point(3, (1, None)), ("point", 3, 4, (1, 3))),
        # The end may still move.
        (APP.format("edge"), lambda s: s.insert(3, 500, (1, None, None)), ("start", 3, None, (1, 3, None))),
    ],
)
def test_null_times_are_filled_in(app: str, send: Callable[[Any], object], item: tuple[Any, ...]) -> None:
    assert rows(app, send) == [item]


@pytest.mark.parametrize("row", [(1, 3, 5), (1, None, None), (1, 3, None)])
def test_an_end_finds_its_start_by_the_row_with_or_without_times(row: tuple[Any, ...]) -> None:
    items = rows(APP.format("edge"), lambda s: s.start_edge(3, (1, None, None)), lambda s: s.end_edge(3, 5, row))
    assert items == [("start", 3, None, (1, 3, None)), ("end", 3, 5, (1, 3, None))]


@pytest.mark.parametrize(
    ("app", "send", "message"),
    [
        (APP.format("interval"), lambda s: s.insert(3, 5, (1, 9, 5)), "attribute 'f' carries the start and is 9, but"),
        (
            APP.format("interval"),
            lambda s: s.insert(3, 5, (1, 3, 9)),
            "'u' carries the end and is 9, but the end given",
        ),
        (APP.format("interval"), lambda s: s.point(3, (1, 3, 9)), "attribute 'u'"),
        (APP.format("edge"), lambda s: s.start_edge(3, (1, 3, 9)), "but the end given is MAX"),
        (APP.format("edge"), lambda s: s.end_edge(3, 5, (1, 3, 9)), "but the end given is 5"),
        (APP.format("edge"), lambda s: s.retract(3, 5, 4, (1, 3, 9)), "but the end given is 5"),
        (POINTS, lambda s: s.point(3, (1, 9)), "attribute 'f'"),
        (
            POINTS,
            lambda s: s.insert_batch({"id": [1, 2], "f": [3, 9], "a": [3, 4]}, start="a"),
            "'S', row 1: attribute 'f'",
        ),
    ],
)
def test_other_times_are_refused(app: str, send: Callable[[Any], object], message: str) -> None:
    with running(app) as runtime, pytest.raises(InvalidTemporalEvent, match=message):
        send(runtime.input_handler("S"))


def test_rows_of_other_apps_keep_their_attributes() -> None:
    items: list[TemporalEvent] = []
    sender = "@sink(type = 'inMemory', topic = 'carried') " + APP.format("interval")
    with running(sender) as first:
        receiver = "@source(type = 'inMemory', topic = 'carried') " + APP.format("edge").replace("S (", "R (")
        with running(receiver) as second:
            second.add_temporal_callback("R", items.extend)
            s: Any = first.input_handler("S")
            s.insert(3, 5, (1, None, None))
            s.cti(MAX)
    assert items[:2] == [("start", 3, None, (1, 3, 5)), ("end", 3, 5, (1, 3, 5))]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"id": [1], "f": [3], "a": ["x"]}, "^stream 'S': the time in column 'a' must be milliseconds"),
        ({"id": [1], "f": [3]}, "^stream 'S': no column 'a' for the times of the rows; the data has: id, f"),
    ],
)
def test_errors_of_times_name_the_stream_once_and_the_column(table: dict[str, list[Any]], message: str) -> None:
    with running(POINTS) as runtime:
        handler: Any = runtime.input_handler("S")
        with pytest.raises(EventError, match=message):
            handler.insert_batch(table, start="a")


@pytest.mark.parametrize(
    ("model", "send"),
    [
        ("interval", lambda s: s.insert(3, 2, (1, None, None))),
        ("interval", lambda s: s.start_edge(3, (1, None, None))),
        ("edge", lambda s: s.end_edge(3, 2, (1, None, None))),
    ],
)
def test_a_buffer_does_not_take_invalid_lifetimes(model: str, send: Callable[[Any], object]) -> None:
    with running("@async(buffer.size = '8') " + APP.format(model)) as runtime, pytest.raises(InvalidTemporalEvent):
        send(runtime.input_handler("S"))
