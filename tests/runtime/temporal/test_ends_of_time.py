"""Windows near the first and last time that there are: they end there, or have no result where none can begin."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi.temporal import MAX, MIN, TemporalEvent
from tests.kit.running import running


def output(window: str, start: int, end: int, cti: int = MAX) -> list[TemporalEvent]:
    """Return the changes of a window over one row."""
    app = f"@temporal define stream S (v int); from S#window.{window} select count() as n insert into O;"
    items: list[TemporalEvent] = []
    with running(app) as runtime:
        runtime.add_temporal_callback("O", items.extend)
        s: Any = runtime.input_handler("S")
        s.insert(start, end, (1,))
        s.cti(cti)
    return [item for item in items if item.kind != "cti"]


LAST, FIRST = MAX - 7, MIN + 8  # multiples of 10


@pytest.mark.parametrize("cti", [MAX - 1, MAX])
@pytest.mark.parametrize("start", [LAST - 1, LAST])
def test_the_last_window_ends_at_the_end_of_time(start: int, cti: int) -> None:
    points = [("insert", LAST, LAST + 1, (1,))] if start < LAST else []
    assert output("tumbling(10)", start, MAX - 2, cti) == points
    aligned = [("insert", LAST - 10, LAST, (1,))] if start < LAST else []
    last = [("insert", LAST, MAX, (1,))] if cti == MAX else []
    assert output("tumbling(10, 0, 'clip')", start, MAX - 2, cti) == aligned + last


def test_the_first_window_begins_with_time() -> None:
    assert output("tumbling(10)", MIN + 2, MIN + 5) == [("insert", FIRST, FIRST + 1, (1,))]
    assert output("tumbling(10, 0, 'clip')", MIN + 2, MIN + 5) == [("insert", MIN, FIRST, (1,))]
    assert output("tumbling(10, 3, 'clip')", MIN + 2, MIN + 5) == [("insert", MIN + 1, MIN + 11, (1,))]
    assert output("tumbling(10, 4, 'clip')", MIN + 1, MIN + 2) == [("insert", MIN, MIN + 2, (1,))]


@pytest.mark.parametrize("hop", [1, 3, 10])
def test_results_have_lifetimes_within_time(hop: int) -> None:
    for shape in ("point", "clip"):
        for start, end in ((MAX - 8, MAX - 2), (MAX - 1, MAX), (MIN + 1, MIN + 2), (MIN + 8, MIN + 30)):
            for item in output(f"hopping(10, {hop}, 0, '{shape}')", start, end):
                assert item.end is not None
                assert MIN <= item.start < item.end <= MAX


def test_behind_the_last_point_is_no_count() -> None:
    assert output("countByStartTime(1)", MAX - 3, MAX) == [("insert", MAX - 2, MAX - 1, (1,))]
    assert output("countByStartTime(1)", MAX - 2, MAX) == [("insert", MAX - 1, MAX, (1,))]
    assert output("countByStartTime(1)", MAX - 1, MAX) == []


def test_floor_and_ceil_stay_within_time() -> None:
    app = (
        "@temporal define stream S (v int); "
        "from S select temporal:floor(eventStart(), 1000) as f, temporal:ceil(eventStart(), 1000) as c insert into O;"
    )
    items: list[TemporalEvent] = []
    with running(app) as runtime:
        runtime.add_temporal_callback("O", items.extend)
        s: Any = runtime.input_handler("S")
        s.insert(MIN + 1, MIN + 2, (1,))
        s.insert(MAX - 1, MAX, (1,))
        s.cti(MAX)
    assert [item.data for item in items if item.kind == "insert"] == [(MIN, MIN + 808), (MAX - 807, MAX)]
