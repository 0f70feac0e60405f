"""Partitions: by value and by range, null keys, inner streams, runs of events of one key."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event
from tests.kit.running import collect, collect_events, running

STREAM = "define stream S (k string, v int);"
ROWS = st.lists(st.tuples(st.sampled_from(["A", "B", "C", None]), st.integers(-5, 5)), max_size=30)


@given(ROWS, st.sampled_from(["rows", "chunk", "batch"]))
def test_each_key_has_its_own_sum(rows: list[tuple[Any, ...]], way: str) -> None:
    app = f"{STREAM} partition with (k of S) begin from S select k, sum(v) as s, max(v) as m insert into Out; end;"
    with running(app) as runtime:
        got = collect(runtime, "Out")
        handler = runtime.input_handler("S")
        if way == "rows" or not rows:
            for row in rows:
                handler.send(row)
        elif way == "chunk":
            handler.send_events([Event(1, row) for row in rows])
        else:
            handler.send_batch({"k": [k for k, _ in rows], "v": [v for _, v in rows]})
    seen: dict[str, list[int]] = {}
    expected = []
    for place, (k, v) in enumerate(rows):
        if k is None:
            continue
        values = seen.setdefault(k, [])
        values.append(v)
        # In a chunk consecutive events of one key stay together, and aggregates show the last one.
        if way == "chunk" and place + 1 < len(rows) and rows[place + 1][0] == k:
            continue
        expected.append((k, sum(values), max(values)))
    assert got == expected


@given(st.lists(st.integers(-5, 25), max_size=20))
def test_ranges_may_overlap_and_have_gaps(values: list[int]) -> None:
    app = """define stream S (v int);
    partition with (v >= 10 as 'high' or v > 15 as 'higher' or v < 0 as 'low' of S)
    begin from S select v, count() as n insert into Out; end;"""
    labels = {"high": lambda v: v >= 10, "higher": lambda v: v > 15, "low": lambda v: v < 0}
    with running(app) as runtime:
        got = collect(runtime, "Out")
        for v in values:
            runtime.input_handler("S").send((v,))
    counts = dict.fromkeys(labels, 0)
    expected = []
    for v in values:
        for label, holds in labels.items():
            if holds(v):
                counts[label] += 1
                expected.append((v, counts[label]))
    assert got == expected


def test_a_subset_of_the_ranges_can_be_selected() -> None:
    app = """define stream S (v int);
    partition with (v >= 10 as 'high' or v > 15 as 'higher' or v < 0 as 'low' of S)
    begin from S select v, count() as n insert into Out; end;"""
    with running(app) as runtime:
        got = collect(runtime, "Out")
        for wanted in ({"higher", "low"}, {"high"}, set()):
            runtime.sharding.look_for_ranges(wanted.__contains__)
            for v in (20, 12, -1):
                runtime.input_handler("S").send((v,))
    assert got == [(20, 1), (-1, 1), (20, 1), (12, 2)]


def test_runs_of_one_key_are_chunks() -> None:
    with running(f"{STREAM} partition with (k of S) begin from S select k, v insert into Out; end;") as runtime:
        chunks = collect_events(runtime, "Out")
        rows = [("A", 1), ("A", 2), (None, 3), ("A", 4), ("B", 5), ("B", 6)]
        runtime.input_handler("S").send_events([Event(1, row) for row in rows])
    assert [[event.data for event in chunk] for chunk in chunks] == [
        [("A", 1), ("A", 2)],
        [("A", 4)],
        [("B", 5), ("B", 6)],
    ]


@pytest.mark.parametrize("source", ["S", "#I"])
def test_inner_streams_are_separate_for_each_key(source: str) -> None:
    inner = "from S select k, v insert into #I;" if source == "#I" else ""
    app = f"{STREAM} partition with (k of S) begin {inner} from {source}#window.length(2) select k, sum(v) as s insert into Out; end;"
    with running(app) as runtime:
        got = collect(runtime, "Out")
        for row in [("A", 1), ("B", 10), ("A", 2), ("B", 20), ("A", 4)]:
            runtime.input_handler("S").send(row)
    assert got == [("A", 1), ("B", 10), ("A", 3), ("B", 30), ("A", 6)]


def test_a_failed_row_does_not_affect_the_others() -> None:
    app = "define stream S (k string, b bool); partition with (k of S) begin from S select k, and(b) as b insert into Out; end;"
    for playback in ("", "@app:playback "):
        with running(playback + app) as runtime:
            failures: list[Any] = []
            runtime.handle_exception_with(lambda error, origin, events: failures.extend(event.data for event in events))  # noqa: B023
            got = collect(runtime, "Out")
            runtime.input_handler("S").send_batch({"k": ["A", "A", "B"], "b": [True, None, False]}, timestamp=[1, 2, 3])
        assert got == [("A", True), ("B", False)]
        assert failures == [("A", None)]
