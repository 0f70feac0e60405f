"""timeLength, delay and cron: timers, keys that are dropped, ticks."""

from __future__ import annotations

import pytest

from siddhi._core.record.event import EventPool, Layout, TypeCode
from siddhi._core.runtime.context import AppContext
from siddhi._core.window.cron import CronWindow
from tests.kit.running import collect, collect_events, running

STREAM = "@app:playback define stream S (k string, v int);"


def test_time_and_length_both_limit_the_window():
    with running(f"{STREAM} from S#window.timeLength(100, 2) select v insert expired events into Out;") as runtime:
        out = collect(runtime, "Out")
        for time in (1000, 1010, 1020):
            runtime.input_handler("S").send(("A", time), time)
        assert out == [(1000,)]
        runtime.advance_clock(1110)
        assert out == [(1000,), (1010,)]
        runtime.advance_clock(1120)
        assert out == [(1000,), (1010,), (1020,)]


QUERY = "@info(name='q') from S#window.timeLength(100, 2) select v insert all events into Out;"


def called(*sent: tuple[int, int] | int) -> list[tuple[list[int], list[int]]]:
    """What the query calls back with, current and expired: (time, value) is sent, a time alone moves the clock."""
    calls: list[tuple[list[int], list[int]]] = []
    with running(f"{STREAM} {QUERY}") as runtime:
        runtime.add_query_callback(
            "q", lambda _, *sides: calls.append(tuple([event["v"] for event in side or []] for side in sides))
        )
        for step in sent:
            if isinstance(step, int):
                runtime.advance_clock(step)
            else:
                runtime.input_handler("S").send(("A", step[1]), step[0])
    return calls


def test_an_event_expires_by_its_timer_before_the_next_event():
    assert called((1000, 1), (1050, 2), (1100, 3)) == [([1], []), ([2], []), ([], [1]), ([3], [])]


def test_a_late_event_expires_with_the_next_event():
    calls = called((1000, 1), (910, 2), (1001, 3), (1020, 4))
    assert calls == [([1], []), ([2], []), ([3], [1]), ([4], [2])]


def test_the_timer_of_a_late_event_waits_for_earlier_timers():
    before = [([1], []), ([2], []), ([3], [1])]
    assert called((1000, 1), (910, 2), (1001, 3), 1099) == before
    assert called((1000, 1), (910, 2), (1001, 3), 1100) == [*before, ([], [2])]


def test_a_late_event_expires_by_the_timer_of_an_expired_event():
    # The timer of 1 has its turn at 1060, when 3, of 940, is too old; that of 2 had not.
    calls = called((960, 1), (1000, 2), (940, 3), (990, 4), (1065, 5))
    assert calls == [([1], []), ([2], []), ([3], [1]), ([4], [2]), ([], [3]), ([5], [])]


def test_a_late_event_sets_no_timer():
    # 1 is too old as it comes; 2 does not move the clock, so that no timer has its turn before it.
    assert called(2000, (1500, 1), (1600, 2)) == [([1], []), ([2], [1])]
    assert called(2000, (1500, 1), 2000) == [([1], []), ([], [1])]


def test_a_restored_window_keeps_timers_of_expired_events():
    app = f"{STREAM} {QUERY}"
    sent = [(960, 1), (1000, 2), (940, 3), (990, 4)]
    with running(app) as runtime:
        for time, value in sent:
            runtime.input_handler("S").send(("A", value), time)
        state = runtime.snapshot()
    with running(app) as runtime:
        runtime.restore(state)
        out = collect(runtime, "Out")
        runtime.input_handler("S").send(("A", 5), 1065)
    assert out == [(3,), (5,)]


def test_older_timers_of_expired_events_are_dropped():
    many = [(1000 + i // 10, i) for i in range(600)]
    calls = called(*many, (1000, 600), (1001, 601), 1120)
    assert calls[-1] == ([], [600, 601])
    assert len(calls) == 603


def test_delayed_events_have_the_time_of_the_clock():
    with running(f"{STREAM} from S#window.delay(100) select v insert into Out;") as runtime:
        chunks = collect_events(runtime, "Out")
        runtime.input_handler("S").send(("A", 1), 1000)
        runtime.input_handler("S").send(("A", 2), 1040)
        runtime.advance_clock(1099)
        assert chunks == []
        runtime.advance_clock(1150)
        assert [[(event["v"], event.timestamp) for event in chunk] for chunk in chunks] == [[(1, 1150), (2, 1150)]]


def test_a_delayed_group_is_counted_when_it_is_emitted():
    app = f"{STREAM} from S#window.delay(100) select k, count() as n group by k insert all events into Out;"
    with running(app) as runtime:
        out = collect(runtime, "Out")
        for time in (1000, 1200, 1400, 1600):
            runtime.input_handler("S").send(("A", 1), time)
        assert out == [("A", 1), ("A", 2), ("A", 3)]


@pytest.mark.parametrize(
    "window",
    [
        "timeLength(1 sec, 3)",
        "delay(1 sec)",
        "cron('0 * * * * ?')",
        "session(1 sec)",
        "sort(2, v)",
        "frequent(2, k)",
        "expression('count() <= 2')",
        "expressionBatch('count() <= 2')",
    ],
)
def test_the_state_of_a_purged_key_is_removed(window):
    app = f"""{STREAM} @purge(enable='true', interval='1 sec', idle.period='100 milliseconds')
    partition with (k of S) begin from S#window.{window} select k, v insert all events into Out; end;"""
    with running(app) as runtime:
        out = collect(runtime, "Out")
        runtime.input_handler("S").send(("A", 1), 1000)
        runtime.input_handler("S").send(("B", 1), 1999)
        runtime.input_handler("S").send(("B", 1), 2000)
        out.clear()
        runtime.advance_clock(200_000)
        assert ("A", 1) not in out


def test_cron_emits_at_ticks_and_skips_ticks_without_events():
    app = f"{STREAM} @info(name='q') from S#window.cron('*/10 * * * * ?') select v insert all events into Out;"
    with running(app) as runtime:
        calls = []
        runtime.add_query_callback(
            "q", lambda time, *sides: calls.append([side and [e["v"] for e in side] for side in sides])
        )
        send = runtime.input_handler("S").send
        send(("A", 1), 10_001)
        send(("A", 2), 19_999)
        send(("A", 3), 20_000)
        assert calls == [[[1, 2], None]]
        runtime.advance_clock(100_000)
        assert calls == [[[1, 2], None], [[3], [1, 2]]]
        runtime.advance_clock(200_000)
        assert len(calls) == 2


def test_cron_sets_no_timer_while_it_is_empty():
    with running(f"{STREAM} from S#window.cron('* * * * * ?') select v insert into Out;") as runtime:
        assert runtime.next_due is None
        runtime.input_handler("S").send(("A", 1), 10_500)
        assert runtime.next_due == 11_000
        runtime.advance_clock(11_000)
        assert runtime.next_due is None


def test_cron_keeps_no_events_after_the_last_tick():
    with running(f"{STREAM} from S#window.cron('0 0 0 1 1 ? 1999') select v insert into Out;") as runtime:
        runtime.input_handler("S").send(("A", 1), 10**12)
        assert runtime.next_due is None


def test_cron_requires_a_context_and_a_schedule():
    pool = EventPool(Layout(["v"], [TypeCode.INT]))
    with pytest.raises(TypeError):
        CronWindow(None, pool, lambda _: None)
    with pytest.raises(TypeError):
        CronWindow(AppContext("test"), pool, None)
