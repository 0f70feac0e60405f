"""The output of an app that corrects late events, with retractions applied, is that of the events in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.runtime.assembly.corrections import CorrectedStreams
from siddhi.temporal import TemporalEvent
from tests.kit.apps import AGGREGATES, DEFINITION, ROWS, Values, apps, queries

BOUND = 3_000
CORRECTED = f"@temporal(model = 'point', policy = 'correct', bound = '{BOUND}') "
OTHER = DEFINITION.replace("stream S", "stream R")

PATTERNS = [
    "every e1=S[i > 3] -> e2=S[t == e1.t] select e1.i as x, e2.i as y",
    "every e1=S[b] -> not S[t == 'A'] for 400 milliseconds select e1.i as x, 0 as y",
    "every not S[b] for 500 milliseconds select 1 as x, 0 as y",
    "not S[b] for 300 milliseconds -> e2=S[i > 2] select e2.i as x, 0 as y",
    "every e1=S[i > 0] -> not S[i < 0] and e2=S[b] select e1.i as x, e2.i as y",
    "every e1=S[b] and e2=S[not b] -> e3=S select e1.i as x, e3.i as y",
    "every e1=S[b] or e2=S[t == 'B'] -> e3=S[i > 3] select e3.i as x, e1.i as y",
    "every e1=S<2:3> -> e2=S[i < 5] select e1[0].i as x, e2.i as y",
    "every (e1=S -> e2=S[i > e1.i]) within 2 sec select e1.i as x, e2.i as y",
    "every e1=S, e2=S[i > e1.i]+, e3=S[not b] select e1.i as x, e3.i as y",
    "every e1=S, e2=R select e1.i as x, e2.i as y",
    "every e1=S[b]?, e2=S[not b] select e1.i as x, e2.i as y",
    "every e1=S -> e2=R[t == e1.t] -> not S[t == e1.t] for 600 milliseconds select e1.i as x, e2.i as y",
    "every e1=S[b], not R[b] for 250 milliseconds select e1.i as x, 0 as y",
]
JOINS = [
    "S#window.time(500) as l join R#window.length(3) as r on l.t == r.t select l.i as x, r.i as y",
    "S#window.length(2) as l left outer join R#window.time(700) as r on l.i > r.i select l.i as x, r.i as y",
    "S#window.lengthBatch(3) as l full outer join R#window.timeBatch(600) as r on l.t == r.t select l.i as x, r.i as y",
    "S#window.time(1 sec) as l unidirectional join S#window.length(4) as r on l.b == r.b select l.i as x, r.i as y",
    "S as l join T as r on l.t == r.t select l.i as x, r.i as y",
    "S as l join W as r on l.t == r.t select l.i as x, r.i as y",
    "R as l left outer join A as r on l.t == r.t within 0L, 9999999999999L per 'seconds' select l.i as x, r.n as y",
]
CHANGES = [
    "from R[not (t is null)] select t, i insert into T;",
    "from R[not (t is null)] select t, i update or insert into T on T.t == t;",
    "from R[not (t is null)] select t, i update T set T.i = i on T.t == t;",
    "from S[i > 15] select t, i delete T on T.t == t;",
]
TABLES = ["define table T (t string, i int);", "@primaryKey('t') define table T (t string, i int);"]
WINDOWS = ["length(3)", "time(800)", "lengthBatch(2)", "timeBatch(900)"]
MORE = [
    "from S[T.t == t in T] select i as x, 0 as y insert into Known;",
    "from R select * insert into W;",
    "from W select t, sum(i) as n group by t insert all events into Window;",
    "from Tick join T select T.t as t, T.i as i insert into Ticks;",
    "from Tick#window.length(2) select count() as n insert into Counted;",
]
SHARED = """
define trigger Tick at every 700 milliseconds;
define window W (t string, i int, l long, f float, d double, b bool) {window} output all events;
define aggregation A from S select t, sum(i) as n, count() as c group by t aggregate every sec ... min;
"""


@st.composite
def partitions(draw: st.DrawFn) -> str:
    """Generate a partition with an inner stream and sometimes a pattern."""
    inner = draw(queries(rates=True)).text.format(source="S", target="#Inner")
    lines = [inner, "from #Inner#window.length(2) select t, count() as n insert into Parted;"]
    if draw(st.booleans()):
        pattern = draw(st.sampled_from([each for each in PATTERNS if "R" not in each]))
        lines.append(f"from {pattern} insert into PartedPairs;")
    if draw(st.booleans()):
        lines.append(
            f"from S#window.{draw(st.sampled_from(WINDOWS))} select {draw(st.sampled_from(AGGREGATES))} insert into PartedSums;"
        )
    keys = draw(st.sampled_from(["t of S", "b of S", "i > 3 as 'high' or i <= 3 as 'low' of S"]))
    purge = draw(st.sampled_from(["", "", "@purge(enable='true', interval='1 sec', idle.period='2 sec') "]))
    return f"{purge}partition with ({keys}) begin {' '.join(lines)} end;"


@st.composite
def whole_apps(draw: st.DrawFn) -> str:
    """Generate an app over S and R with every kind of state."""
    text = draw(apps(playback=True, rates=True))
    shared = SHARED.format(window=draw(st.sampled_from(WINDOWS)))
    lines = [text.replace(DEFINITION, "\n".join([DEFINITION, OTHER, draw(st.sampled_from(TABLES)), shared]))]
    pairs = draw(st.lists(st.sampled_from(PATTERNS), max_size=2)) + draw(st.lists(st.sampled_from(JOINS), max_size=2))
    lines += [f"from {pair} insert into Pairs{number};" for number, pair in enumerate(pairs)]
    lines += draw(st.lists(st.sampled_from(CHANGES), max_size=3))
    lines += draw(st.lists(st.sampled_from(MORE[:3]), max_size=2))
    if draw(st.booleans()):
        lines += MORE[3:]
    if draw(st.booleans()):
        lines.append(draw(partitions()))
    return "\n".join(lines)


@dataclass(frozen=True)
class Arrival:
    """An event, or (without a row) a move of the clock."""

    stream: str
    time: int
    row: Values


@st.composite
def arrivals(draw: st.DrawFn, most: int = 30) -> list[Arrival]:
    """Generate events that are late by up to the bound, in order of arrival."""
    clock = 10_000
    sent: list[tuple[int, Arrival]] = []
    for row in draw(st.lists(ROWS, min_size=draw(st.sampled_from([0, 8, 20])), max_size=most)):
        clock += draw(st.sampled_from([0, 1, 60, 250, 400, 1_700]))
        delay = draw(st.sampled_from([0, 0, 0, 1, 300, 1_000, BOUND]))
        sent.append((clock + delay, Arrival(draw(st.sampled_from("SSR")), clock, row)))
    sent.sort(key=lambda one: one[0])
    return [arrival for _, arrival in sent]


@st.composite
def pieces_of(draw: st.DrawFn, events: list[Arrival]) -> list[list[Arrival]]:
    """Divide the events into batches, most of them of one event."""
    pieces: list[list[Arrival]] = []
    left = list(events)
    while left:
        size = draw(st.sampled_from([1, 1, 1, 2, 5]))
        pieces.append(left[:size])
        left = left[size:]
    return pieces


class Told:
    """What an app has said, with retractions applied: rows of streams, and what queries and named windows changed."""

    def __init__(self, runtime: SiddhiAppRuntime, *, corrects: bool, queries: bool) -> None:
        self.rows: dict[str, Counter[Any]] = {}
        self.changed: dict[str, Counter[Any]] = {}
        if queries:
            self.changed = {name: Counter() for name in (*runtime.query_names, "W")}
            for query in runtime.query_names:
                runtime.add_query_callback(query, _balanced(self.changed[query]))
            change_window = _balanced(self.changed["W"])
            runtime.add_callback("W", lambda events: change_window(0, events, None))
        for stream in runtime.stream_definitions:
            if stream not in ("S", "R") and not stream.startswith("#"):
                rows = self.rows[stream] = Counter()
                if corrects:
                    runtime.add_temporal_callback(stream, _applied(rows))
                else:
                    runtime.add_callback(stream, _counted(rows))


def _applied(rows: Counter[Any]) -> Callable[[list[TemporalEvent]], None]:
    def note(items: list[TemporalEvent]) -> None:
        for item in items:
            key = (item.start, repr(item.data))
            rows[key] += 1 if item.kind == "insert" else -1
            assert rows[key] >= 0, f"retracted, but never said: {item}"
            if not rows[key]:
                del rows[key]

    return note


def _counted(rows: Counter[Any]) -> Callable[[list[Event]], None]:
    return lambda events: rows.update((event.timestamp, repr(event.data)) for event in events)


def _balanced(rows: Counter[Any]) -> Callable[[int, list[Event] | None, list[Event] | None], None]:
    def note(_: int, current: list[Event] | None, expired: list[Event] | None) -> None:
        for event in (*(current or ()), *(expired or ())):
            key = (event.timestamp, repr(event.data))
            rows[key] += -1 if event.is_expired else 1
            if not rows[key]:
                del rows[key]

    return note


def content(runtime: SiddhiAppRuntime) -> list[Any]:
    """Return what is in the table and the aggregation."""
    rows = [sorted(repr(event.data) for event in runtime.query("from T select t, i;"))]
    rows.append(
        sorted(
            repr(event.data)
            for event in runtime.query("from A within 0L, 9999999999999L per 'seconds' select AGG_TIMESTAMP, t, n, c;")
        )
    )
    return rows


def in_order(app: str, events: Sequence[Arrival], until: int | None, *, queries: bool) -> tuple[Any, ...]:
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        told = Told(runtime, corrects=False, queries=queries)
        for event in sorted(events, key=lambda event: event.time):
            runtime.input_handler(event.stream).send(event.row, event.time)
        if until is not None:
            runtime.advance_clock(until)
        return told.rows, told.changed, content(runtime), runtime.now


def corrected(
    app: str, pieces: Sequence[Sequence[Arrival]], until: int | None, spacing: int, late_output: int, *, queries: bool
) -> tuple[Any, ...]:
    text = app
    for definition in (DEFINITION, OTHER):
        text = text.replace(definition, CORRECTED + definition)
    before, CorrectedStreams.spacing = CorrectedStreams.spacing, spacing
    try:
        with SiddhiManager() as manager, manager.create_siddhi_app_runtime(text) as runtime:
            told = Told(runtime, corrects=True, queries=queries)
            for number, piece in enumerate(pieces):
                if number == late_output:
                    runtime.add_callback("S", lambda events: None)
                handlers: Any = {stream: runtime.input_handler(stream) for stream in "SR"}
                for stream, together in groupby(piece, lambda one: one.stream):
                    handlers[stream].send_events([Event(one.time, one.row) for one in together])
            if until is not None:
                runtime.advance_clock(until)
            assert all(runtime.input_handler(stream).dropped == 0 for stream in "SR")  # type: ignore[union-attr]
            return told.rows, told.changed, content(runtime), runtime.now
    finally:
        CorrectedStreams.spacing = before


USUAL = (settings.default or settings()).max_examples
PAIRS = settings(max_examples=10_000 if USUAL >= 5_000 else USUAL // 2)
"""Pairs of an app and its input: 10,000 with the profile `thorough`."""


@PAIRS
@given(app=whole_apps(), events=arrivals(), data=st.data())
def test_corrected_output_is_that_of_events_in_order(app: str, events: list[Arrival], data: st.DataObject) -> None:
    spacing = data.draw(st.sampled_from([0, 1, 2, 3, 7]))
    late_output = data.draw(st.integers(0, 40))
    until = data.draw(st.sampled_from([None, 60_000]))
    pieces = data.draw(pieces_of(events))
    queries = data.draw(st.booleans())
    said = corrected(app, pieces, until, spacing, late_output, queries=queries)
    assert said == in_order(app, events, until, queries=queries)
