"""Windows that read attributes against their oracles; restored windows and partitioned windows."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi._core.record.event import live_events, live_pools
from tests.oracles.windows import ATTRIBUTE_TWINS, Item
from tests.property.test_windows import CLAUSES, told_by_twin

History = list[list[Item] | int]
NAMES = ["A", "B", "C", "D", None]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Chunks of events, most of them of one, and times the clock is moved to."""
    clock = 50_000
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
    history: History = []
    for _ in range(draw(st.integers(0, 25))):
        clock += draw(st.sampled_from([0, 1, 99, 150, 250, 500, 1_600]))
        if draw(st.integers(0, 7)) == 0:
            history.append(clock)
            continue
        size = draw(st.sampled_from([1, 1, 1, 2, 3, 5]))
        times = [clock - draw(st.sampled_from([0, 0, 0, 0, 40, 280, 700])) for _ in range(size)]
        history.append(
            [
                Item(time, (draw(st.sampled_from(names)), time + draw(st.sampled_from([0, 0, -350, 350]))))
                for time in times
            ]
        )
    return history


def app_with(window: str, clause: str, select: str = "select a, v") -> str:
    return (
        "@app:playback define stream S (a string, v long);"
        f"@info(name='q') from S#window.{window} {select} {clause} into Out;"
    )


def listen(runtime: SiddhiAppRuntime, calls: list[Any]) -> None:
    def note(timestamp: int, *sides: list[Event] | None) -> None:
        calls.append((timestamp, *(side and [(event.timestamp, event.data) for event in side] for side in sides)))

    runtime.add_query_callback("q", note)


def play(runtime: SiddhiAppRuntime, history: History) -> None:
    handler = runtime.input_handler("S")
    for step in history:
        if isinstance(step, int):
            runtime.advance_clock(step)
        elif len(step) == 1:
            handler.send(step[0].value, step[0].timestamp)
        else:
            handler.send_events([Event(item.timestamp, item.value) for item in step])


def told_by_engine(app: str, history: History) -> list[Any]:
    calls: list[Any] = []
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        listen(runtime, calls)
        play(runtime, history)
    return calls


@pytest.mark.parametrize("window", ATTRIBUTE_TWINS)
@given(history=histories(), clause=st.sampled_from(sorted(CLAUSES)))
def test_a_window_equals_its_oracle(window: str, history: Any, clause: str) -> None:
    assert told_by_engine(app_with(window, clause), history) == told_by_twin(
        ATTRIBUTE_TWINS[window](), history, CLAUSES[clause]
    )


SELECTIONS = ["select a, v", "select sum(v) as total, count() as n", "select a, max(v) as top, count() as n group by a"]


@pytest.mark.parametrize("window", ATTRIBUTE_TWINS)
@given(
    history=histories(),
    clause=st.sampled_from(sorted(CLAUSES)),
    select=st.sampled_from(SELECTIONS),
    partitioned=st.booleans(),
    data=st.data(),
)
def test_a_restored_window_continues(
    window: str, history: Any, clause: str, select: str, partitioned: bool, data: st.DataObject
) -> None:
    app = app_with(window, clause, select)
    if partitioned:
        definitions, _, query = app.partition("@info")
        app = f"{definitions} partition with (a of S) begin @info{query} end;"
    middle = data.draw(st.integers(0, len(history)))
    calls: list[Any] = []
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        listen(runtime, calls)
        play(runtime, history[:middle])
        snapshot = runtime.snapshot()
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        listen(runtime, calls)
        runtime.restore(snapshot)
        assert runtime.snapshot() == snapshot
        play(runtime, history[middle:])
    told = told_by_engine(app, history)
    if partitioned:
        # Keys whose timers are due at one instant have no order among each other.
        calls, told = sorted(calls, key=repr), sorted(told, key=repr)
    assert calls == told


def rows_of(app: str, steps: list[tuple[int, Any]]) -> list[Any]:
    """What reaches Out, by timestamp and values; a step without values moves the clock."""
    rows: list[Any] = []
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        runtime.add_callback("Out", lambda events: rows.extend((event.timestamp, event.data) for event in events))
        for time, values in steps:
            if values is None:
                runtime.advance_clock(time)
            else:
                runtime.input_handler("S").send(values, time)
    return rows


# Conditions are left out: what they count, the keys of a partition share, as recorded of Siddhi.
@pytest.mark.parametrize("window", [window for window in ATTRIBUTE_TWINS if not window.startswith("expression")])
@given(history=histories(), clause=st.sampled_from(sorted(CLAUSES)))
def test_every_partition_key_has_its_own_window(window: str, history: Any, clause: str) -> None:
    steps = [
        step
        for chunk in history
        for step in ([(chunk, None)] if isinstance(chunk, int) else [(item.timestamp, item.value) for item in chunk])
    ]
    definition = "@app:playback define stream S (a string, v long);"
    query = f"from S#window.{window} select a, v, sum(v) as total {clause} into Out;"
    together = rows_of(f"{definition} partition with (a of S) begin {query} end;", steps)
    for name in NAMES[:-1]:
        own = [(time, values if values is not None and values[0] == name else None) for time, values in steps]
        assert [row for row in together if row[1][0] == name] == rows_of(f"{definition} {query}", own)


HISTORY: History = [
    [Item(time, (NAMES[time // 100 % 5], time)) for time in range(start, start + 240, 60)]
    for start in range(50_000, 54_000, 170)
]


def interrupt(app: str) -> None:
    """Run an app, take it back in the middle of its history, and leave it with what it holds."""
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        listen(runtime, [])
        play(runtime, HISTORY[:12])
        snapshot = runtime.snapshot()
        play(runtime, HISTORY[12:])
        runtime.restore(snapshot)
        play(runtime, HISTORY[12:20])


@pytest.mark.parametrize("window", ATTRIBUTE_TWINS)
def test_a_collected_window_leaves_no_event_and_no_pool(window: str) -> None:
    app = app_with(window, "insert all events", SELECTIONS[2])
    interrupt(app)
    gc.collect()
    before = live_events(), live_pools()
    interrupt(app)
    gc.collect()
    assert (live_events(), live_pools()) == before
