"""Joins by a range find what looking at every event finds, in the same order."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siddhi import SiddhiManager

WINDOWS = (
    "length(65)",
    "time(40)",
    "externalTime(t, 40)",
    "timeBatch(40)",
    "lengthBatch(65)",
    "timeLength(60, 70)",
)
RANGES = {
    "l.{a} < r.{b}": "(l.{a} + 0) < (r.{b} + 0)",
    "l.{a} >= r.{b} and l.{a} < r.{b} + 3": "(l.{a} + 0) >= r.{b} + 0 and (l.{a} + 0) < r.{b} + 3",
    "r.{b} > l.{a} - 1 and r.{b} <= l.{a} + 2 and l.k != r.k": "(r.{b} + 0) > l.{a} - 1 and (r.{b} + 0) <= l.{a} + 2 and l.k != r.k",
    "2 <= l.{a} and l.{a} <= 5 and r.{b} >= l.{a}": "2 <= l.{a} + 0 and (l.{a} + 0) <= 5 and (r.{b} + 0) >= l.{a} + 0",
}
Event = tuple[str, int, tuple[str | None, int | None, int | None, float | None]]


def app(window: str, condition: str, named: bool) -> str:
    """The two sides with a window of the same kind each; that of the right one may be a named one."""
    right = f"R#window.{window} as r"
    extra = ""
    if named:
        right = "W as r"
        extra = f"define window W (k string, i int, n long, d double, t long) {window} output all events; from R insert into W;"
    return f"""
        @app:playback
        define stream L (k string, i int, n long, d double, t long);
        define stream R (k string, i int, n long, d double, t long);
        {extra}
        from L#window.{window} as l full outer join {right} on {condition}
        select l.k as lk, l.i as li, l.n as ln, l.d as ld, r.k as rk, r.i as ri, r.n as rn, r.d as rd
        insert all events into O;
    """


numbers = st.none() | st.integers(0, 9)
reals = st.none() | st.sampled_from([0.0, -0.0, 0.5, 1.5, 2.0, 4.0, 7.5, math.nan, math.inf])
values = st.tuples(st.sampled_from(["a", "b", None]), numbers, numbers, reals)
arrivals = st.lists(st.tuples(st.sampled_from("LR"), st.integers(0, 6), values), max_size=60)


def played(text: str, arrivals: list[Event], cut: int, copies: int) -> list[str]:
    out: list[str] = []
    saved = b""
    parts = (arrivals[:cut], arrivals[cut:])
    for number, part in enumerate(parts):
        with SiddhiManager().create_siddhi_app_runtime(text) as runtime:
            runtime.add_callback("O", lambda events: out.extend(repr(event) for event in events))
            runtime.start()
            if number:
                runtime.restore(saved)
            time = 1_000 + sum(step for _, step, _ in parts[0]) * number
            for stream, step, row in part:
                time += step
                for _ in range(copies):
                    runtime.input_handler(stream).send((*row, time), timestamp=time)
            saved = runtime.snapshot()
    return out


@pytest.mark.parametrize("named", [False, True], ids=["stream", "named"])
@settings(max_examples=60, deadline=None)
@given(
    window=st.sampled_from(WINDOWS),
    shape=st.sampled_from(sorted(RANGES)),
    pair=st.sampled_from([("i", "i"), ("n", "n"), ("d", "d"), ("i", "n"), ("i", "d"), ("n", "i")]),
    arrivals=arrivals,
    cut=st.integers(0, 60),
    copies=st.sampled_from([1, 1, 5]),
)
def test_a_range_finds_what_a_scan_finds(
    window: str, shape: str, pair: tuple[str, str], arrivals: list[Event], cut: int, copies: int, named: bool
) -> None:
    a, b = pair
    indexed = app(window, shape.format(a=a, b=b), named)
    scanned = app(window, RANGES[shape].format(a=a, b=b), named)
    assert played(indexed, arrivals, cut, copies) == played(scanned, arrivals, cut, copies)
