"""The range of timestamps, and the warning about timestamps in another unit."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SiddhiAppRuntime
from siddhi._core.snapshot.format import seal, unseal
from siddhi.errors import CannotRestoreStateError, EventError
from tests.kit.running import collect_events, running

LATEST = 2**62
OUT = [LATEST + 1, -LATEST - 1, 2**63 - 1, -(2**63), 2**63, 10**30]
WITHIN = [LATEST, -LATEST, 0, -1, 1_700_000_000_000]
PLAYBACK = "@app:playback define stream S (t long, v int);"
NOW = 1_700_000_000  # in seconds

FORMS: dict[str, Callable[[SiddhiAppRuntime, Any], Any]] = {
    "row": lambda runtime, time: runtime.input_handler("S").send((1, 1), time),
    "event": lambda runtime, time: runtime.input_handler("S").send(Event(time, (1, 1))),
    "events": lambda runtime, time: runtime.input_handler("S").send_events([Event(5, (1, 1)), Event(time, (1, 1))]),
    "array": lambda runtime, time: runtime.input_handler("S").send_batch({"t": [1, 1], "v": [1, 1]}, [5, time]),
    "column": lambda runtime, time: runtime.input_handler("S").send_batch({"t": [5, time], "v": [1, 1]}, "t"),
}


@pytest.mark.parametrize("time", OUT)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("clock", ["@app:playback", ""])
def test_a_timestamp_out_of_range_is_refused_and_changes_nothing(form: str, time: int, clock: str) -> None:
    with running(f"{clock} define stream S (t long, v int);") as runtime:
        events = collect_events(runtime, "S")
        before = runtime.now if clock else 0
        with pytest.raises(EventError, match=r"out of range|does not fit|too large"):
            FORMS[form](runtime, time)
        assert events == []
        assert not clock or runtime.now == before


@pytest.mark.parametrize("time", WITHIN)
@pytest.mark.parametrize("form", FORMS)
def test_timestamps_in_range_are_accepted(form: str, time: int) -> None:
    with running(PLAYBACK) as runtime:
        events = collect_events(runtime, "S")
        FORMS[form](runtime, time)
        assert events[-1][-1].timestamp == time


@pytest.mark.parametrize("time", OUT)
def test_the_clock_cannot_be_set_out_of_range(time: int) -> None:
    with running(PLAYBACK) as runtime:
        with pytest.raises(ValueError, match="out of range"):
            runtime.advance_clock(time)
        with pytest.raises(TypeError, match="an integer"):
            runtime.advance_clock(1.5)  # type: ignore[arg-type]
        assert runtime.now == 0


WINDOWS = {
    "externalTime": "from S#window.externalTime(t, 1 sec) select v insert all events into O;",
    "externalTime in a step with its aggregates": "from S#window.externalTime(t, 1 sec) select sum(v) as v insert into O;",
    "externalTimeBatch": "from S#window.externalTimeBatch(t, 1 sec) select v insert into O;",
    "start of externalTimeBatch": "from S#window.externalTimeBatch(b, 1 sec, t) select v insert into O;",
    "aggregate by": "define aggregation A from S select sum(v) as v aggregate by t every sec...year;",
}


@pytest.mark.parametrize("time", [LATEST + 1, -LATEST - 1, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("by", WINDOWS)
@pytest.mark.parametrize("columns", [False, True])
def test_times_of_attributes_must_be_in_range(by: str, time: int, columns: bool) -> None:
    app = f"define stream S (t long, b long, v int); {WINDOWS[by]}"
    with running(app) as runtime:
        failures: list[str] = []
        runtime.handle_exception_with(lambda error, origin, events: failures.append(str(error)))
        rows = [(time, 1000, 1), (1000, 1000, 1), (time, 9000, 1), (9000, 9000, 1)]
        if by.startswith("start of"):
            rows = rows[:1]
        if columns:
            runtime.input_handler("S").send_batch(dict(zip("tbv", map(list, zip(*rows, strict=True)), strict=True)))
        else:
            for row in rows:
                runtime.input_handler("S").send(row)
        assert len(failures) == (len(rows) + 1) // 2
        assert all(f"{time} is out of range" in failure for failure in failures)
        runtime.restore(runtime.snapshot())


TIMED = {
    "aggregate by": WINDOWS["aggregate by"],
    "aggregate": "define aggregation A from S select sum(v) as v aggregate every sec...year;",
    "externalTime": WINDOWS["externalTime"],
    "externalTimeBatch": "from S#window.externalTimeBatch(t, 1 sec, 0, 10 sec) select v insert all events into O;",
    "time": "from S#window.time(1 sec) select v insert all events into O;",
    "timeBatch": "from S#window.timeBatch(1 sec) select v insert all events into O;",
    "timeBatch with start": "from S#window.timeBatch(1 sec, 7) select v insert all events into O;",
    "sums": "from S#window.timeBatch(1 sec) select sum(v) as v insert into O;",
    "timeLength": "from S#window.timeLength(1 sec, 2) select v insert all events into O;",
    "delay": "from S#window.delay(1 sec) select v insert into O;",
    "session": "from S#window.session(1 sec) select t insert all events into O;",
    "absence": "from every e=S -> not S for 1 sec select e.v as v insert into O;",
    "absence behind a count": "from every e=S[v < 0]<0:2> -> not S[v < 0] for 1 sec select 1 as v insert into O;",
    "within": "from every e=S -> f=S within 1 sec select e.v as v insert into O;",
    "cron": "from S#window.cron('0 0 0 ? * MON') select v insert into O;",
    "rate": "from S select v output last every 1 sec insert into O;",
    "first": "from S select v output first every 1 sec insert into O;",
    "purge": "@purge(enable = 'true', interval = '1 sec', idle.period = '1 sec') partition with (v of S) begin "
    "from S select v insert into O; end;",
}
ENDS = [0, 1, 999, 1000, LATEST - 1000, LATEST - 999, LATEST - 1, LATEST]


@pytest.mark.parametrize("what", TIMED)
@pytest.mark.parametrize("timers", ["jump", "exact"])
def test_an_app_runs_and_is_restored_at_the_limits_of_time(what: str, timers: str) -> None:
    app = f"@app:name('A') @app:playback(timers = '{timers}') define stream S (t long, v int); {TIMED[what]}"
    with running(app) as runtime:
        runtime._context.most_ticks = 100
        failures: list[object] = []
        runtime.handle_exception_with(lambda *failure: failures.append(failure))
        for time in (-LATEST, -LATEST + 1, -1, *ENDS):
            runtime.input_handler("S").send((time, 1), time)
            state = runtime.snapshot()
            with running(app) as other:
                other.restore(state)
                assert other.snapshot() == state
        assert failures == []


@pytest.mark.parametrize("time", [LATEST + 1, -LATEST - 1])
def test_a_snapshot_with_an_event_out_of_range_is_refused(time: int) -> None:
    app = "@app:name('A') @app:playback define stream S (v int); from S#window.length(2) select v insert into O;"
    with running(app) as runtime:
        runtime.input_handler("S").send((1,), 123_456_789)
        state = runtime._state.take()
        payload = unseal(state)
        forged = payload.replace((123_456_789).to_bytes(8, "little"), time.to_bytes(8, "little", signed=True))
        with pytest.raises(CannotRestoreStateError, match="not a valid time"):
            runtime.restore(seal(forged))
        assert runtime.snapshot() == state


@pytest.mark.parametrize(
    ("time", "unit", "day", "change"),
    [
        (NOW, "seconds", "2023-11-14", "multiply them by 1000"),
        (10**9, "seconds", "2001-09-09", "multiply"),
        (4 * 10**9, "seconds", "2096-10-02", "multiply"),
        (NOW * 10**6, "microseconds", "2023-11-14", "divide them by 1000"),
        (7_258_118_400_001, "microseconds", "1970-03-26", "divide"),
        (NOW * 10**9, "nanoseconds", "2023-11-14", "divide them by 1,000,000"),
        (LATEST, "nanoseconds", "2116-02-20", "divide"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_a_timestamp_in_another_unit_is_warned_about_once_per_stream(
    form: str, time: int, unit: str, day: str, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    with running("@app:name('A') " + PLAYBACK + "define stream R (t long, v int);") as runtime:
        for _ in range(3):
            FORMS[form](runtime, time)
        (record,) = caplog.records
        assert record.levelno == logging.WARNING
        text = record.getMessage()
        assert f"app 'A', stream 'S': timestamp {time} seems to be in {unit} ({day})" in text
        assert change in text
        runtime.input_handler("R").send((1, 1), time)
        assert len(caplog.records) == 2


@pytest.mark.parametrize("first", [1, NOW * 1000, NOW])
def test_a_timestamp_before_1970_is_warned_about_once_per_stream(first: int, caplog: pytest.LogCaptureFixture) -> None:
    with running("@app:name('A') " + PLAYBACK) as runtime:
        handler = runtime.input_handler("S")
        handler.send((1, 1), first)
        before = len(caplog.records)
        for time in (-1, 5, -LATEST, NOW * 1000, -2):
            handler.send((1, 1), time)
    (record,) = caplog.records[before:]
    assert "app 'A', stream 'S': timestamp -1 is before 1970: the app's clock starts at 1970" in record.getMessage()


@given(
    st.lists(
        st.integers(0, 10**9 - 1) | st.integers(4 * 10**9 + 1, 7_258_118_400_000) | st.sampled_from([0, 10**9 - 1]),
        max_size=20,
    )
)
def test_small_and_current_timestamps_are_not_warned_about(times: list[int]) -> None:
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    logging.getLogger("siddhi").addHandler(handler)
    try:
        with running(PLAYBACK) as runtime:
            for time in times:
                runtime.input_handler("S").send((1, 1), time)
            runtime.input_handler("S").send((1, 1))
            runtime.input_handler("S").send_batch({"t": [1] * len(times), "v": [1] * len(times)}, times)
    finally:
        logging.getLogger("siddhi").removeHandler(handler)
    assert records == []


AT = datetime(2026, 1, 1, 1, 0, 0, 1999, tzinfo=timezone(timedelta(hours=1)))
AT_MS = 1_767_225_600_001
DATE_TIMES = {
    "datetime": AT,
    "pandas": pd.Timestamp(AT),
    "seconds": np.datetime64("2026-01-01T00:00:00.001999"),
    "nanoseconds": np.datetime64(1_767_225_600_001_999_999, "ns"),
}


@pytest.mark.parametrize("time", DATE_TIMES.values(), ids=DATE_TIMES)
@pytest.mark.parametrize("form", FORMS)
def test_date_times_are_rounded_down_to_ms(form: str, time: Any) -> None:
    with running(PLAYBACK) as runtime:
        events = collect_events(runtime, "S")
        if form == "column":
            runtime.input_handler("S").send_batch([{"t": 1, "v": 1, "at": time}], "at")
        else:
            FORMS[form](runtime, time)
        assert events[-1][-1].timestamp == AT_MS


@pytest.mark.parametrize("time", DATE_TIMES.values(), ids=DATE_TIMES)
def test_the_clock_is_set_to_a_date_time(time: Any) -> None:
    with running(PLAYBACK) as runtime:
        runtime.advance_clock(time)
        assert runtime.now == AT_MS


@given(st.datetimes(timezones=st.timezones()))
def test_date_times_of_all_zones_are_their_instants(time: datetime) -> None:
    expected = (time - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)
    assert Event(time, ()).timestamp == expected


BEFORE_1970 = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=timezone.utc)


def test_date_times_before_1970_are_rounded_down() -> None:
    assert Event(BEFORE_1970, ()).timestamp == -1
    assert Event(np.datetime64("1969-12-31T23:59:59.999999"), ()).timestamp == -1


@pytest.mark.parametrize("form", ["row", "event", "events", "array"])
@pytest.mark.parametrize(
    ("time", "message"),
    [
        (datetime(2026, 1, 1), r"needs a time zone.*replace\(tzinfo=timezone\.utc\)"),  # noqa: DTZ001
        (pd.NaT, "NaT|is null"),
        (np.datetime64("NaT"), "NaT|is null"),
    ],
    ids=["naive", "pandas.NaT", "numpy.NaT"],
)
def test_date_times_that_are_no_instant_are_refused(form: str, time: Any, message: str) -> None:
    with running(PLAYBACK) as runtime:
        events = collect_events(runtime, "S")
        with pytest.raises(EventError, match=message):
            FORMS[form](runtime, time)
        assert events == []
