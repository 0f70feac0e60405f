"""Random apps over one stream, random events, and their outputs, for the property tests of whole apps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from siddhi import Event, EventBatch, SiddhiAppRuntime, SiddhiManager

DEFINITION = "define stream S (t string, i int, l long, f float, d double, b bool);"
ARROW = pa.schema(
    [
        ("t", pa.string()),
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("b", pa.bool_()),
        ("event time", pa.int64()),
    ]
)

Values = tuple[Any, ...]


@dataclass(frozen=True)
class Sent:
    """Event to send."""

    timestamp: int
    values: Values


@dataclass
class Outputs:
    """Outputs of streams and queries by name, in order."""

    events: dict[str, list[Any]] = field(default_factory=dict)
    calls: dict[str, list[Any]] = field(default_factory=dict)

    def watch(self, runtime: SiddhiAppRuntime, *, batches: bool = False) -> Outputs:
        """Subscribe to every stream except S and, unless ``batches``, to every query.

        With query callbacks and stream callbacks, a batch is not passed on in blocks; with batch callbacks it is.
        """
        for stream in runtime.stream_definitions:
            if stream == "S" or stream.startswith("#"):
                continue
            seen = self.events.setdefault(stream, [])
            if batches:
                runtime.add_batch_callback(stream, _batch_noter(seen))
            else:
                runtime.add_callback(stream, _event_noter(seen))
        for query in () if batches else runtime.query_names:
            calls = self.calls.setdefault(query, [])
            runtime.add_query_callback(query, _call_noter(calls))
        return self


# Without playback, expired events get the time of the system's clock, which differs between runs.
NOW = range(1_600_000_000_000, 4_000_000_000_000)


def _timeless(value: Any) -> Any:
    return "now" if type(value) is int and value in NOW else value


def _noted(timestamp: int, values: Values) -> tuple[Any, Values]:
    return _timeless(timestamp), tuple(map(_timeless, values))


def _event_noter(seen: list[Any]) -> Callable[[list[Event]], None]:
    return lambda events: seen.extend(_noted(event.timestamp, event.data) for event in events)


def _batch_noter(seen: list[Any]) -> Callable[[EventBatch], None]:
    return lambda batch: seen.extend(map(_noted, batch.timestamps.tolist(), batch))


def _call_noter(calls: list[Any]) -> Callable[[int, list[Event] | None, list[Event] | None], None]:
    def note(timestamp: int, *sides: list[Event] | None) -> None:
        noted = [events and [_noted(event.timestamp, event.data) for event in events] for events in sides]
        calls.append((_timeless(timestamp), *noted))

    return note


def run_rows(app: str, events: Sequence[Sent], *, batches: bool = False) -> Outputs:
    """Send the events one by one."""
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        outputs = Outputs().watch(runtime, batches=batches)
        send_rows(runtime, events)
    return outputs


def send_rows(runtime: SiddhiAppRuntime, events: Sequence[Sent]) -> None:
    handler = runtime.input_handler("S")
    for event in events:
        handler.send(event.values, event.timestamp)


def run_batches(app: str, pieces: Sequence[Sequence[Sent]], *, batches: bool = False) -> Outputs:
    """Send each part with ``send_batch``."""
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        outputs = Outputs().watch(runtime, batches=batches)
        for piece in pieces:
            runtime.input_handler("S").send_batch(table_of(piece), timestamp="event time")
    return outputs


def table_of(events: Sequence[Sent]) -> pa.Table:
    columns: list[list[Any]] = [[event.values[position] for event in events] for position in range(6)]
    columns.append([event.timestamp for event in events])
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, ARROW.types, strict=True)], schema=ARROW)


def mostly(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Generate the values, and sometimes null."""
    return st.one_of(values, values, values, st.none())


ROWS = st.tuples(
    mostly(st.sampled_from(["A", "B", "C"])),
    mostly(st.integers(-5, 20)),
    mostly(st.integers(-(2**33), 2**33)),
    mostly(st.sampled_from([-1.5, 0.0, 0.25, 3.0, 8.5])),
    mostly(st.sampled_from([-100.25, 0.0, 0.5, 1.75, 12.0, 99.5])),
    mostly(st.booleans()),
)


@st.composite
def timelines(
    draw: st.DrawFn, *, most: int = 30, late: bool = True, rows: st.SearchStrategy[Values] = ROWS
) -> list[Sent]:
    """Generate events in order of time, sometimes with a large gap; some are late."""
    clock = 10_000
    events = []
    for row in draw(st.lists(rows, max_size=most)):
        clock += draw(st.sampled_from([0, 1, 60, 250, 400, 1_700]))
        behind = draw(st.sampled_from([0, 0, 0, 0, 30, 900])) if late else 0
        events.append(Sent(clock - behind, row))
    return events


@st.composite
def pieces_of(draw: st.DrawFn, events: list[Sent]) -> list[list[Sent]]:
    """Divide the events at random places."""
    cuts = sorted(draw(st.lists(st.integers(0, len(events)), max_size=4)))
    return [events[start:end] for start, end in zip([0, *cuts], [*cuts, len(events)]) if start < end]


CONDITIONS = ["i > 3", "d <= 1.75 or b", "not (t == 'A')", "t is null", "f + d > 2.0 and l != 0L", "i % 2 == 0"]
CLOCKLESS_WINDOWS = [
    "length(1)",
    "length(3)",
    "length(0)",
    "lengthBatch(1)",
    "lengthBatch(3)",
    "lengthBatch(3, true)",
    "externalTime(l, 400)",
    "externalTimeBatch(l, 400)",
    "sort(2, i)",
    "frequent(2, t)",
    "lossyFrequent(0.3, 0.1, t)",
]
SHARED_WINDOWS = ["expression('count() <= 3')", "expressionBatch('count() <= 3')"]
"""Windows whose aggregators have one state for all keys of a partition, as in Siddhi."""
CHUNK_WINDOWS = ["batch()", "batch(2)"]
CLOCK_WINDOWS = [
    "time(300)",
    "time(1 sec)",
    "timeBatch(500)",
    "timeBatch(700, 100)",
    "timeBatch(600, 0, true)",
    "delay(350)",
    "timeLength(400, 3)",
    "session(300)",
    "session(300, t)",
    "cron('*/2 * * * * ?')",
]
RATES = [
    "all every 500 milliseconds",
    "last every 700 milliseconds",
    "first every 500 milliseconds",
    "snapshot every 700 milliseconds",
    "all every 3 events",
    "last every 2 events",
    "first every 2 events",
]
PLAIN = [
    "t, i, d",
    "t, i + 1 as i, d * 2.0 as d, f, b, l",
    "t, ifThenElse(b, i, 0 - i) as i, coalesce(d, 1.5) as d, eventTimestamp() as at",
]
AGGREGATES = [
    "t, sum(i) as i, count() as d",
    "t, avg(d) as d, min(i) as i, max(f) as most",
    "t, distinctCount(t) as i, sum(d) as d, stdDev(d) as spread",
    "t, max(i) as i, minForever(d) as d, sum(l) as total",
]


@dataclass(frozen=True)
class Query:
    """Query of a random app; ``text`` contains ``{source}`` and ``{target}``."""

    text: str
    uses_clock: bool


@st.composite
def queries(
    draw: st.DrawFn, *, clock: bool = True, chunks: bool = True, rates: bool = False, shared: bool = False
) -> Query:
    """Generate a query of filters, window, selection, aggregates, groups, having, order, rate and event types."""
    condition = draw(st.none() | st.sampled_from(CONDITIONS))
    windows = CLOCKLESS_WINDOWS + (CHUNK_WINDOWS if chunks else []) + (SHARED_WINDOWS if shared else [])
    window = draw(st.none() | st.sampled_from(windows + (CLOCK_WINDOWS if clock else [])))
    behind = draw(st.none() | st.sampled_from(CONDITIONS)) if window else None
    aggregates = draw(st.booleans())
    rate = draw(st.none() | st.sampled_from([rate for rate in RATES if clock or "sec" not in rate])) if rates else None
    types = (
        ["", "", "all events ", "expired events "] if rate is None or "snapshot" not in rate else ["", "all events "]
    )
    parts = [
        "from {source}",
        f"[{condition}]" if condition else "",
        f"#window.{window}" if window else "",
        f"[{behind}]" if behind else "",
        " select ",
        draw(st.sampled_from(AGGREGATES if aggregates else PLAIN)),
        draw(st.sampled_from(["", " group by t", " group by t, b"])) if aggregates else "",
        draw(st.sampled_from(["", "", " having i > 1L"])),
        draw(st.sampled_from(["", "", " order by t desc", " order by t limit 2", " limit 1"])),
        f" output {rate}" if rate else "",
        " insert ",
        draw(st.sampled_from(types)) if window else "",
        "into {target};",
    ]
    return Query("".join(parts), window in CLOCK_WINDOWS or (rate is not None and "sec" in rate))


@st.composite
def apps(draw: st.DrawFn, *, playback: bool | None = None, chunks: bool = True, rates: bool = False) -> str:
    """Generate an app over S: a few queries in parallel and, sometimes, one after another."""
    if playback is None:
        playback = draw(st.booleans())
    clock = draw(st.sampled_from(["@app:playback", "@app:playback(timers = 'exact')"])) if playback else ""
    lines = [clock, DEFINITION]
    first = draw(st.lists(queries(clock=playback, chunks=chunks, rates=rates, shared=True), min_size=1, max_size=3))
    lines += [query.text.format(source="S", target=f"Out{number}") for number, query in enumerate(first)]
    if draw(st.booleans()):
        lines.append(
            "from Out0[i > 0L]#window.length(2) select t, sum(i) as i, avg(d) as d insert all events into Behind;"
        )
    if rates and playback and draw(st.booleans()):
        # Periods that begin when others end.
        lines.append("from Out0#window.timeBatch(500) select t, sum(i) as i insert into Batches;")
        lines.append("from Out0#window.timeBatch(700) select t, i, d insert all events into Wholes;")
    if draw(st.booleans()):
        # Two queries insert into one stream, which gets the rows of a batch from both.
        lines.append("from S select t, i insert into Both;")
        lines.append("from S[b] select t, i insert into Both;")
        lines.append("from Both#window.lengthBatch(2) select t, sum(i) as i insert into Sums;")
    return "\n".join(lines)
