"""Every window against a slow oracle: events, chunks, timestamps, timers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SiddhiManager
from tests.oracles.windows import CURRENT, EXPIRED, RESET, TWINS, Batch, Item, Twin

SECOND = 1_000


@st.composite
def histories(draw: st.DrawFn) -> list[list[Item] | int]:
    """Chunks of events, most of them of one, and times the clock is moved to."""
    clock = 50_000
    history: list[list[Item] | int] = []
    for _ in range(draw(st.integers(0, 25))):
        clock += draw(st.sampled_from([0, 1, 99, 250, 500, 1_600]))
        if draw(st.integers(0, 7)) == 0:
            history.append(clock)
            continue
        size = draw(st.sampled_from([1, 1, 1, 2, 3, 5]))
        times = [clock - draw(st.sampled_from([0, 0, 0, 0, 40, 700])) for _ in range(size)]
        history.append([Item(time, time + draw(st.sampled_from([0, 0, -350, 350]))) for time in times])
    return history


def calls_of(chunks: list[Batch], wanted: tuple[str, ...]) -> list[Any]:
    """The query callbacks that chunks lead to: timestamp, current, expired; a chunk with nothing to show leads to none."""
    calls = []
    for chunk in chunks:
        kept = [out for out in chunk if out.kind in wanted or out.kind == RESET]
        sides = {
            kind: [(out.timestamp, out.value) for out in kept if out.kind == kind] or None
            for kind in (CURRENT, EXPIRED)
        }
        if sides[CURRENT] or sides[EXPIRED]:
            calls.append((kept[-1].timestamp, sides[CURRENT], sides[EXPIRED]))
    return calls


def told_by_twin(twin: Twin, history: list[list[Item] | int], wanted: tuple[str, ...]) -> list[Any]:
    now = 0
    calls: list[Any] = []

    def move_to(time: int) -> None:
        nonlocal now
        if time < now:
            return  # a late event: the clock does not move, and no timer runs
        now = time
        while twin.due is not None and twin.due <= now:
            calls.extend(calls_of(twin.wake(now), wanted))

    for step in history:
        if isinstance(step, int):
            move_to(step)
        else:
            move_to(step[-1].timestamp)
            calls += calls_of(twin.arrive(step, now), wanted)
    return calls


def told_by_engine(window: str, history: list[list[Item] | int], clause: str) -> list[Any]:
    calls: list[Any] = []

    def note(timestamp: int, *sides: list[Event] | None) -> None:
        calls.append((timestamp, *(side and [(event.timestamp, event["v"]) for event in side] for side in sides)))

    app = f"@app:playback define stream S (v long); @info(name='q') from S#window.{window} select v {clause} into Out;"
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        runtime.add_query_callback("q", note)
        for step in history:
            if isinstance(step, int):
                runtime.advance_clock(step)
            elif len(step) == 1:
                runtime.input_handler("S").send((step[0].value,), step[0].timestamp)
            else:
                runtime.input_handler("S").send_events([Event(item.timestamp, (item.value,)) for item in step])
    return calls


CLAUSES = {
    "insert": (CURRENT,),
    "insert expired events": (EXPIRED,),
    "insert all events": (CURRENT, EXPIRED),
}


@pytest.mark.parametrize("window", TWINS)
@given(history=histories(), clause=st.sampled_from(sorted(CLAUSES)))
def test_a_window_equals_its_oracle(window: str, history: list[Any], clause: str) -> None:
    assert told_by_engine(window, history, clause) == told_by_twin(TWINS[window](), history, CLAUSES[clause])
