"""A partition gives each key what an app of its own would give it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given

from siddhi import SiddhiManager
from tests.property.app_kit import DEFINITION, Outputs, Query, Sent, queries, run_rows, send_rows, timelines

KEYS = ["A", "B", "C"]


def alone(app: str, belongs: Callable[[Sent], bool], events: list[Sent]) -> list[Any]:
    """What the events that belong give in an app that sees the others only as time that goes by."""
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        outputs = Outputs().watch(runtime)
        for event in events:
            if belongs(event):
                send_rows(runtime, [event])
            else:
                runtime.advance_clock(event.timestamp)
    return outputs.events["Out"]


def has_key(key: str) -> Callable[[Sent], bool]:
    return lambda event: event.values[0] == key


# batch() is left out: inside a partition it announces no batches, as recorded of Siddhi.
@given(query=queries(chunks=False), events=timelines())
def test_every_key_gets_what_an_app_of_its_own_gives(query: Query, events: list[Sent]) -> None:
    text = query.text.format(source="S", target="Out")
    together = run_rows(f"@app:playback {DEFINITION} partition with (t of S) begin {text} end;", events)
    for key in KEYS:
        expected = alone(f"@app:playback {DEFINITION} {text}", has_key(key), events)
        assert [row for row in together.events["Out"] if row[1][0] == key] == expected


@given(query=queries(chunks=False), events=timelines())
def test_inner_streams_are_apart_by_key(query: Query, events: list[Sent]) -> None:
    inner = "select t, count() as n, sum(i) as i insert all events into Out;"
    app = f"@app:playback {DEFINITION} partition with (t of S) begin {{}} end;"
    together = run_rows(
        app.format(query.text.format(source="S", target="#Mid") + f"from #Mid#window.length(2) {inner}"), events
    )
    for key in KEYS:
        text = query.text.format(source="S", target="Mid") + f"from Mid#window.length(2) {inner}"
        expected = alone(f"@app:playback {DEFINITION} {text}", has_key(key), events)
        assert [row for row in together.events["Out"] if row[1][0] == key] == expected


@given(query=queries(clock=False, chunks=False), events=timelines())
def test_ranges_overlap_and_keep_apart(query: Query, events: list[Sent]) -> None:
    text = query.text.format(source="S", target="Out")
    ranges = {"low": "i < 5", "middle": "i >= 3 and i < 12", "high": "i > 10"}
    labels = " or ".join(f"{condition} as '{label}'" for label, condition in ranges.items())
    together = run_rows(f"@app:playback {DEFINITION} partition with ({labels} of S) begin {text} end;", events)
    tests = [lambda i: i < 5, lambda i: 3 <= i < 12, lambda i: i > 10]
    parts = [
        alone(
            f"@app:playback {DEFINITION} {text}",
            lambda event, test=test: event.values[1] is not None and test(event.values[1]),
            events,
        )
        for test in tests
    ]
    assert sorted(map(repr, together.events["Out"])) == sorted(repr(row) for part in parts for row in part)
