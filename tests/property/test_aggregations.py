"""Answers of an aggregation equal its events grouped by bucket and group, however they were sent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiAppRuntime, SiddhiManager

BASE = 1_488_326_390_000  # ten seconds before a March begins
WORDS = ("sec", "min", "hour", "day", "month", "year")
DURATION_MS = {"sec": 1000, "min": 60_000, "hour": 3_600_000, "day": 86_400_000}
SELECTED = """sum(i) as si, sum(l) as sl, sum(f) as sf, sum(d) as sd, avg(i) as ai, avg(d) as ad, count() as n,
    min(i) as lo, max(d) as hi, distinctCount(t) as dt, distinctCount(i) as di, stdDev(d) as sp, i as last, t as lastT,
    l * 2 as twice"""
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Sent:
    clock: int
    values: tuple[Any, ...]  # t i l f d g h ts


@dataclass(frozen=True)
class Shape:
    by: bool
    group: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def app(self) -> str:
        names = "".join(f"{name}, " for name in self.group)
        group = f" group by {', '.join(self.group)}" if self.group else ""
        by = " by ts" if self.by else ""
        return f"""@app:name('law') @app:playback
            define stream S (t string, i int, l long, f float, d double, g string, h int, ts long);
            @purge(enable='false')
            define aggregation A from S select {names}{SELECTED}{group}
            aggregate{by} every {", ".join(self.words)};"""


def bucket(word: str, time: int) -> int:
    if word in DURATION_MS:
        return time - time % DURATION_MS[word]
    moment = EPOCH + timedelta(milliseconds=time)
    first = datetime(moment.year, 1 if word == "year" else moment.month, 1, tzinfo=timezone.utc)
    return (first - EPOCH) // timedelta(milliseconds=1)


def expected(shape: Shape, events: list[Sent], word: str, start: int, end: int) -> dict[Any, tuple[Any, ...]]:
    rows: dict[Any, list[tuple[int, int, tuple[Any, ...]]]] = {}
    clock = 0
    for number, event in enumerate(events):
        clock = max(clock, event.clock)
        time = event.values[7] if shape.by else clock
        key = tuple(event.values[5 + ("g", "h").index(name)] for name in shape.group)
        if start <= bucket(word, time) < end:
            rows.setdefault((bucket(word, time), *key), []).append((time if shape.by else 0, number, event.values))
    return {
        key: folded([values for *_, values in sorted(found, key=lambda row: row[:2])]) for key, found in rows.items()
    }


def folded(values: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    t, i, long, f, d = ([row[position] for row in values] for position in range(5))

    def total(column: list[Any]) -> Any:
        present = [value for value in column if value is not None]
        return sum(present) if present else None

    doubles = [value for value in d if value is not None]
    mean = math.fsum(doubles) / len(doubles) if doubles else 0.0
    spread = math.sqrt(math.fsum((x - mean) ** 2 for x in doubles) / len(doubles)) if doubles else None
    return (
        total(i),
        total(long),
        total(f),
        total(d),
        None if total(i) is None else total(i) / len(values),
        None if total(d) is None else total(d) / len(values),
        len(values),
        min((x for x in i if x is not None), default=None),
        max(doubles, default=None),
        len(set(t)),
        len(set(i)),
        spread,
        i[-1],
        t[-1],
        None if long[-1] is None else long[-1] * 2,
    )


def same(want: Any, got: Any) -> bool:
    if isinstance(want, float) and isinstance(got, float):
        return math.isclose(want, got, rel_tol=1e-9, abs_tol=1e-6)
    return type(want) is type(got) and bool(want == got)


def check(runtime: SiddhiAppRuntime, shape: Shape, events: list[Sent], word: str, start: int, end: int) -> None:
    found = runtime.query(f"from A within {start}L, {end}L per '{word}' select *")
    width = 1 + len(shape.group)
    got = {event.data[:width]: event.data[width:] for event in found}
    assert len(got) == len(found), "a bucket and group is answered once"
    want = expected(shape, events, word, start, end)
    assert got.keys() == want.keys()
    for key, row in want.items():
        assert all(same(a, b) for a, b in zip(row, got[key], strict=True)), (key, row, got[key])


def send(runtime: SiddhiAppRuntime, events: list[Sent]) -> None:
    handler = runtime.input_handler("S")
    for event in events:
        handler.send(event.values, timestamp=event.clock)


shapes = st.builds(
    Shape,
    by=st.booleans(),
    group=st.sampled_from([(), ("g",), ("h",), ("g", "h")]),
    words=st.lists(st.sampled_from(WORDS), min_size=1, unique=True).map(tuple),
)
texts = st.none() | st.sampled_from(["", "x", "y", "é"])
steps = st.one_of(st.integers(0, 3), st.sampled_from([400, 1000, 1001, 59_999, 3_600_000, 40 * 86_400_000]))
numbers = st.none() | st.integers(-9, 9)
halves = st.none() | st.integers(-40, 40).map(lambda n: n / 2)


@st.composite
def timelines(draw: st.DrawFn) -> list[Sent]:
    clock = BASE
    events = []
    for _ in range(draw(st.integers(0, 40))):
        clock += draw(steps)
        ts = clock - draw(st.sampled_from([0, 0, 1, 700, 1000, 61_000, 11_000_000, 90 * 86_400_000, -5000]))
        values = (draw(texts), draw(numbers), draw(numbers), draw(halves), draw(halves), draw(texts), draw(numbers), ts)
        events.append(Sent(clock - draw(st.sampled_from([0, 0, 0, 2000])), values))
    return events


ranges = st.tuples(
    st.sampled_from([0, BASE - 1_000_000, BASE - 390_000, BASE]), st.sampled_from([1, 10_000, 3_600_000, 10**12])
)


@given(shape=shapes, events=timelines(), data=st.data())
def test_rows_equal_all_events_grouped(shape: Shape, events: list[Sent], data: st.DataObject) -> None:
    middle = data.draw(st.integers(0, len(events)))
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(shape.app) as runtime:
        send(runtime, events[:middle])
        for word in shape.words:
            start, length = data.draw(ranges)
            check(runtime, shape, events[:middle], word, start, start + length)
        send(runtime, events[middle:])
        for word in shape.words:
            check(runtime, shape, events, word, 0, 10**13)


@given(shape=shapes, events=timelines(), data=st.data())
def test_a_restored_aggregation_continues(shape: Shape, events: list[Sent], data: st.DataObject) -> None:
    middle = data.draw(st.integers(0, len(events)))
    with SiddhiManager() as manager:
        with manager.create_siddhi_app_runtime(shape.app) as runtime:
            send(runtime, events[:middle])
            snapshot = runtime.snapshot()
        with manager.create_siddhi_app_runtime(shape.app) as runtime:
            send(runtime, events[:1])
            runtime.restore(snapshot)
            later = max((event.clock for event in events[:middle]), default=0)
            # The clock is not part of a snapshot: the next event tells the time.
            rest = [Sent(max(later, event.clock), event.values) for event in events[middle:]]
            send(runtime, rest)
            for word in shape.words:
                check(runtime, shape, events[:middle] + rest, word, 0, 10**13)
