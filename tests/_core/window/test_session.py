"""session: late events, merged sessions, keys."""

from __future__ import annotations

import logging

from tests.kit.running import collect_events, running

APP = "@app:playback define stream S (a string, v int); from S#window.{} select a, v insert {} events into Out;"


def play(
    window: str, events: list[tuple[int, str | None, int]], kind: str = "expired", until: int = 0
) -> list[list[int]]:
    """Values of the chunks that come out."""
    with running(APP.format(window, kind)) as runtime:
        chunks = collect_events(runtime, "Out")
        for time, *values in events:
            runtime.input_handler("S").send(tuple(values), time)
        runtime.advance_clock(until)
        return [[event["v"] for event in chunk] for chunk in chunks]


def test_a_session_expires_as_a_whole_with_its_own_timestamps():
    with running(APP.format("session(1 sec)", "expired")) as runtime:
        chunks = collect_events(runtime, "Out")
        for time in (1000, 1500, 2400):
            runtime.input_handler("S").send(("A", time), time)
        runtime.advance_clock(3399)
        assert chunks == []
        runtime.advance_clock(3400)
        assert [[event.timestamp for event in chunk] for chunk in chunks] == [[1000, 1500, 2400]]


def test_keys_have_separate_sessions_and_null_is_a_key():
    events = [(1000, "A", 1), (1100, None, 2), (1200, "A", 3), (1300, None, 4)]
    assert play("session(1 sec, a)", events, until=5000) == [[1, 3], [2, 4]]


def test_a_late_event_is_first_in_its_session():
    assert play("session(1 sec)", [(5000, "A", 1), (4500, "A", 2), (5100, "A", 3)], until=9000) == [[2, 1, 3]]


def test_an_event_too_late_is_dropped_and_logged(caplog):
    with caplog.at_level(logging.INFO, logger="siddhi"):
        assert play("session(1 sec)", [(5000, "A", 1), (3999, "A", 2)], "current") == [[1]]
    assert "3999" in caplog.text


def test_with_latency_a_late_event_joins_the_ended_session():
    events = [(1000, "A", 1), (2300, "B", 9), (1900, "A", 2)]
    # A's session ended at 2000; the late event prolongs it to 2900, after which it waits for 500 ms more.
    assert play("session(1 sec, a, 500 milliseconds)", events, until=3399) == []
    assert play("session(1 sec, a, 500 milliseconds)", events, until=3400) == [[1, 2]]


def test_a_late_event_between_two_sessions_merges_them():
    events = [(1000, "A", 1), (2100, "A", 3), (1900, "A", 2)]
    assert play("session(1 sec, a, 900 milliseconds)", events, until=9000) == [[1, 2, 3]]


def test_without_latency_the_event_joins_only_the_current_session():
    events = [(1000, "A", 1), (2100, "A", 3), (1900, "A", 2)]
    assert play("session(1 sec, a)", events, until=9000) == [[1], [2, 3]]


def test_sessions_of_many_keys_end_in_order_of_their_end_times():
    events = [(1000 + number, f"k{number}", number) for number in range(50)]
    assert play("session(1 sec, a)", events, until=9000) == [[number] for number in range(50)]


def test_a_jump_of_the_clock_ends_sessions_in_order_of_their_end_times():
    # A's session was prolonged behind the end of B's after its timer had been set.
    events = [(1000, "A", 1), (1200, "B", 2), (1500, "A", 3)]
    assert play("session(1 sec, a)", events, until=9000) == [[2], [1, 3]]
    events = [(1000, "A", 1), (1100, "B", 2), (1200, "C", 3), (2100, "D", 4)]
    assert play("session(1 sec, a, 1 sec)", events, until=9000) == [[1], [2], [3], [4]]


def test_in_live_mode_an_event_after_the_end_ends_the_session():
    app = "define stream S (v int); from S#window.session(1 hour) select v insert all events into Out;"
    with running(app) as runtime:
        chunks = collect_events(runtime, "Out")
        handler = runtime.input_handler("S")
        future = 10**13  # far ahead of the clock: no timer is due
        for time in (future, future + 1000, future + 3_700_000):
            handler.send((time - future,), time)
        assert [[event["v"] for event in chunk] for chunk in chunks] == [[0], [1000], [0, 1000, 3_700_000]]


def test_sessions_of_a_named_window_can_be_searched():
    app = """@app:playback define stream S (a string, v int);
    define window W (a string, v int) session(1 sec, a, 500 milliseconds); from S select a, v insert into W;"""
    with running(app) as runtime:
        for time, name in ((1000, "A"), (1100, "B"), (2050, "C")):
            runtime.input_handler("S").send((name, time), time)
        assert sorted(event["a"] for event in runtime.query("from W select a")) == ["A", "B", "C"]
        runtime.advance_clock(2600)
        assert [event["a"] for event in runtime.query("from W select a")] == ["C"]
