"""Live apps while the system clock is set forward and back; the tests control the clocks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiAppRuntime
from siddhi._core.record.frame import set_system_clock
from siddhi._core.runtime.context import AppContext
from siddhi.runtime.clock import TimerThread
from tests.kit.running import collect, collect_events, running

NOW = 1_700_000_000_000
HOUR = 3_600_000
STREAM = "define stream S (v int);"
TIME = f"{STREAM} from S#window.time(10 sec) select v insert expired events into Gone;"
PATIENCE = 20.0  # seconds; a bound for a machine that stands still, not a measure


class Clocks:
    """The system's two clocks."""

    def __init__(self) -> None:
        self.wall, self.monotonic = NOW, 5_000
        self.show()

    def show(self) -> None:
        set_system_clock(self.wall, self.monotonic)

    def pass_(self, ms: int) -> None:
        self.wall, self.monotonic = self.wall + ms, self.monotonic + ms
        self.show()

    def step(self, ms: int) -> None:
        self.wall += ms
        self.show()


@pytest.fixture
def clocks() -> Iterator[Clocks]:
    yield Clocks()
    set_system_clock(None)


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> None:
    """No timer thread: the test fires timers itself."""
    monkeypatch.setattr(TimerThread, "wake", lambda self: None)


def fire(runtime: SiddhiAppRuntime) -> float | None:
    return runtime._timers.fire()


def test_the_wait_for_a_timer_is_capped(clocks: Clocks, timers: None) -> None:
    with running(f"{STREAM} from S#window.time(100000000 years) select v insert expired events into Gone;") as runtime:
        assert fire(runtime) is None
        runtime.input_handler("S").send((1,))
        assert fire(runtime) == 1.0


def test_a_timer_in_292_years_does_not_block_others() -> None:
    app = f"{STREAM} from S#window.time(20) select v insert expired events into Gone;"
    with running(app + " from S#window.time(100000000 years) select v insert into Kept;") as runtime:
        gone = threading.Event()
        runtime.input_handler("S").send((1,), 2**62)  # microseconds for milliseconds, and worse
        runtime.add_callback("Gone", lambda events: gone.set())
        runtime.enable_playback(False)  # wakes the thread once more
        assert not gone.is_set()
    with running(app) as runtime:
        gone = threading.Event()
        runtime.add_callback("Gone", lambda events: gone.set())
        runtime.input_handler("S").send((1,))
        assert gone.wait(PATIENCE)
        runtime.input_handler("S").send((1,), 2**62)
        assert runtime.statistics.timer_errors == 0


def test_a_forward_step_runs_timers_in_order_of_time(clocks: Clocks, timers: None) -> None:
    with running(TIME) as runtime:
        gone = collect_events(runtime, "Gone")
        runtime.input_handler("S").send((1,))
        clocks.pass_(1)
        runtime.input_handler("S").send((2,))
        assert fire(runtime) == 1.0
        clocks.step(HOUR)
        fire(runtime)
        assert [event.data for chunk in gone for event in chunk] == [(1,), (2,)]
        assert runtime.now == clocks.wall


def test_after_a_backward_step_the_clock_continues(clocks: Clocks, timers: None) -> None:
    with running(TIME) as runtime:
        gone = collect(runtime, "Gone")
        seen: list[int] = []
        runtime.add_callback("S", lambda events: seen.extend(event.timestamp for event in events))
        runtime.input_handler("S").send((1,))
        clocks.step(-HOUR)
        runtime.input_handler("S").send((2,))
        assert runtime.now == NOW
        clocks.pass_(11_111)
        fire(runtime)
        assert gone == []
        clocks.pass_(1)
        runtime.input_handler("S").send((3,))
        fire(runtime)
        assert gone == [(1,), (2,)]
        assert seen == [NOW, NOW, NOW + 10_000]
        assert runtime.now == NOW + 10_000  # nine tenths of the time that passed


def test_after_a_backward_step_of_an_hour_the_clocks_agree_in_ten(clocks: Clocks, timers: None) -> None:
    with running(TIME) as runtime:
        assert runtime.now == NOW
        clocks.step(-HOUR)
        assert runtime.now == NOW
        for _ in range(9):
            clocks.pass_(HOUR)
            fire(runtime)
        assert runtime._context.ahead == HOUR // 10
        clocks.pass_(HOUR)
        assert runtime.now == clocks.wall
        assert runtime._context.ahead == 0


def test_after_a_correction_the_clock_equals_the_system_clock(clocks: Clocks, timers: None) -> None:
    with running("define trigger T at every 1 sec; from T select triggered_time as t insert into Out;") as runtime:
        rows = collect(runtime, "Out")
        fire(runtime)
        clocks.step(-HOUR)
        for _ in range(20):
            clocks.pass_(1_000)
            fire(runtime)
        assert len(rows) == 17
        clocks.step(HOUR)
        assert runtime.now == clocks.wall
        fire(runtime)
        assert len(rows) == 20
        clocks.pass_(1_000)
        fire(runtime)
        assert len(rows) == 21


def test_backward_steps_accumulate(clocks: Clocks) -> None:
    context = AppContext("A")
    assert context.now == NOW
    for _ in range(3):
        clocks.step(-HOUR)
        assert context.now >= NOW
        clocks.pass_(1_000)
    assert context.now == NOW + 2_700


def test_a_restarted_app_follows_the_system_clock(clocks: Clocks, timers: None) -> None:
    with running(TIME) as runtime:
        assert runtime.now == NOW
        clocks.step(-HOUR)
        assert runtime.now == NOW
        runtime.shutdown()
        runtime.start()
        assert runtime.now == NOW - HOUR


def test_a_backward_step_is_logged_once(clocks: Clocks, timers: None, caplog: pytest.LogCaptureFixture) -> None:
    with running(TIME) as runtime, caplog.at_level(logging.WARNING, "siddhi"):
        fire(runtime)
        clocks.step(-200)  # an adjustment
        fire(runtime)
        assert caplog.records == []
        clocks.step(-HOUR)
        for _ in range(3):
            fire(runtime)
            clocks.pass_(1_000)
        assert [record.getMessage() for record in caplog.records] == [
            (
                f"app '{runtime.name}': the system clock was set back by 3600.2 s; the app's clock continues from its current time, "
                "a tenth slower, until the system clock has caught up; restart the app to follow the system clock at once"
            )
        ]
        clocks.step(HOUR)
        fire(runtime)
        clocks.step(-HOUR)
        fire(runtime)
        assert len(caplog.records) == 2


@given(st.lists(st.tuples(st.sampled_from(["pass", "step"]), st.integers(-10_000_000, 10_000_000)), max_size=30))
def test_the_live_clock_never_decreases_and_is_never_late(moves: list[tuple[str, int]]) -> None:
    clocks = Clocks()
    try:
        context = AppContext("A")
        before = context.now
        for kind, ms in moves:
            clocks.pass_(abs(ms)) if kind == "pass" else clocks.step(ms)
            now = context.now
            assert now >= before
            assert now >= clocks.wall
            before = now
        clocks.pass_(10 * (before - clocks.wall) + 10)
        assert context.now == clocks.wall
    finally:
        set_system_clock(None)


def test_a_waiting_thread_notices_a_forward_step(clocks: Clocks) -> None:
    with running(TIME) as runtime:
        gone = threading.Event()
        runtime.add_callback("Gone", lambda events: gone.set())
        runtime.input_handler("S").send((1,))
        clocks.step(HOUR)
        assert gone.wait(PATIENCE)


def test_errors_of_the_timer_thread_are_logged_and_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fire_as_ever = TimerThread.fire
    failures: list[Any] = [OverflowError("timeout value is too large"), MemoryError()]

    def fire_or_fail(self: TimerThread) -> float | None:
        if failures and self._context.name == "Failing":  # apps of other tests may still have threads
            raise failures.pop()
        return fire_as_ever(self)

    monkeypatch.setattr(TimerThread, "fire", fire_or_fail)
    monkeypatch.setattr("siddhi.runtime.clock._LONGEST_WAIT_S", 0.001)
    app = f"@app:name('Failing') {STREAM} from S#window.time(5) select v insert expired events into Gone;"
    with running(app) as runtime:
        gone = threading.Event()
        runtime.add_callback("Gone", lambda events: gone.set())
        runtime.input_handler("S").send((1,))
        assert gone.wait(PATIENCE)
        assert runtime.statistics.timer_errors == 2
        runtime.enable_statistics()
        name = f"io.siddhi.SiddhiApps.{runtime.name}.Siddhi.Timers.{runtime.name}.errors"
        assert runtime.statistics.metrics()[name] == 2
    assert caplog.text.count("a timer failed") == 2


def test_a_heartbeat_of_a_million_years_waits_without_error(caplog: pytest.LogCaptureFixture) -> None:
    app = "@app:playback(idle.time = '100000000 years', increment = '1 sec') define stream S (v int);"
    with running(app) as runtime:
        runtime.input_handler("S").send((1,), 1000)
        heartbeat = runtime._heartbeat
        assert heartbeat is not None
        assert heartbeat._thread.is_alive()
        assert runtime.now == 1000
        assert runtime.statistics.timer_errors == 0
    assert caplog.text == ""


@pytest.mark.parametrize(("idle_time", "increment"), [(-1, 5), (5, 2**62), (2**70, 1)])
def test_a_heartbeat_of_no_duration_is_refused(idle_time: int, increment: int) -> None:
    with running(STREAM) as runtime, pytest.raises(ValueError, match="expected a duration"):
        runtime.enable_playback(idle_time=idle_time, increment=increment)
