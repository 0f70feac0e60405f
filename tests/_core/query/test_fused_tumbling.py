"""Batch windows without events, case by case; see also tests/property/test_operator_fusion.py."""

from __future__ import annotations

import gc

import pytest

from siddhi._core.record.event import live_events
from tests.kit.running import collect, collect_events, running

STREAM = "@app:playback define stream S (k string, v int);"


def test_a_batch_is_emitted_when_it_is_full() -> None:
    with running(
        f"{STREAM} from S#window.lengthBatch(3) select k, sum(v) as s, avg(v) as a, count() as n insert into Out;"
    ) as runtime:
        rows = collect(runtime, "Out")
        for number in range(7):
            runtime.input_handler("S").send((f"k{number}", number), number)
    assert rows == [("k2", 3, 1.0, 3), ("k5", 12, 4.0, 3)]


def test_groups_are_in_the_order_of_their_last_events() -> None:
    with running(
        f"{STREAM} from S#window.lengthBatch(5) select k, v, count() as n group by k insert into Out;"
    ) as runtime:
        chunks = collect_events(runtime, "Out")
        for time, (k, v) in enumerate([("B", 1), ("A", 2), ("B", 3), (None, 4), ("A", 5)]):
            runtime.input_handler("S").send((k, v), 100 + time)
    assert [[(event.timestamp, event.data) for event in chunk] for chunk in chunks] == [
        [(102, ("B", 3, 2)), (104, ("A", 5, 2)), (103, (None, 4, 1))]
    ]


def test_periods_end_by_the_clock_and_empty_periods_emit_nothing() -> None:
    with running(f"{STREAM} from S#window.timeBatch(100) select sum(v) as s insert into Out;") as runtime:
        rows = collect(runtime, "Out")
        for time, v in ((1_000, 1), (1_099, 2), (1_100, 4), (1_450, 8)):
            runtime.input_handler("S").send(("A", v), time)
        runtime.advance_clock(1_600)
    assert rows == [(3,), (4,), (8,)]


def test_a_start_time_aligns_periods() -> None:
    with running(f"{STREAM} from S#window.timeBatch(100, 30) select sum(v) as s insert into Out;") as runtime:
        rows = collect(runtime, "Out")
        for time, v in ((1_000, 1), (1_029, 2), (1_030, 4)):
            runtime.input_handler("S").send(("A", v), time)
        assert rows == [(3,)]
        runtime.advance_clock(1_130)
    assert rows == [(3,), (4,)]


def test_sums_of_only_nulls_are_null() -> None:
    with running(
        f"{STREAM} from S#window.lengthBatch(2) select sum(v) as s, avg(v) as a, count() as n insert into Out;"
    ) as runtime:
        rows = collect(runtime, "Out")
        for v in (None, None, 1, None):
            runtime.input_handler("S").send(("A", v), 1)
    assert rows == [(None, None, 2), (1, 1.0, 2)]


def test_one_row_per_group_is_kept_and_released() -> None:
    gc.collect()
    before = live_events()
    with running(
        f"{STREAM} from S#window.lengthBatch(1000) select k, v, sum(v) as s group by k insert into Out;"
    ) as runtime:
        for v in range(1_500):
            runtime.input_handler("S").send((f"k{v % 7}", v), v)
        assert live_events() - before == 7
    del runtime
    gc.collect()
    assert live_events() == before


@pytest.mark.parametrize("window", ["lengthBatch(3)", "timeBatch(100)"])
@pytest.mark.parametrize("group", ["", "group by k"])
def test_the_state_is_restored_from_a_snapshot(window: str, group: str) -> None:
    app = f"{STREAM} from S#window.{window} select k, v, sum(v) as s, count() as n {group} insert into Out;"
    events = [(1_000 + 40 * number, ("AB"[number % 2], number)) for number in range(8)]
    for stop in range(len(events) + 1):
        outputs = []
        for restarts in (False, True):
            manager_rows = []
            with running(app) as runtime:
                rows = collect(runtime, "Out")
                for time, row in events[:stop]:
                    runtime.input_handler("S").send(row, time)
                snapshot = runtime.snapshot()
                manager_rows = rows
                if not restarts:
                    for time, row in events[stop:]:
                        runtime.input_handler("S").send(row, time)
                    runtime.advance_clock(3_000)
            if restarts:
                with running(app) as runtime:
                    runtime.restore(snapshot)
                    rest = collect(runtime, "Out")
                    for time, row in events[stop:]:
                        runtime.input_handler("S").send(row, time)
                    runtime.advance_clock(3_000)
                manager_rows = rows + rest
            outputs.append(manager_rows)
        assert outputs[0] == outputs[1]


def test_the_batch_of_a_purged_key_is_removed() -> None:
    app = """@app:playback define stream S (k string, v int);
    @purge(enable='true', interval='1 sec', idle.period='100 milliseconds')
    partition with (k of S) begin from S#window.lengthBatch(2) select k, sum(v) as s group by k insert into Out; end;"""
    gc.collect()
    before = live_events()
    with running(app) as runtime:
        rows = collect(runtime, "Out")
        handler = runtime.input_handler("S")
        handler.send(("A", 1), 1_000)
        runtime.advance_clock(10_000)
        assert live_events() == before
        for v in (2, 4):
            handler.send(("A", v), 10_000)
    assert rows == [("A", 6)]
