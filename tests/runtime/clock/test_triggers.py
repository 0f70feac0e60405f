"""Triggers and the app's clock."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Any

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError


def create(app: str, rows: list[tuple[Any, ...]], stream: str = "T") -> SiddhiAppRuntime:
    runtime = SiddhiManager().create_siddhi_app_runtime(app)
    runtime.add_callback(stream, lambda events: rows.extend((event.timestamp, *event.data) for event in events))
    return runtime


def test_at_start_fires_once_in_start() -> None:
    rows: list[tuple[Any, ...]] = []
    with create("@app:playback define trigger T at 'start';", rows) as runtime:
        runtime.start()
        assert rows == [(0, 0)]
        runtime.advance_clock(10_000)
    assert rows == [(0, 0)]


def test_a_start_trigger_reaches_queries() -> None:
    rows: list[tuple[Any, ...]] = []
    app = "define trigger T at 'start'; from T select triggered_time as t insert into O;"
    with create(app, rows, "O") as runtime:
        assert len(rows) == 1
        ((timestamp, value),) = rows
        assert timestamp == value <= runtime.now


def test_a_periodic_trigger_fires_from_the_first_time_of_playback() -> None:
    rows: list[tuple[Any, ...]] = []
    with create("@app:playback define stream S (v int); define trigger T at every 1 sec;", rows) as runtime:
        for timestamp in (1000, 1999, 2000, 3500, 3999, 4000):
            runtime.input_handler("S").send((0,), timestamp=timestamp)
    assert rows == [(2000, 2000), (3500, 3500), (4000, 4000)]


def test_a_periodic_trigger_fires_for_every_period_of_a_jump() -> None:
    rows: list[tuple[Any, ...]] = []
    with create("@app:playback define trigger T at every 1 sec;", rows) as runtime:
        runtime.advance_clock(1000)
        runtime.advance_clock(4000)
    assert rows == [(4000, 4000)] * 3


def test_a_periodic_trigger_fires_by_the_system_clock() -> None:
    rows: list[tuple[Any, ...]] = []
    runtime = create("define trigger T at every 10 milliseconds;", rows)
    twice = threading.Event()
    runtime.add_callback("T", lambda events: twice.set() if len(rows) >= 2 else None)
    with runtime:
        assert twice.wait(30)
    count = len(rows)
    assert rows == sorted(rows)
    assert len(rows) == count  # nothing fires after shutdown


def test_cron_follows_the_playback_clock() -> None:
    rows: list[tuple[Any, ...]] = []
    start = int(dt.datetime(2020, 5, 4, 12, 0, 10).astimezone().timestamp()) * 1000
    with create("@app:playback define trigger T at '*/15 * * * * ?';", rows) as runtime:
        for seconds in (0, 4, 5, 19, 20, 80):
            runtime.advance_clock(start + seconds * 1000)
    assert [(timestamp - start) // 1000 for timestamp, _ in rows] == [5, 20, 80, 80, 80, 80]


def test_a_cron_expression_without_future_times_never_fires() -> None:
    rows: list[tuple[Any, ...]] = []
    with create("@app:playback define trigger T at '0 0 0 1 1 ? 1999';", rows) as runtime:
        runtime.advance_clock(1_600_000_000_000)
        assert runtime.next_due is None
    assert rows == []


def test_an_invalid_cron_expression_is_refused() -> None:
    with pytest.raises(SiddhiAppCreationError, match="cron"):
        SiddhiManager().create_siddhi_app_runtime("define trigger T at 'every morning';")


def test_a_failing_receiver_does_not_stop_a_trigger() -> None:
    rows: list[tuple[Any, ...]] = []
    errors: list[str] = []
    runtime = SiddhiManager().create_siddhi_app_runtime("@app:playback define trigger T at every 1 sec;")
    runtime.handle_exception_with(lambda error, origin, events: errors.append(str(error)))

    def fail(events: object) -> None:
        raise RuntimeError("a reader")

    runtime.add_callback("T", fail)
    runtime.add_callback("T", lambda events: rows.extend(event.data for event in events))
    with runtime:
        for timestamp in (1000, 2000, 3000):
            runtime.advance_clock(timestamp)
    assert errors == ["a reader"] * 2
    assert rows == [(2000,), (3000,)]


def test_a_trigger_continues_from_a_snapshot() -> None:
    rows: list[tuple[Any, ...]] = []
    app = "@app:name('ticking') @app:playback define trigger T at every 1 sec; define trigger C at '*/10 * * * * ?';"
    with create(app, rows) as runtime:
        runtime.advance_clock(1000)
        runtime.advance_clock(1400)
        snapshot = runtime.snapshot()
    with create(app, rows) as runtime:
        runtime.restore(snapshot)
        runtime.advance_clock(1999)
        assert rows == []
        runtime.advance_clock(2000)
    assert rows == [(2000, 2000)]


def test_a_trigger_continues_after_restoring_a_snapshot_before_the_start() -> None:
    rows: list[tuple[Any, ...]] = []
    app = "@app:name('early') @app:playback define trigger T at every 1 sec;"
    snapshot = create(app, rows).snapshot()
    with create(app, rows) as runtime:
        runtime.advance_clock(500)
        runtime.restore(snapshot)
        runtime.advance_clock(1000)
        runtime.advance_clock(2000)
    assert rows == [(2000, 2000)]


@pytest.mark.parametrize("annotation", ["", "@async(workers='2')"])
def test_a_callback_can_shut_down_the_app_while_threads_wait_for_it(annotation: str) -> None:
    runtime = SiddhiManager().create_siddhi_app_runtime(
        f"{annotation} define stream S (v int); define trigger T at every 1 milliseconds; from S select v insert into O;"
    )
    down = threading.Event()

    def shut_down(events: object) -> None:
        threading.Event().wait(0.05)  # long enough for the timers to be due: they need what this thread holds
        runtime.shutdown()
        down.set()

    runtime.add_callback("O", shut_down)
    runtime.start()
    sender = threading.Thread(target=runtime.input_handler("S").send, args=((1,),), daemon=True)
    sender.start()
    assert down.wait(30)
    sender.join(30)
    assert not runtime.is_running
