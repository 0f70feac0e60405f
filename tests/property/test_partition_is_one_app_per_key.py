"""A partition has, for each key, the output of an app of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager
from tests.kit.apps import DEFINITION, Outputs, Query, Sent, queries, run_rows, send_rows, timelines

KEYS = ["A", "B", "C"]


def alone(app: str, belongs: Callable[[Sent], bool], events: list[Sent], *, from_first: bool = False) -> list[Any]:
    """What the events that belong give in an app that sees the others only as time that goes by.

    Args:
        from_first: time begins with the first event that belongs.
    """
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        outputs = Outputs().watch(runtime)
        for event in events:
            if belongs(event):
                send_rows(runtime, [event])
                from_first = False
            elif not from_first:
                runtime.advance_clock(event.timestamp)
    return outputs.events["Out"]


def has_key(key: str) -> Callable[[Sent], bool]:
    return lambda event: event.values[0] == key


# batch() is left out: inside a partition it announces no batches, as recorded of Siddhi.
@given(query=queries(chunks=False), events=timelines())
def test_every_key_has_the_output_of_its_own_app(query: Query, events: list[Sent]) -> None:
    text = query.text.format(source="S", target="Out")
    together = run_rows(f"@app:playback {DEFINITION} partition with (t of S) begin {text} end;", events)
    for key in KEYS:
        expected = alone(f"@app:playback {DEFINITION} {text}", has_key(key), events)
        assert [row for row in together.events["Out"] if row[1][0] == key] == expected


@given(query=queries(chunks=False), events=timelines())
def test_inner_streams_are_separate_for_each_key(query: Query, events: list[Sent]) -> None:
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
def test_overlapping_ranges_are_separate_keys(query: Query, events: list[Sent]) -> None:
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


# --- by time, with others


@given(query=queries(chunks=False, rates=True), events=timelines())
def test_rate_limits_have_timers_per_key(query: Query, events: list[Sent]) -> None:
    """Each key begins to tick with its first event, as an app of its own begins with its own."""
    events = sorted(events, key=lambda sent: sent.timestamp)  # the clock of all does not go back for one key
    text = query.text.format(source="S", target="Out")
    together = run_rows(f"@app:playback {DEFINITION} partition with (t of S) begin {text} end;", events)
    for key in KEYS:
        expected = alone(f"@app:playback {DEFINITION} {text}", has_key(key), events, from_first=True)
        assert [row for row in together.events["Out"] if row[1][0] == key] == expected


PATTERNS = [
    "every a=S[i > 3] -> b=S[i < a.i] select a.t as t, a.i as x, b.i as y",
    "every a=S -> b=S[i > a.i] within 500 milliseconds select a.t as t, a.i as x, b.i as y",
    "a=S[i > 3] -> b=S<2:3> select a.t as t, a.i as x, b[last].i as y",
    "every a=S, b=S[i >= a.i]+, c=S[i < a.i] select a.t as t, b[0].i as x, c.i as y",
    "every a=S[i > 3] -> not S[b] for 300 milliseconds select a.t as t, a.i as x",
    "every (a=S[i > 3] and b=S[i < 9]) select a.t as t, a.i as x, b.i as y",
    "every a=S -> not S[i > 10] and b=S[i < 5] select a.t as t, a.i as x, b.i as y",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(events=timelines(late=False))
def test_patterns_are_matched_per_key(pattern: str, events: list[Sent]) -> None:
    text = f"from {pattern} insert into Out;"
    together = run_rows(f"@app:playback {DEFINITION} partition with (t of S) begin {text} end;", events)
    for key in KEYS:
        expected = alone(f"@app:playback {DEFINITION} {text}", has_key(key), events, from_first=True)
        assert [row for row in together.events["Out"] if row[1][0] == key] == expected


OTHERS = [
    "from S#window.length(2) select t, sum(i) as i insert into Out; from U select 'U' as t, l as i insert into Seen;",
    "from S#window.length(2) as s join U#window.length(1) as u on s.i > u.l select s.t as t, s.i as i, u.l as l insert into Out;",
    "from every a=S -> b=U[l > 3L] select a.t as t, a.i as i, b.l as l insert into Out;",
]


@pytest.mark.parametrize("queries_inside", OTHERS)
@given(data=st.data(), events=timelines(late=False))
def test_a_stream_without_key_reaches_all_existing_keys(
    queries_inside: str, data: st.DataObject, events: list[Sent]
) -> None:
    app = f"@app:playback {DEFINITION} define stream U (l long); "
    sent = [(event, data.draw(st.booleans())) for event in events]

    def play(text: str, key: str | None) -> list[Any]:
        outputs = Outputs()
        begun = key is None
        with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app + text) as runtime:
            outputs.watch(runtime)
            for event, without_key in sent:
                if without_key and begun:
                    runtime.input_handler("U").send((event.values[1],), event.timestamp)
                elif not without_key and key in (None, event.values[0]):
                    begun = True
                    send_rows(runtime, [event])
                else:
                    runtime.advance_clock(event.timestamp)
        return outputs.events["Out"]

    together = play(f"partition with (t of S) begin {queries_inside} end;", None)
    for key in KEYS:
        assert [row for row in together if row[1][0] == key] == play(queries_inside, key)


@given(events=timelines(late=False), idle=st.sampled_from([300, 700, 2_000]))
def test_a_purged_key_starts_empty(events: list[Sent], idle: int) -> None:
    """The keys are looked over at fixed times while there are some; those that were idle for long begin at nothing."""
    interval = 100
    app = f"""@app:playback(timers = 'exact') {DEFINITION}
    @purge(enable = 'true', interval = '{interval} milliseconds', idle.period = '{idle} milliseconds')
    partition with (t of S) begin from S select t, count() as n insert into Out; end;"""
    counts: dict[Any, int] = {}
    seen: dict[Any, int] = {}
    expected: list[Any] = []
    look = None
    for event in events:
        while look is not None and look <= event.timestamp:
            for key in [key for key in seen if seen[key] + idle <= look]:
                del seen[key], counts[key]
            look = look + interval if seen else None
        key = event.values[0]
        if key is None:
            continue
        look = event.timestamp + interval if look is None else look
        seen[key] = event.timestamp
        counts[key] = counts.get(key, 0) + 1
        expected.append((event.timestamp, (key, counts[key])))
    assert run_rows(app, events).events["Out"] == expected
