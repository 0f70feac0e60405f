"""Sliding windows without events, case by case; compared with windows of events in tests/property/test_operator_fusion.py."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from siddhi import Event
from siddhi._core.record.event import live_events
from tests.kit.running import collect, running

STREAM = "define stream S (k string, v int, d double, at long);"


def play(query: str, *events: tuple[int, tuple[Any, ...]], until: int | None = None) -> list[tuple[Any, ...]]:
    """What the events, sent one by one in playback, bring about."""
    with running(f"@app:playback {STREAM} {query} insert into Out;") as runtime:
        rows = collect(runtime, "Out")
        for time, (k, v) in events:
            runtime.input_handler("S").send((k, v, None if v is None else v / 2, time), time)
        if until is not None:
            runtime.advance_clock(until)
    return rows


EVENTS = [(1_000, ("A", 1)), (1_040, ("B", 2)), (1_080, ("A", None)), (1_120, ("A", 4)), (1_300, ("B", 8))]


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("length(2)", [1, 3, 2, 4, 12]),
        ("length(100)", [1, 3, 3, 7, 15]),
        ("time(100)", [1, 3, 3, 6, 8]),
        ("externalTime(at, 100)", [1, 3, 3, 6, 8]),
    ],
)
def test_sums_are_updated_when_events_expire(window: str, expected: list[int]) -> None:
    assert play(f"from S#window.{window} select sum(v) as s", *EVENTS) == [(s,) for s in expected]


def test_sum_average_and_count_skip_nulls() -> None:
    rows = play("from S#window.length(2) select sum(v) as s, avg(v) as a, count() as n, avg(d) as h", *EVENTS[1:4])
    assert rows == [(2, 2.0, 1, 1.0), (2, 2.0, 2, 1.0), (4, 4.0, 2, 2.0)]
    only_null = play(
        "from S#window.length(1) select sum(v) as s, avg(v) as a, count() as n", (1, ("A", 1)), (2, ("A", None))
    )
    assert only_null == [(1, 1.0, 1), (None, None, 1)]


def test_groups_have_separate_state_and_are_released_when_empty() -> None:
    query = "from S#window.length(2) select k, sum(v) as s, count() as n group by k"
    events = [(number, (f"k{number % 5}", number)) for number in range(20)]
    assert play(query, *events) == [(f"k{number % 5}", number, 1) for number in range(20)]
    with running(f"{STREAM} {query} insert into Out;") as runtime:
        for number in range(2_000):
            runtime.input_handler("S").send((f"k{number}", number, None, 0))
        assert len(runtime.snapshot()) < 2_000


def test_an_event_as_old_as_the_window_expires() -> None:
    query = "from S#window.time(100) select count() as n"
    assert play(query, (1_000, ("A", 1)), (1_099, ("A", 1)), (1_199, ("A", 1)), (1_200, ("A", 1))) == [
        (1,),
        (2,),
        (1,),
        (2,),
    ]


def test_integers_stay_exact_and_wrap_around() -> None:
    app = "define stream S (v long); from S#window.length(2) select sum(v) as s insert into Out;"
    with running(app) as runtime:
        rows = collect(runtime, "Out")
        for v in (2**63 - 1, 1, 2**53 + 1, 2):
            runtime.input_handler("S").send((v,))
    assert rows == [(2**63 - 1,), (-(2**63),), (2**53 + 2,), (2**53 + 3,)]


def test_having_order_and_limit_are_applied_after_the_window() -> None:
    query = "select k, sum(v) as s group by k having s > 2 order by s desc limit 1"
    with running(f"{STREAM} from S#window.length(10) {query} insert into Out;") as runtime:
        rows = collect(runtime, "Out")
        for chunk in ([("A", 1), ("B", 2)], [("A", 2), ("B", 3), ("C", 9)]):
            runtime.input_handler("S").send_events([Event(1, (k, v, None, 0)) for k, v in chunk])
    assert rows == [("C", 9)]


def test_no_events_are_kept() -> None:
    gc.collect()
    before = live_events()
    with running(f"{STREAM} from S#window.length(1000) select sum(v) as s insert into Out;") as runtime:
        for v in range(500):
            runtime.input_handler("S").send(("A", v, None, 0))
        assert live_events() == before


@pytest.mark.parametrize("window", ["length(3)", "time(100)", "externalTime(at, 100)"])
@pytest.mark.parametrize("group", ["", "group by k"])
def test_the_state_is_restored_from_a_snapshot(window: str, group: str) -> None:
    app = f"@app:playback {STREAM} from S#window.{window} select k, sum(v) as s, avg(d) as a {group} insert into Out;"
    with running(app) as runtime:
        whole = collect(runtime, "Out")
        for time, (k, v) in EVENTS:
            runtime.input_handler("S").send((k, v, v and v / 2, time), time)
    for stop in range(len(EVENTS)):
        with running(app) as runtime:
            for time, (k, v) in EVENTS[:stop]:
                runtime.input_handler("S").send((k, v, v and v / 2, time), time)
            snapshot = runtime.snapshot()
        with running(app) as runtime:
            runtime.restore(snapshot)
            rest = collect(runtime, "Out")
            for time, (k, v) in EVENTS[stop:]:
                runtime.input_handler("S").send((k, v, v and v / 2, time), time)
        assert rest == whole[stop:]


def test_an_event_without_external_time_fails_alone() -> None:
    app = f"{STREAM} from S#window.externalTime(at, 100) select sum(v) as s insert into Out;"
    with running(app) as runtime:
        failures: list[str] = []
        runtime.handle_exception_with(lambda error, origin, events: failures.append(str(error)))
        rows = collect(runtime, "Out")
        for at in (1, None, 2):
            runtime.input_handler("S").send(("A", 1, None, at))
        columns = {"k": ["A"] * 3, "v": [1] * 3, "d": [0.0] * 3, "at": [3, None, 4]}
        runtime.input_handler("S").send_batch(columns)
    assert rows == [(1,), (2,), (3,), (4,)]
    assert failures == ["the time of externalTime, 'at', is null: expected ms since 1970"] * 2
