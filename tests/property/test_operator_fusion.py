"""A window that keeps only arguments or totals has the same outputs as one that keeps its events.

One more selected aggregator (``max``) makes a query keep its events; the columns both queries have must be the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.planner.app import plan
from siddhi.planner.plan.nodes import PartitionPlan, QueryPlan
from siddhi.query_compiler import parse
from tests.kit.apps import CONDITIONS, DEFINITION, Sent, pieces_of, table_of, timelines

SLIDING = ["length(1)", "length(3)", "length(40)", "time(300)", "time(1 sec)", "externalTime(l, 400)"]
TUMBLING = ["lengthBatch(1)", "lengthBatch(3)", "lengthBatch(40)", "timeBatch(500)", "timeBatch(700, 100)"]
ARGUMENTS = ["i", "l", "f", "d"]
COMPUTED = ["i + 1", "l * 3L", "d * 2.0 + f", "i / 2", "ifThenElse(b, i, 0)", "coalesce(d, 1.5)", "i % 4"]
CHUNKS = ["", "", "", " order by a0 desc", " limit 1", " order by a0 limit 2 offset 1"]
WAYS = ["row", "row", "chunk", "batch", "batch"]


@dataclass(frozen=True)
class Pair:
    """Two apps that differ in one column; ``width`` columns they have in common."""

    compact: str
    kept: str
    width: int


@st.composite
def pairs(draw: st.DrawFn, windows: Sequence[str]) -> Pair:
    window = draw(st.sampled_from(windows))
    sliding = window in SLIDING
    arguments = st.sampled_from(ARGUMENTS) | st.sampled_from(COMPUTED)
    columns = []
    for place in range(draw(st.integers(1, 4))):
        what = draw(st.sampled_from(["sum", "avg", "count"]))
        call = "count()" if what == "count" else f"{what}({draw(arguments)})"
        if sliding and draw(st.integers(0, 5)) == 0:
            call = f"{call} * 2"
        columns.append(f"{call} as a{place}")
    keys = draw(st.sampled_from(["", "", "t", "t, b", "i", "d", "l, t"]))
    grouped = f" group by {keys}" if keys else ""
    plain = draw(st.sampled_from(["", "t, ", "t, i, d, f, l, b, "]))
    filtered = draw(st.none() | st.sampled_from(CONDITIONS))
    having = draw(st.sampled_from(["", "", " having a0 > 1", " having not (a0 is null)"])) if sliding else ""
    rest = f"{grouped}{having}{draw(st.sampled_from(CHUNKS))}"
    source = f"from S{'' if filtered is None else f'[{filtered}]'}#window.{window}"
    definition = "@app:playback " * draw(st.sampled_from([True, True, "time" in window.lower()])) + DEFINITION
    partitioned = draw(st.sampled_from([False, False, True]))
    behind = draw(st.booleans())
    texts = []
    for more in ("", ", max(i) as most"):
        query = f"@info(name='q') {source} select {plain}{', '.join(columns)}{more}{rest} insert into Out;"
        if partitioned:
            query = f"partition with (t of S) begin {query} end;"
        if behind:
            query += " from Out[a0 > 0] select a0 insert into Behind;"
        texts.append(f"{definition} {query}")
    return Pair(texts[0], texts[1], (plain.count(",") if plain else 0) + len(columns))


def query_of(app: str) -> QueryPlan:
    found: list[QueryPlan] = []
    for execution in plan(parse(app)).executions:
        found += execution.queries if isinstance(execution, PartitionPlan) else [execution]
    return found[0]


class Run:
    """Return the outputs of an app, reduced to the common columns."""

    def __init__(self, app: str, width: int, listener: str) -> None:
        self.app, self.width, self.listener = app, width, listener
        self.seen: list[Any] = []
        self.manager = SiddhiManager()
        self.runtime = self.start()

    def start(self) -> SiddhiAppRuntime:
        runtime = self.manager.create_siddhi_app_runtime(self.app)
        runtime.handle_exception_with(
            lambda error, origin, events: self.seen.append((type(error).__name__, str(error)))
        )
        for stream in [name for name in ("Out", "Behind") if name in runtime.stream_definitions]:
            if self.listener == "batches":
                runtime.add_batch_callback(
                    stream,
                    lambda batch, s=stream: [self.note(s, *row) for row in zip(batch.timestamps.tolist(), batch)],
                )
            elif self.listener == "events" or stream == "Behind":
                runtime.add_callback(
                    stream,
                    lambda events, s=stream: (
                        self.seen.append(len(events)) or [self.note(s, e.timestamp, e.data) for e in events]
                    ),
                )
        if self.listener == "query":
            runtime.add_query_callback(
                "q",
                lambda time, new, old: (
                    [self.note("q", e.timestamp, e.data) for e in new or []] + [self.note("old", 0, old)]
                ),
            )
        runtime.start()
        return runtime

    def note(self, stream: str, timestamp: int, values: Any) -> None:
        # repr tells -0.0 from 0.0, one type from another, and NaN is NaN.
        shown = values if values is None else tuple(values)[: self.width]
        self.seen.append((stream, timestamp if timestamp < 10**12 else "now", repr(shown)))

    def send(self, piece: Sequence[Sent], way: str) -> None:
        handler = self.runtime.input_handler("S")
        if way == "row":
            for sent in piece:
                handler.send(sent.values, sent.timestamp)
        elif way == "chunk":
            handler.send_events([Event(sent.timestamp, sent.values) for sent in piece])
        else:
            handler.send_batch(table_of(piece), timestamp="event time")

    def restart(self) -> None:
        snapshot = self.runtime.snapshot()
        self.runtime.shutdown()
        self.runtime = self.start()
        self.runtime.restore(snapshot)  # equal texts are one object from now on: the next snapshot may be shorter

    def end(self) -> list[Any]:
        if self.runtime.plan.playback is not None:
            self.runtime.advance_clock(self.runtime.now + 5_000)
        self.manager.shutdown()
        return self.seen


def check(pair: Pair, events: list[Sent], data: st.DataObject, *, turns: int = 1) -> None:
    assert query_of(pair.compact).fused is not None, pair.compact
    assert query_of(pair.kept).fused is None
    span = max((sent.timestamp for sent in events), default=0) - 9_000
    events = [Sent(sent.timestamp + span * turn, sent.values) for turn in range(turns) for sent in events]
    pieces = data.draw(pieces_of(events))
    ways = [data.draw(st.sampled_from(WAYS)) for _ in pieces]
    stop = data.draw(st.none() | st.integers(0, len(pieces)))
    listener = data.draw(st.sampled_from(["events", "batches", "query"]))
    outputs = []
    for app in (pair.compact, pair.kept):
        run = Run(app, pair.width, listener)
        for place, (piece, way) in enumerate(zip(pieces, ways)):
            if place == stop:
                run.restart()
            run.send(piece, way)
        outputs.append(run.end())
    assert outputs[0] == outputs[1]


@given(pair=pairs(SLIDING), events=timelines(), data=st.data())
def test_a_sliding_window_that_keeps_arguments_equals_one_of_events(
    pair: Pair, events: list[Sent], data: st.DataObject
) -> None:
    check(pair, events, data)


@given(pair=pairs(TUMBLING), events=timelines(), data=st.data())
def test_a_batch_window_that_keeps_totals_equals_one_of_events(
    pair: Pair, events: list[Sent], data: st.DataObject
) -> None:
    check(pair, events, data)


@given(pair=pairs(SLIDING + TUMBLING), events=timelines(most=8), data=st.data())
def test_batches_longer_than_a_block_have_the_same_output(pair: Pair, events: list[Sent], data: st.DataObject) -> None:
    check(pair, events, data, turns=70)
