"""Periods without data cost nothing, however many there are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.running import collect_events, running

STREAM = "define stream S (k string, v int);"
TIMERS = ["", "(timers = 'exact')"]
QUERIES = [
    "from S#window.timeBatch(10) select k, v insert into Out;",
    "from S#window.timeBatch(10, 3) select k, v insert all events into Out;",
    "from S#window.timeBatch(10, true) select sum(v) as s insert all events into Out;",
    "from S#window.timeBatch(10) select k, sum(v) as s group by k insert into Out;",
    "from S#window.timeBatch(10, 3) select sum(v) as s, count() as n insert into Out;",
    "from S select k, v output every 10 millisec insert into Out;",
    "from S select k, v output last every 10 millisec insert into Out;",
    "from S#window.time(15) select k, v output snapshot every 10 millisec insert into Out;",
    "partition with (k of S) begin from S#window.timeBatch(10) select k, sum(v) as s insert into Out; end;",
]
GAPS = st.lists(st.sampled_from([0, 1, 4, 9, 10, 11, 25, 40]), min_size=1, max_size=12)


def play(query, timers, gaps, *, step=None, cut=None, batch=False):
    """What comes out, chunk by chunk; ``step``: the clock is moved in between by so much at a time."""
    app = f"@app:playback{timers} {STREAM} {query}"
    out, clock, snapshot = [], 1000, None
    rows = []
    for number, gap in enumerate(gaps):
        clock += gap
        rows.append((clock, ("ab"[number % 2], number)))
    parts = [rows] if cut is None else [rows[:cut], rows[cut:]]
    for part in parts:
        with running(app) as runtime:
            if snapshot is not None:
                runtime.restore(snapshot)
            chunks = collect_events(runtime, "Out")
            last = None
            if batch and part:
                times, values = zip(*part, strict=True)
                keys, numbers = zip(*values, strict=True)
                runtime.input_handler("S").send_batch({"k": keys, "v": numbers}, timestamp=times)
            for time, row in () if batch else part:
                while step is not None and last is not None and last + step < time:
                    last += step
                    runtime.advance_clock(last)
                last = time
                runtime.input_handler("S").send(row, time)
            snapshot = runtime.snapshot()
            if part is parts[-1]:
                runtime.advance_clock(rows[-1][0] + 35)
            out += [[event.data for event in chunk] for chunk in chunks]
    return out


@pytest.mark.parametrize("query", QUERIES)
@settings(max_examples=25, deadline=None)
@given(gaps=GAPS)
def test_with_exact_timers_a_jump_equals_small_steps(query, gaps):
    assert play(query, TIMERS[1], gaps) == play(query, TIMERS[1], gaps, step=1)


@pytest.mark.parametrize("timers", TIMERS)
@pytest.mark.parametrize("query", QUERIES)
@settings(max_examples=15, deadline=None)
@given(gaps=GAPS, cut=st.integers(0, 12))
def test_a_restart_and_a_batch_change_nothing(query, timers, gaps, cut):
    want = play(query, timers, gaps)
    assert play(query, timers, gaps, cut=cut) == want
    flat = [row for chunk in want for row in chunk]
    assert [row for chunk in play(query, timers, gaps, batch=True) for row in chunk] == flat


@pytest.mark.parametrize("timers", TIMERS)
@pytest.mark.parametrize("query", QUERIES)
def test_a_jump_over_many_periods_costs_nothing(query, timers):
    with running(f"@app:playback{timers} {STREAM} {query}") as runtime:
        chunks = collect_events(runtime, "Out")
        for time in (1000, 10**15 + 4, 2 * 10**18):
            runtime.input_handler("S").send(("a", 1), time)
        runtime.advance_clock(4 * 10**18)
        # A window of time is empty again before a snapshot that comes with the next event.
        assert (0 if "snapshot" in query else 3) <= sum(map(len, chunks)) <= 6
