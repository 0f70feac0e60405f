"""The app's context: its clock, and timers in the order they are due."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi._core.runtime.context import AppContext
from tests.kit.running import collect, collect_events, running


def test_the_playback_clock_only_moves_forward() -> None:
    context = AppContext("A")
    context.set_playback(True)
    for moment, now in ((5, 5), (3, 5), (9, 9)):
        context.advance_clock(moment)
        assert context.now == now


def test_without_playback_the_system_clock_is_used() -> None:
    context = AppContext("A")
    assert not context.playback
    assert context.now > 1_600_000_000_000


def test_without_timers_nothing_is_due() -> None:
    context = AppContext("A")
    assert context.next_due is None
    context.fire_due()
    context.cancel_timers()
    assert context.next_due is None


def test_failures_are_passed_to_the_handler_with_their_origin() -> None:
    context = AppContext("A")
    seen: list[tuple[object, ...]] = []
    context.on_error = lambda *failure: seen.append(failure)
    error = ValueError("no")
    context.handle(error, "S", [])
    assert seen == [(error, "S", [])]


@given(st.lists(st.integers(0, 299), min_size=1, max_size=30))
def test_timers_fire_in_the_order_they_are_due(moments: list[int]) -> None:
    """One state per key, each with a timer of its own, and one jump over all of them."""
    app = """@app:playback define stream S (k int, at long); define stream Tick (v int);
    partition with (k of S) begin from S#window.timeBatch(300) select k, at insert into Out; end;"""
    moments = sorted(moments)
    with running(app) as runtime:
        rows = collect(runtime, "Out")
        for key, moment in enumerate(moments):
            runtime.input_handler("S").send((key, moment), 1_000 + moment)
        runtime.advance_clock(1_299)
        assert rows == []
        runtime.input_handler("Tick").send((0,), 5_000)
    assert rows == list(enumerate(moments))


def test_timers_of_equal_times_fire_in_the_order_of_the_text() -> None:
    queries = " ".join(
        f"from S#window.timeBatch(100) select '{name}' as name, v insert into Out;"
        for name in ("first", "second", "third")
    )
    with running(f"@app:playback define stream S (v int); {queries}") as runtime:
        rows = collect(runtime, "Out")
        runtime.input_handler("S").send((1,), 1_000)
        runtime.advance_clock(1_100)
    assert rows == [("first", 1), ("second", 1), ("third", 1)]


def test_events_of_a_timer_have_the_time_of_the_clock() -> None:
    app = "@app:playback define stream S (v int); from S#window.time(100) select v insert expired events into Out;"
    with running(app) as runtime:
        chunks = collect_events(runtime, "Out")
        runtime.input_handler("S").send((1,), 1_000)
        runtime.input_handler("S").send((2,), 1_050)
        runtime.advance_clock(9_000)
    assert [(event.timestamp, event.data) for chunk in chunks for event in chunk] == [(9_000, (1,)), (9_000, (2,))]


@pytest.mark.parametrize("playback", [True, False])
def test_after_shutdown_nothing_is_due(playback: bool) -> None:
    app = f"{'@app:playback' if playback else ''} define stream S (v int); from S#window.time(1 hour) select v insert into O;"
    with running(app) as runtime:
        runtime.input_handler("S").send((1,), 1_000)
        assert runtime.next_due is not None
    assert runtime.next_due is None
