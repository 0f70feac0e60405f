"""A partition gives each key what an app of its own would give it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager
from tests.property.app_kit import DEFINITION, Outputs, Query, Sent, queries, run_rows, send_rows, timelines

KEYS = ["A", "B", "C"]


def alone(app: str, key: str, events: list[Sent]) -> Outputs:
    """What the key's events give in an app that sees the others only as time that goes by."""
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        outputs = Outputs().watch(runtime)
        for event in events:
            if event.values[0] == key:
                send_rows(runtime, [event])
            else:
                runtime.advance_clock(event.timestamp)
    return outputs


# batch() is left out: inside a partition it announces no batches, as recorded of Siddhi.
@given(query=queries(chunks=False), events=timelines())
def test_every_key_gets_what_an_app_of_its_own_gives(query: Query, events: list[Sent]) -> None:
    text = query.text.format(source="S", target="Out")
    together = run_rows(f"@app:playback {DEFINITION} partition with (t of S) begin {text} end;", events)
    for key in KEYS:
        expected = alone(f"@app:playback {DEFINITION} {text}", key, events).events["Out"]
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
        expected = alone(f"@app:playback {DEFINITION} {text}", key, events).events["Out"]
        assert [row for row in together.events["Out"] if row[1][0] == key] == expected


@given(query=queries(clock=False, chunks=False), events=timelines(), data=st.data())
def test_ranges_overlap_and_keep_apart(query: Query, events: list[Any], data: st.DataObject) -> None:
    text = query.text.format(source="S", target="Out")
    ranges = {"low": "i < 5", "middle": "i >= 3 and i < 12", "high": "i > 10"}
    labels = " or ".join(f"{condition} as '{label}'" for label, condition in ranges.items())
    together = run_rows(f"@app:playback {DEFINITION} partition with ({labels} of S) begin {text} end;", events)
    tests = {"low": lambda i: i < 5, "middle": lambda i: 3 <= i < 12, "high": lambda i: i > 10}
    parts = [
        run_rows(
            f"@app:playback {DEFINITION} {text}",
            [event for event in events if event.values[1] is not None and test(event.values[1])],
        ).events["Out"]
        for test in tests.values()
    ]
    assert sorted(map(repr, together.events["Out"])) == sorted(repr(row) for part in parts for row in part)
