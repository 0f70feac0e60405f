"""Joins by a key or a range find what looking at every event finds, in the same order."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siddhi import Event, SiddhiManager

WINDOWS = (
    # Indexes follow these.
    "length(65)",
    "length(3)",
    "length(0)",
    "time(40)",
    "externalTime(t, 40)",
    "timeLength(60, 70)",
    "timeLength(60, 3)",
    "timeLength(60, 0)",
    "lengthBatch(65)",
    "lengthBatch(4)",
    "lengthBatch(0)",
    "lengthBatch(4, true)",
    "timeBatch(40)",
    "timeBatch(40, 7)",
    "timeBatch(40, true)",
    "timeBatch(40, 7, true)",
    "batch()",
    "batch(2)",
    "externalTimeBatch(t, 40)",
    "externalTimeBatch(t, 40, 7)",
    "externalTimeBatch(t, 40, t)",
    "externalTimeBatch(t, 40, 0, 15)",
    "externalTimeBatch(t, 900, 0, 9)",
    "externalTimeBatch(t, 60, t, 9, true)",
    # These are looked through, as long as they do not hold just what has come out and not expired.
    "session(20)",
    "session(20, k, 10)",
    "sort(5, i, 'desc', n)",
    "frequent(2, k)",
    "lossyFrequent(0.4, 0.2, k)",
    "delay(30)",
    "cron('*/1 * * * * ?')",
    "expression('count() < 5')",
    "expressionBatch('count() < 4')",
    "expressionBatch('count() < 4', true)",
    "expressionBatch('count() < 4', false, true)",
)
SEARCHES = {
    "l.{a} < r.{b}": "(l.{a} + 0) < (r.{b} + 0)",
    "l.{a} >= r.{b} and l.{a} < r.{b} + 3": "(l.{a} + 0) >= r.{b} + 0 and (l.{a} + 0) < r.{b} + 3",
    "r.{b} > l.{a} - 1 and r.{b} <= l.{a} + 2 and l.k != r.k": "(r.{b} + 0) > l.{a} - 1 and (r.{b} + 0) <= l.{a} + 2 and l.k != r.k",
    "l.{a} == r.{b}": "(l.{a} + 0) == (r.{b} + 0)",
    "l.k == r.k": "l.k == r.k or l.k == r.k",
    "r.k == l.k and l.{a} >= r.{b}": "(r.k == l.k or r.k == l.k) and (l.{a} + 0) >= (r.{b} + 0)",
    "2 <= l.{a} and l.{a} <= 5 and r.{b} >= l.{a}": "2 <= l.{a} + 0 and (l.{a} + 0) <= 5 and (r.{b} + 0) >= l.{a} + 0",
}
Row = tuple[str | None, int | None, int | None, float | None]
Step = tuple[str, int, list[Row]]
"""``(stream, ms since the step before, rows of one chunk)``; without rows the clock moves on alone."""


@dataclass(frozen=True)
class Place:
    """Where the join stands: ``stream``, ``named`` (the right window is a named one) or ``keyed`` (in a partition)."""

    kind: str
    timers: str
    puts_out: str


def app(window: str, condition: str, place: Place) -> str:
    """The two sides with a window of the same kind each."""
    attributes = "(k string, i int, n long, d double, t long)"
    right, extra, begin, end = f"R#window.{window} as r", "", "", ""
    if place.kind == "named":
        right = "W as r"
        extra = f"define window W {attributes} {window} output all events; from R insert into W;"
    elif place.kind == "keyed":
        begin, end = "partition with (k of L, k of R) begin", "end;"
    return f"""
        @app:playback{place.timers}
        define stream L {attributes};
        define stream R {attributes};
        {extra} {begin}
        from L#window.{window} as l full outer join {right} on {condition}
        select l.k as lk, l.i as li, l.n as ln, l.d as ld, r.k as rk, r.i as ri, r.n as rn, r.d as rd
        insert {place.puts_out} O;
        {end}
    """


numbers = st.none() | st.integers(0, 9)
reals = st.none() | st.sampled_from([0.0, -0.0, 0.5, 1.5, 2.0, 4.0, 7.5, math.nan, math.inf])
values = st.tuples(st.sampled_from(["a", "b", None]), numbers, numbers, reals)
pauses = st.integers(0, 6) | st.integers(0, 60)
arrivals = st.lists(
    st.tuples(st.sampled_from("LR"), pauses, st.lists(values, max_size=1) | st.lists(values, max_size=5)), max_size=60
)
places = st.builds(
    Place,
    st.sampled_from(["stream", "named", "keyed"]),
    st.sampled_from(["", "(timers='exact')"]),
    st.sampled_from(["into", "expired events into", "all events into"]),
)


def played(text: str, arrivals: list[Step], cut: int, copies: int) -> list[str]:
    """What an app puts out that goes on from a snapshot where the arrivals are cut."""
    out: list[str] = []
    failures: list[str] = []
    saved = b""
    time = 1_000
    for number, part in enumerate((arrivals[:cut], arrivals[cut:])):
        with SiddhiManager().create_siddhi_app_runtime(text) as runtime:
            runtime.add_callback("O", lambda events: out.extend(repr(event) for event in events))
            runtime.handle_exception_with(lambda error, *_: failures.append(repr(error)))
            runtime.start()
            if number:
                runtime.restore(saved)
            for stream, pause, rows in part:
                time += pause
                for _ in range(copies):
                    if rows:
                        runtime.input_handler(stream).send_events([Event(time, (*row, time)) for row in rows])
                    else:
                        runtime.advance_clock(time)
            saved = runtime.snapshot()
    assert failures == []
    return out


@pytest.mark.parametrize("window", WINDOWS)
@settings(max_examples=20, deadline=None)
@given(
    shape=st.sampled_from(sorted(SEARCHES)),
    pair=st.sampled_from([("i", "i"), ("n", "n"), ("d", "d"), ("i", "n"), ("i", "d"), ("n", "i")]),
    place=places,
    arrivals=arrivals,
    cut=st.integers(0, 60),
    copies=st.sampled_from([1, 1, 5]),
)
def test_a_look_up_finds_what_a_scan_finds(
    window: str, shape: str, pair: tuple[str, str], place: Place, arrivals: list[Step], cut: int, copies: int
) -> None:
    a, b = pair
    searched = app(window, shape.format(a=a, b=b), place)
    scanned = app(window, SEARCHES[shape].format(a=a, b=b), place)
    assert played(searched, arrivals, cut, copies) == played(scanned, arrivals, cut, copies)
