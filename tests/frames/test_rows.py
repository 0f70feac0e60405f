"""Rows of Python objects become tables; a row that differs from the first is named."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

import pytest

import siddhi
from siddhi.errors import EventError
from siddhi.frames.rows import ROWS, tables_of_rows


class Pair(NamedTuple):
    a: int
    b: str


def test_tables_have_a_limited_number_of_rows() -> None:
    tables = list(tables_of_rows("S", ((n,) for n in range(ROWS + 1)), ["a"]))
    assert [len(table.columns["a"]) for table in tables] == [ROWS, 1]


@pytest.mark.parametrize(
    "rows", [[{"a": 1, "b": "x", "c": 0}], [Pair(1, "x")], [[1, "x"]], [siddhi.Event(5, (1, "x"))]]
)
def test_rows_are_read_by_name_or_in_order(rows: list[Any]) -> None:
    (table,) = tables_of_rows("S", rows, ["a", "b"])
    assert table.columns == {"a": (1,), "b": ("x",)}
    assert table.times == ([5] if isinstance(rows[0], siddhi.Event) else None)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"a": 1}, "row 1: no 'b'; it has: a"),
        ((1, "x"), "row 1: a tuple, but the first row is a dict"),
        (None, "row 1: a NoneType, but the first row is a dict"),
    ],
)
def test_a_row_unlike_the_first_is_an_error(row: object, message: str) -> None:
    with pytest.raises(EventError, match=message):
        list(tables_of_rows("S", [{"a": 1, "b": "x"}, row], ["a", "b"]))


def test_a_row_of_another_length_is_an_error() -> None:
    with pytest.raises(EventError, match=r"row 1: 1 values instead of 2 \(a, b\)"):
        list(tables_of_rows("S", [(1, "x"), (2,)], ["a", "b"]))


def test_rows_without_names_need_a_definition() -> None:
    with pytest.raises(EventError, match="rows without names need a definition: write 'define stream S"):
        list(tables_of_rows("S", [(1,)], None))


def test_date_times_become_utc() -> None:
    at = datetime(2020, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    (table,) = tables_of_rows("S", [{"a": 1, "at": at}, {"a": 2, "at": None}], ["a"])
    assert table.columns["at"].astype("datetime64[h]").astype(str).tolist() == ["2020-01-01T00", "NaT"]
