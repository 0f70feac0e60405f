"""``update or insert`` of chunks into tables with keys against an oracle, in memory and in a database."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SiddhiManager

Row = tuple[Any, ...]

CONDITIONS: dict[str, Callable[[Row, Row], bool]] = {
    "T.s == s": lambda row, event: None not in (row[0], event[0]) and row[0] == event[0],
    "T.v == v": lambda row, event: None not in (row[1], event[1]) and row[1] == event[1],
    "T.v == w": lambda row, event: None not in (row[1], event[2]) and row[1] == event[2],
    "T.w == w": lambda row, event: None not in (row[2], event[2]) and row[2] == event[2],
    "T.v < v": lambda row, event: None not in (row[1], event[1]) and row[1] < event[1],
    "T.s == s and T.w < w": lambda row, event: (
        CONDITIONS["T.s == s"](row, event) and None not in (row[2], event[2]) and row[2] < event[2]
    ),
    "T.s == s or T.v == v": lambda row, event: CONDITIONS["T.s == s"](row, event) or CONDITIONS["T.v == v"](row, event),
}


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


SETS: dict[str, Callable[[Row, Row], Row]] = {
    "": lambda row, event: event,
    "set T.w = T.w + w": lambda row, event: (row[0], row[1], _sum(row[2], event[2])),
    "set T.s = s": lambda row, event: (event[0], *row[1:]),
    "set T.v = w, T.w = w": lambda row, event: (row[0], event[2], event[2]),
    "set T.v = T.v + v": lambda row, event: (row[0], _sum(row[1], event[1]), row[2]),
}
OF_A_DATABASE = sorted(set(SETS) - {"set T.v = T.v + v"})  # it looks at one row after the other for the key
WITHOUT_NULL = st.tuples(st.sampled_from("abcd"), st.integers(0, 4), st.integers(0, 4))
ROWS = st.tuples(st.sampled_from(["a", "b", "c", None]), *[st.sampled_from([None, 0, 1, 2, 3])] * 2)


def steps(rows: st.SearchStrategy[Row]) -> st.SearchStrategy[list[tuple[str, list[Row]]]]:
    return st.lists(st.tuples(st.sampled_from("IPP"), st.lists(rows, min_size=1, max_size=5)), max_size=8)


class Twin:
    """What an insert and an update or insert do to a table with a primary key of one attribute."""

    def __init__(
        self, key: int | None, condition: Callable[[Row, Row], bool], change: Callable[[Row, Row], Row]
    ) -> None:
        self.key = key
        self.condition = condition
        self.change = change
        self.rows: list[Row] = []
        self.refused = 0

    def insert(self, event: Row) -> None:
        key = self.key
        if key is not None and ((key == 1 and event[1] is None) or any(row[key] == event[key] for row in self.rows)):
            self.refused += 1
        else:
            self.rows.append(event)

    def update_or_insert(self, chunk: list[Row]) -> None:
        missing: list[Row] = []
        for event in chunk:
            if any(self.condition(row, event) for row in self.rows):
                changed = self.changed(self.rows, event)
                keys = [] if self.key is None else [row[self.key] for row in changed]
                if len(set(keys)) < len(keys) or (self.key == 1 and None in keys):
                    self.refused += 1
                else:
                    self.rows = changed
            elif any(self.condition(row, event) for row in missing):
                missing = self.changed(missing, event)
            else:
                missing.append(event)
        for row in missing:
            self.insert(row)

    def changed(self, rows: list[Row], event: Row) -> list[Row]:
        return [self.change(row, event) if self.condition(row, event) else row for row in rows]


def check(
    store: str, key: int | None, indexed: str, condition: str, set_: str, steps: list[tuple[str, list[Row]]]
) -> None:
    twin = Twin(key, CONDITIONS[condition], SETS[set_])
    keys = "" if key is None else f"@primaryKey('{'svw'[key]}') {indexed}"
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(
            "define stream I (s string, v int, w int); define stream P (s string, v int, w int);"
            f"{store} {keys} define table T (s string, v int, w int);"
            f"from I insert into T; from P update or insert into T {set_} on {condition};"
        )
        refused: list[str] = []
        runtime.handle_exception_with(lambda error, origin, events: refused.append(str(error)))
        runtime.start()
        for stream, chunk in steps:
            runtime.input_handler(stream).send_events([Event(1, row) for row in chunk])
            if stream == "P":
                twin.update_or_insert(chunk)
            else:
                for row in chunk:
                    twin.insert(row)
            rows = [event.data for event in runtime.query("from T")]
            assert rows == twin.rows if not store else sorted(rows) == sorted(twin.rows)
            assert len(refused) == twin.refused


@given(
    st.sampled_from([None, 0, 1]),
    st.sampled_from(["", "@index('w')", "@index('s') @index('v')"]),
    st.sampled_from(sorted(CONDITIONS)),
    st.sampled_from(sorted(SETS)),
    steps(ROWS),
)
def test_in_memory(
    key: int | None, indexed: str, condition: str, set_: str, steps: list[tuple[str, list[Row]]]
) -> None:
    check("", key, indexed, condition, set_, steps)


@pytest.mark.skipif(find_spec("sqlalchemy") is None, reason="SQLAlchemy is not installed")
@given(
    st.sampled_from([None, 0, 1]),
    st.sampled_from(sorted(CONDITIONS)),
    st.sampled_from(OF_A_DATABASE),
    st.sampled_from(["", ", @cache(size = '20')"]),
    steps(WITHOUT_NULL),
)
def test_in_a_database(
    key: int | None, condition: str, set_: str, cache: str, steps: list[tuple[str, list[Row]]]
) -> None:
    check(f"@store(type = 'rdbms', url = 'sqlite://'{cache})", key, "", condition, set_, steps)
