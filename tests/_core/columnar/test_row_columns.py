"""Lists of rows as tables: what ``send_batch`` does with them is what it does with their columns."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections import OrderedDict
from datetime import datetime, timezone
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event
from siddhi._core.columnar.row_columns import columns_of_rows
from siddhi.errors import EventError
from tests.kit.running import collect_events, running

APP = "@app:playback define stream S (symbol string, price double);"
AT = datetime(2026, 1, 1, tzinfo=timezone.utc)
AT_MS = 1_767_225_600_000


@dataclasses.dataclass
class Plain:
    price: float
    symbol: str
    ts: Any = AT


class Struct(msgspec.Struct):
    ts: Any
    price: float
    symbol: str


class Named(NamedTuple):
    symbol: str
    price: float
    ts: Any


def sqlite_row() -> Any:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    try:
        return connection.execute(f"select 1.0 as price, {AT_MS} as ts, 'a' as symbol").fetchone()
    finally:
        connection.close()


ROWS = [
    Plain(1.0, "a"),
    Struct(np.datetime64("2026-01-01"), 1.0, "a"),
    Named("a", 1.0, AT_MS),
    {"symbol": "a", "ts": AT, "price": 1.0, "more": 2},
    OrderedDict(ts=AT, price=1.0, symbol="a"),
    sqlite_row(),
]


def test_rows_with_names_are_sent_with_times_from_a_field() -> None:
    with running(APP) as runtime:
        chunks = collect_events(runtime, "S")
        runtime.input_handler("S").send_batch([*ROWS, *ROWS], timestamp="ts")
        assert [event for chunk in chunks for event in chunk] == [Event(AT_MS, ("a", 1.0))] * 2 * len(ROWS)


def test_rows_without_names_are_sent_by_position() -> None:
    with running(APP) as runtime:
        chunks = collect_events(runtime, "S")
        runtime.input_handler("S").send_batch((("a", 1.0), ["b", None], Plain(2.0, "c")), timestamp=[1, AT, AT_MS])
        assert [event for chunk in chunks for event in chunk] == [
            Event(1, ("a", 1.0)),
            Event(AT_MS, ("b", None)),
            Event(AT_MS, ("c", 2.0)),
        ]


def test_no_rows_are_no_events() -> None:
    with running(APP) as runtime:
        chunks = collect_events(runtime, "S")
        runtime.input_handler("S").send_batch([])
        assert chunks == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", 1.0), ("a",)], r"row 1 has 1 values instead of 2 \(symbol, price\)"),
        ([Plain(1.0, "a"), {"symbol": "a"}], r"row 1 lacks price; it has: symbol"),
        ([dataclasses.make_dataclass("A", ["symbol"])("a")], r"row 0 lacks price; it has: symbol"),
        ([1, 2], r"row 0: expected a row with names, a tuple or a list, got 1"),
        ([Event(1, ("a", 1.0))], r"row 0 is an Event.*send_events\(\)"),
        ([Plain("x", "a")], r"row 0.*'price'"),  # type: ignore[arg-type]
    ],
)
def test_a_row_that_does_not_fit_is_refused_with_its_number(rows: list[Any], message: str) -> None:
    with running(APP) as runtime:
        chunks = collect_events(runtime, "S")
        with pytest.raises(EventError, match=f"stream 'S': .*{message}"):
            runtime.input_handler("S").send_batch(rows, [1] * len(rows))
        assert chunks == []


@pytest.mark.parametrize(
    ("timestamp", "message"),
    [
        ("ts", "row 0 has no names, so that 'ts' can't be found in it"),
        ([datetime(2026, 1, 1)], r"row 0: a timestamp needs a time zone"),  # noqa: DTZ001 - without a zone
    ],
)
def test_times_that_do_not_fit_are_refused(timestamp: Any, message: str) -> None:
    with running(APP) as runtime, pytest.raises(EventError, match=message):
        runtime.input_handler("S").send_batch([("a", 1.0)], timestamp)


def test_a_row_whose_value_is_missing_is_refused() -> None:
    row = Plain(1.0, "a")
    del row.price
    with running(APP) as runtime, pytest.raises(EventError, match=r"row 0: .* has no value for one of its fields"):
        runtime.input_handler("S").send_batch([row])


@given(st.lists(st.tuples(st.text() | st.none(), st.floats(allow_nan=False) | st.none())), st.data())
def test_columns_are_those_of_the_rows(rows: list[tuple[Any, Any]], data: st.DataObject) -> None:
    forms: list[Any] = [lambda s, p: Plain(p, s), lambda s, p: Struct(1, p, s), lambda s, p: {"price": p, "symbol": s}]
    given_rows = [data.draw(st.sampled_from(forms))(*row) for row in rows]
    columns = columns_of_rows(given_rows, ("symbol", "price"), None)
    assert columns == {"symbol": [row[0] for row in rows], "price": [row[1] for row in rows]}
