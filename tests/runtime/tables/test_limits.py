"""@limit on a table: the number of rows."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SiddhiAppRuntime
from siddhi.errors import LimitExceededError
from tests.kit.running import collect, running

STREAM = "@app:name('A') @OnError(action = 'stream') define stream S (k string, v int);\n"
UPSERT = "from S update or insert into T set T.v = v on T.k == k;"


def app(limit: str, query: str = "from S insert into T;", key: str = "") -> str:
    return f"{STREAM}@limit({limit}) {key} define table T (k string, v int);\n{query}"


def rows_of(runtime: SiddhiAppRuntime) -> list[tuple[Any, ...]]:
    return [event.data for event in runtime.query("from T select k, v")]


ROWS = [("a", 1), ("b", 2), ("c", 3), ("a", 4)]


@pytest.mark.parametrize("chunk", [False, True])
@pytest.mark.parametrize(
    ("on_full", "key", "query", "expected"),
    [
        ("error", "", "from S insert into T;", ROWS[:2]),
        ("log", "", "from S insert into T;", ROWS[:2]),
        ("drop_oldest", "", "from S insert into T;", ROWS[2:]),
        ("error", "@PrimaryKey('k')", UPSERT, [("a", 4), ("b", 2)]),
        ("drop_oldest", "@PrimaryKey('k')", "from S insert into T;", [("c", 3), ("a", 4)]),
        ("drop_oldest", "@Index('k')", "from S insert into T;", ROWS[2:]),
    ],
)
def test_at_the_limit_rows_are_refused_or_the_oldest_is_dropped(
    on_full: str, key: str, query: str, expected: list[Any], chunk: bool
) -> None:
    with running(app(f"rows = '2', on.full = '{on_full}'", query, key)) as runtime:
        failed = collect(runtime, "!S")
        if chunk:
            runtime.input_handler("S").send_events([Event(1, row) for row in ROWS])
        else:
            for row in ROWS:
                runtime.input_handler("S").send(row)
        assert sorted(rows_of(runtime)) == sorted(expected)
    assert bool(failed) is (on_full == "error")


def test_a_row_with_a_taken_key_drops_no_other() -> None:
    with running(app("rows = '2', on.full = 'drop_oldest'", key="@PrimaryKey('k')")) as runtime:
        runtime.handle_exception_with(lambda error, origin, events: None)
        for row in [("a", 1), ("b", 2), ("b", 3)]:
            runtime.input_handler("S").send(row)
        assert rows_of(runtime) == [("a", 1), ("b", 2)]


def test_the_error_says_which_table_is_full() -> None:
    with running(app("rows = '1'")) as runtime:
        failed = collect(runtime, "!S")
        for row in ROWS[:2]:
            runtime.input_handler("S").send(row)
    assert [row[:-1] for row in failed] == [("b", 2)]
    assert isinstance(failed[0][-1], LimitExceededError)
    assert str(failed[0][-1]) == (
        "table 'T' holds 1 rows, and @limit(rows = '1') allows no more: the row was refused; "
        "raise the limit, delete rows, or drop old ones with on.full = 'drop_oldest'"
    )


def test_a_deleted_row_makes_room() -> None:
    query = "from S[v > 0] insert into T; from S[v == 0] delete T on T.k == k;"
    with running(app("rows = '1'", query)) as runtime:
        failed = collect(runtime, "!S")
        for row in [("a", 1), ("a", 0), ("b", 1)]:
            runtime.input_handler("S").send(row)
        assert rows_of(runtime) == [("b", 1)]
    assert failed == []


def test_one_warning_at_four_fifths(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "siddhi"), running(app("rows = '5'")) as runtime:
        for number in range(5):
            runtime.input_handler("S").send(("a", number))
    assert caplog.messages == ["app 'A', table 'T': holds 4 rows; @limit(rows = '5') allows 5"]


@given(
    rows=st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 3)), max_size=30),
    most=st.integers(1, 6),
    drops=st.booleans(),
    upsert=st.booleans(),
)
def test_rows_equal_those_of_the_oracle(rows: list[tuple[str, int]], most: int, drops: bool, upsert: bool) -> None:
    held: list[tuple[str, int]] = []
    refused = []
    for key, value in rows:
        if upsert and any(other == key for other, _ in held):
            held = [(other, value if other == key else old) for other, old in held]
            continue
        if len(held) == most:
            if not drops:
                refused.append((key, value))
                continue
            held.pop(0)
        held.append((key, value))
    text = app(
        f"rows = '{most}', on.full = '{'drop_oldest' if drops else 'error'}'",
        UPSERT if upsert else "from S insert into T;",
    )
    with running(text) as runtime:
        failed = collect(runtime, "!S")
        for row in rows:
            runtime.input_handler("S").send(row)
        assert rows_of(runtime) == held
    assert [row[:-1] for row in failed] == refused
