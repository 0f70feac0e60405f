"""The clock of an app: events, advances and the heartbeat in playback, a thread in live mode. No test measures time."""

from __future__ import annotations

import threading

import pytest

from siddhi import SiddhiManager
from tests.kit.running import collect, collect_events, running

STREAM = "define stream S (v int);"
TIME = f"{STREAM} from S#window.time(1 sec) select v insert expired events into Gone;"
PATIENCE = 20.0  # seconds; a bound for a machine that stands still, not a measure


def test_the_playback_clock_follows_events_and_never_decreases():
    with running(f"@app:playback {TIME}") as runtime:
        handler = runtime.input_handler("S")
        assert runtime.now == 0
        for time, now in ((1000, 1000), (400, 1000), (1500, 1500)):
            handler.send((1,), time)
            assert runtime.now == now


def test_timers_fire_before_the_event_that_moves_the_clock():
    with running(f"@app:playback {TIME}") as runtime:
        order = []
        runtime.add_callback("S", lambda events: order.append(("in", events[0].timestamp)))
        runtime.add_callback("Gone", lambda events: order.append(("gone", [event.timestamp for event in events])))
        for time in (1000, 1500, 3000):
            runtime.input_handler("S").send((1,), time)
        assert order == [("in", 1000), ("in", 1500), ("gone", [3000, 3000]), ("in", 3000)]


def test_the_clock_can_be_moved_without_an_event():
    with running(f"@app:playback {TIME}") as runtime:
        gone = collect_events(runtime, "Gone")
        assert runtime.next_due is None
        runtime.input_handler("S").send((1,), 1000)
        assert runtime.next_due == 2000
        runtime.advance_clock(1999)
        assert gone == []
        runtime.advance_clock(2000)
        assert [event.timestamp for event in gone[0]] == [2000]
        assert runtime.next_due is None
        runtime.advance_clock(10)
        assert runtime.now == 2000


def test_all_timers_due_at_one_change_fire_at_the_new_time_query_by_query():
    app = f"""@app:playback {STREAM}
        from S#window.timeBatch(700) select v, 'slow' as query insert into Out;
        from S#window.timeBatch(300) select v, 'fast' as query insert into Out;"""
    with running(app) as runtime:
        rows = collect(runtime, "Out")
        runtime.input_handler("S").send((1,), 1000)
        runtime.advance_clock(5000)
        assert rows == [(1, "slow"), (1, "fast")]
        assert runtime.now == 5000


def test_only_playback_can_be_advanced():
    with running(TIME) as runtime, pytest.raises(ValueError, match="is not in playback"):
        runtime.advance_clock(1)


def test_playback_can_be_switched_on_and_off():
    with running(TIME) as runtime:
        runtime.enable_playback()
        runtime.input_handler("S").send((1,), 1000)
        assert runtime.now == 1000
        runtime.enable_playback(False)
        assert runtime.now > 1_600_000_000_000
        with pytest.raises(ValueError, match="given together"):
            runtime.enable_playback(idle_time=100)


@pytest.mark.parametrize(
    "given",
    [{"idle_time": 50, "increment": 1.5}, {"idle_time": "50", "increment": 5}, {"idle_time": True, "increment": 5}],
)
def test_playback_takes_whole_milliseconds(given):
    with running(TIME) as runtime:
        with pytest.raises(TypeError, match="expected a whole number of ms"):
            runtime.enable_playback(**given)
        with pytest.raises(ValueError, match="is not in playback"):
            runtime.advance_clock(1)


def test_timers_of_playback_fire_after_a_switch_to_the_system_clock():
    with running(f"{STREAM} from S#window.time(10) select v insert expired events into Gone;") as runtime:
        gone = threading.Event()
        runtime.add_callback("Gone", lambda events: gone.set())
        runtime.enable_playback()
        runtime.input_handler("S").send((1,), 1000)
        runtime.enable_playback(False)
        assert gone.wait(PATIENCE)


def test_live_timers_fire_without_events():
    with running(f"{STREAM} from S#window.time(10) select v insert expired events into Gone;") as runtime:
        gone = threading.Event()
        runtime.add_callback("Gone", lambda events: gone.set())
        runtime.input_handler("S").send((1,))
        assert gone.wait(PATIENCE)


def test_live_timers_continue_after_a_failing_callback():
    with running(f"{STREAM} from S#window.time(5) select v insert expired events into Gone;") as runtime:
        seen = []
        both = threading.Event()

        def fail(events):
            seen.extend(event.data for event in events)
            if len(seen) == 2:
                both.set()
            raise RuntimeError("no")

        runtime.handle_exception_with(lambda *failure: None)
        runtime.add_callback("Gone", fail)
        runtime.input_handler("S").send((1,))
        runtime.input_handler("S").send((2,))
        assert both.wait(PATIENCE)
        assert seen == [(1,), (2,)]


@pytest.mark.parametrize("error", [RuntimeError, SystemExit])
def test_live_timers_continue_after_a_failing_handler(error, caplog):
    twice = threading.Event()
    calls = []

    def fail(*_):
        calls.append(None)
        if len(calls) == 4:
            twice.set()
        raise error("on the timer thread")

    with running("define trigger Ticks at every 1 millisecond; from Ticks select * insert into Out;") as runtime:
        runtime.handle_exception_with(fail)
        runtime.add_callback("Out", fail)
        assert twice.wait(PATIENCE)
    assert "a timer failed" in caplog.text


def test_the_heartbeat_continues_after_a_failing_handler():
    twice = threading.Event()
    instants = []

    def fail(*_):
        instants.append(runtime.now)
        if len(set(instants)) == 2:
            twice.set()
        raise RuntimeError("on the heartbeat's thread")

    app = "@app:playback(idle.time = '20 millisecond', increment = '1 sec') define stream S (v int);"
    app += "define trigger Ticks at every 1 sec; from Ticks select * insert into Out;"
    with running(app) as runtime:
        runtime.handle_exception_with(fail)
        runtime.add_callback("Out", fail)
        runtime.input_handler("S").send((1,), 1000)
        assert twice.wait(PATIENCE)


def test_a_live_timer_can_shut_down_its_app():
    runtime = SiddhiManager().create_siddhi_app_runtime(
        f"{STREAM} from S#window.timeBatch(5) select v insert into Out;"
    )
    done = threading.Event()

    def stop(events):
        runtime.shutdown()
        done.set()

    runtime.add_callback("Out", stop)
    runtime.start()
    runtime.input_handler("S").send((1,))
    assert done.wait(PATIENCE)
    assert not runtime.is_running


def test_no_timer_fires_after_shutdown():
    with running(f"{STREAM} from S#window.timeBatch(1) select v insert into Out;") as runtime:
        runtime.input_handler("S").send((1,))
    assert runtime.next_due is None
    assert not [thread for thread in threading.enumerate() if thread.name == f"siddhi-timers-{runtime.name}"]


def test_the_heartbeat_moves_the_clock_without_events():
    app = f"@app:playback(idle.time = '10 millisecond', increment = '1 sec') {TIME}"
    with running(app) as runtime:
        gone = threading.Event()
        runtime.add_callback("Gone", lambda events: gone.set())
        runtime.input_handler("S").send((1,), 1000)
        assert gone.wait(PATIENCE)
        assert (runtime.now - 1000) % 1000 == 0
    assert not [thread for thread in threading.enumerate() if thread.name == f"siddhi-heartbeat-{runtime.name}"]


def test_the_heartbeat_waits_for_the_first_event():
    app = f"@app:playback(idle.time = '1 millisecond', increment = '1 sec') {TIME}"
    with running(app) as runtime:
        assert not threading.Event().wait(0.05)
        assert runtime.now == 0
