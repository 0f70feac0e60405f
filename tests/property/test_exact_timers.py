"""Exact timers: each timer runs at its own time, before the event that moves the clock."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager
from tests.kit.apps import (
    DEFINITION,
    Outputs,
    Query,
    Sent,
    apps,
    pieces_of,
    queries,
    run_rows,
    table_of,
    timelines,
)

EXACT = "@app:playback(timers = 'exact')"
WINDOWS = ["session(500, t)", "delay(300)", "timeLength(400, 2)", "timeBatch(500)", "time(300)"]
RATES = ["", "output all every 400 milliseconds", "output last every 1 sec", "output snapshot every 700 milliseconds"]
PATTERNS = [
    "from every a=S -> not S[i > a.i] for 500 milliseconds select a.t as t, a.i as i insert into Out1;",
    "from not S[b] for 1 sec select 'none' as t, 1 as i insert into Out1;",
    "from every a=S[b] -> b=S[t == a.t] within 1 sec select a.t as t, b.i as i insert into Out1;",
]


@st.composite
def timed_apps(draw: st.DrawFn) -> str:
    window, rate = draw(st.sampled_from(WINDOWS)), draw(st.sampled_from(RATES))
    query = f"from S#window.{window} select t, i, sum(i) as n group by t {rate} insert all events into Out0;"
    trigger = draw(st.sampled_from(["", "define trigger T at every 650 milliseconds;"]))
    return f"@app:playback {DEFINITION} {trigger} {query} {draw(st.sampled_from(PATTERNS))}"


def walk(app: str, events: list[Sent]) -> Outputs:
    """Run the app with a clock that advances by single milliseconds before each event.

    Steps from one `next_due` to the next are not enough: ticks without buffered output are not scheduled, but if the clock
    jumps over one of them, the events after the jump come before it.
    """
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        outputs = Outputs().watch(runtime)
        for event in events:
            # Who waits for time to begin sees the first event.
            for instant in range(runtime.now + 1 if runtime.now else event.timestamp, event.timestamp + 1):
                runtime.advance_clock(instant)
            runtime.input_handler("S").send(event.values, event.timestamp)
    return outputs


@given(app=apps(playback=True) | timed_apps(), events=timelines())
def test_exact_timers_equal_a_clock_moved_in_steps(app: str, events: list[Sent]) -> None:
    jumping = app.replace(EXACT, "@app:playback")
    assert run_rows(jumping.replace("@app:playback", EXACT), events) == walk(jumping, events)


@given(app=timed_apps(), events=timelines(), data=st.data())
def test_timers_run_between_rows_of_a_batch(app: str, events: list[Sent], data: st.DataObject) -> None:
    app = app.replace("@app:playback", EXACT)
    outputs = Outputs()
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        outputs.watch(runtime)
        for piece in data.draw(pieces_of(events)):
            runtime.input_handler("S").send_batch(table_of(piece), timestamp="event time")
    assert outputs == run_rows(app, events)


@given(query=queries(chunks=False), events=timelines(late=False))
def test_keys_of_a_partition_have_separate_timers(query: Query, events: list[Sent]) -> None:
    text = query.text.format(source="S", target="Out")
    app = f"{EXACT} {DEFINITION} partition with (t of S) begin {text} end;"
    together = played_out(app, events)
    apart = [
        row
        for key in dict.fromkeys(event.values[0] for event in events)
        for row in played_out(app, [event for event in events if event.values[0] == key])
    ]
    # Up to the last event of all: what one key alone would still wait for, time brings to it here, too.
    assert sorted(together, key=repr) == sorted(apart, key=repr)


def played_out(app: str, events: list[Sent]) -> list[Any]:
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        runtime.collect("Out")
        for event in events:
            runtime.input_handler("S").send(event.values, event.timestamp)
        runtime.advance_to_end()
        batch = runtime.drain()["Out"]
    return [(int(time), *row[:-2]) for time, row in zip(batch.timestamps, batch, strict=True)]


@given(app=apps(playback=True), events=timelines(), data=st.data())
def test_drained_columns_equal_the_rows_of_callbacks(app: str, events: list[Sent], data: st.DataObject) -> None:
    chunks: list[tuple[int, list[Any]]] = []
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        runtime.add_callback("Out0", lambda found: chunks.append((0, [event.data for event in found])))
        for event in events:
            runtime.input_handler("S").send(event.values, event.timestamp)
    drained: list[Any] = []
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        runtime.collect("Out0")
        for piece in data.draw(pieces_of(events)):
            runtime.input_handler("S").send_batch(table_of(piece), timestamp="event time")
            batch = runtime.drain()["Out0"]
            assert pa.record_batch(batch).schema.names[-2:] == ["_timestamp", "_chunk"]
            assert batch["_timestamp"].tolist() == batch.timestamps.tolist()
            drained += [(row[-1], row[:-2]) for row in batch]
    expected = [(number, row) for number, (_, rows) in enumerate(chunks) for row in rows]
    assert drained == expected
