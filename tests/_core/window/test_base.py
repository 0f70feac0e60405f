"""What all windows share: state per partition id, copies of events, snapshots."""

from __future__ import annotations

import pytest

from siddhi import Event
from tests.kit.running import collect, running

WINDOWS = [
    "length(2)",
    "time(100)",
    "externalTime(at, 100)",
    "lengthBatch(2)",
    "timeBatch(100)",
    "sort(2, v)",
    "delay(100)",
]
STREAM = "@app:playback define stream S (k string, v int, at long);"


def rows_of(key: str, count: int = 6) -> list[tuple[int, tuple[str, int, int]]]:
    return [(1_000 + 60 * number, (key, number, 1_000 + 60 * number)) for number in range(count)]


@pytest.mark.parametrize("window", WINDOWS)
def test_partition_keys_have_separate_windows(window: str) -> None:
    query = f"from S#window.{window} select k, v insert all events into Out;"
    with running(f"{STREAM} {query}") as runtime:
        alone = collect(runtime, "Out")
        for time, row in rows_of("A"):
            runtime.input_handler("S").send(row, time)
        runtime.advance_clock(9_000)
    with running(f"{STREAM} partition with (k of S) begin {query} end;") as runtime:
        together = collect(runtime, "Out")
        for (time, row), (_, other) in zip(rows_of("A"), rows_of("B"), strict=True):
            runtime.input_handler("S").send(row, time)
            runtime.input_handler("S").send(other, time)
        runtime.advance_clock(9_000)
    for key in "AB":
        assert [row for row in together if row[0] == key] == [(key, v) for _, v in alone]


@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_copies_the_events_of_the_sender(window: str) -> None:
    with running(f"{STREAM} from S#window.{window} select v insert all events into Out;") as runtime:
        rows = collect(runtime, "Out")
        values: list[object] = ["A", 1, 1_000]
        event = Event(1_000, tuple(values))
        runtime.input_handler("S").send(event)
        runtime.input_handler("S").send(event)
        runtime.advance_clock(9_000)
        assert set(rows) == {(1,)}
        assert event == Event(1_000, ("A", 1, 1_000))


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("stop", range(7))
def test_a_window_continues_from_a_snapshot(window: str, stop: int) -> None:
    app = f"{STREAM} from S#window.{window} select k, v insert all events into Out;"
    events = rows_of("A")
    with running(app) as runtime:
        whole = collect(runtime, "Out")
        for time, row in events:
            runtime.input_handler("S").send(row, time)
        runtime.advance_clock(9_000)
    with running(app) as runtime:
        parts = collect(runtime, "Out")
        for time, row in events[:stop]:
            runtime.input_handler("S").send(row, time)
        snapshot = runtime.snapshot()
    with running(app) as runtime:
        runtime.restore(snapshot)
        runtime.add_callback("Out", lambda more: parts.extend(event.data for event in more))
        for time, row in events[stop:]:
            runtime.input_handler("S").send(row, time)
        runtime.advance_clock(9_000)
    assert parts == whole


def test_expired_events_have_their_own_time_in_the_chunk() -> None:
    with running(
        "define stream S (v int); @info(name='q') from S#window.length(1) select v insert all events into O;"
    ) as runtime:
        calls: list[tuple[list[int], list[int]]] = []
        runtime.add_query_callback(
            "q", lambda time, new, old: calls.append(([e["v"] for e in new or []], [e["v"] for e in old or []]))
        )
        for v in range(3):
            runtime.input_handler("S").send((v,), 1_000 + v)
    assert calls == [([0], []), ([1], [0]), ([2], [1])]
