"""Named windows: filled by queries, read by queries, callbacks and joins."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi import Event, SiddhiAppRuntime
from siddhi.errors import DefinitionNotExistError
from tests.kit.running import collect, running

S = "@app:playback define stream S (k string, v int); define stream P (k string, n int);"
Published = list[tuple[int, bool]]


def published(runtime: SiddhiAppRuntime, window: str = "W") -> Published:
    """Value and kind of every event a window publishes from now on."""
    found: Published = []
    runtime.add_callback(window, lambda events: found.extend((event["v"], event.is_expired) for event in events))
    return found


def fill(runtime: SiddhiAppRuntime, *values: int, start: int = 1) -> None:
    """Send values to S, a millisecond apart."""
    for i, value in enumerate(values):
        runtime.input_handler("S").send(("a", value), timestamp=start + i)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("", [(1, False), (2, False), (1, True), (3, False)]),
        ("output all events", [(1, False), (2, False), (1, True), (3, False)]),
        ("output current events", [(1, False), (2, False), (3, False)]),
        ("output expired events", [(1, True)]),
    ],
)
def test_a_window_publishes_its_output_event_type(output: str, expected: Published) -> None:
    with running(f"{S} define window W (k string, v int) length(2) {output}; from S insert into W;") as runtime:
        seen = published(runtime)
        fill(runtime, 1, 2, 3)
    assert seen == expected


def test_readers_remove_expired_events() -> None:
    app = f"""{S} define window W (k string, v int) length(2); from S insert into W;
              from W select sum(v) as total insert into O; from W[v > 1] select v insert expired events into X;"""
    with running(app) as runtime:
        totals, gone = collect(runtime, "O"), collect(runtime, "X")
        fill(runtime, 1, 2, 3, 4)
    assert totals == [(1,), (3,), (5,), (7,)]
    assert gone == [(2,)]


def test_queries_can_share_a_window() -> None:
    app = f"""{S} define window W (k string, v int) length(2);
              from S insert into W; from P select k, n as v insert into W;"""
    with running(app) as runtime:
        seen = published(runtime)
        fill(runtime, 1)
        runtime.input_handler("P").send(("b", 2), timestamp=5)
        fill(runtime, 3, start=6)
    assert seen == [(1, False), (2, False), (1, True), (3, False)]


def test_inserted_expired_events_are_current() -> None:
    app = f"""{S} define window W (k string, v int) length(9);
              from S#window.length(1) select k, v insert expired events into W;"""
    with running(app) as runtime:
        seen = published(runtime)
        fill(runtime, 1, 2, 3)
    assert seen == [(1, False), (2, False)]


def test_readers_get_no_resets() -> None:
    app = f"""{S} define window W (k string, v int) lengthBatch(2) output current events;
              define window A (k string, v int) lengthBatch(2); from S insert into W; from S insert into A;
              from W select sum(v) as total insert into OfCurrent; from A select sum(v) as total insert into OfAll;"""
    with running(app) as runtime:
        of_current, of_all = collect(runtime, "OfCurrent"), collect(runtime, "OfAll")
        fill(runtime, 1, 2, 3, 4, 5, 6)
    assert of_current == [(3,), (10,), (21,)]
    assert of_all == [(3,), (7,), (11,)]


def test_time_windows_expire_events() -> None:
    with running(f"{S} define window W (k string, v int) time(1 sec); from S insert into W;") as runtime:
        seen = published(runtime)
        fill(runtime, 1, start=1000)
        fill(runtime, 2, start=2500)
    assert seen == [(1, False), (1, True), (2, False)]


def test_partitions_share_a_named_window() -> None:
    app = f"""{S} define window W (k string, v int) length(2);
              partition with (k of S) begin from S select k, v insert into W; end;
              from W select k, count() as n insert into O;"""
    with running(app) as runtime:
        rows = collect(runtime, "O")
        for i, key in enumerate("abc"):
            runtime.input_handler("S").send((key, i), timestamp=i + 1)
    assert rows == [("a", 1), ("b", 2), ("c", 2)]


JOINED = """define window W (k string, v int) length(2); from S insert into W;
            @info(name='q') from P#window.length(1) join W on P.k == W.k {more} select n, v insert all events into O;"""


@pytest.mark.parametrize("more", ["", "and W.v > 0"])
def test_a_stream_joins_the_events_of_a_named_window(more: str) -> None:
    with running(S + JOINED.format(more=more)) as runtime:
        chunks: list[tuple[list[Any], list[Any]]] = []
        runtime.add_query_callback(
            "q", lambda _, new, old: chunks.append(([e.data for e in new or []], [e.data for e in old or []]))
        )
        fill(runtime, 1, 2)
        runtime.input_handler("P").send(("a", 10), timestamp=5)
        fill(runtime, 3, start=6)
        runtime.input_handler("P").send(("b", 11), timestamp=7)
    assert chunks == [
        ([(10, 1), (10, 2)], []),
        ([(10, 3)], [(10, 1)]),
        ([], [(10, 2), (10, 3)]),
    ]


def test_joins_share_the_index_of_a_named_window() -> None:
    app = f"""{S} define window W (k string, v int) length(3) output expired events; from S insert into W;
              from P as p join W as w on p.k == w.k select v insert into A;
              from W as w join P unidirectional on w.k == P.k and w.v > P.n select v insert into B;"""
    with running(app) as runtime:
        all_of_key, greater = collect(runtime, "A"), collect(runtime, "B")
        fill(runtime, 1, 2, 3, 4)
        runtime.input_handler("P").send(("a", 2), timestamp=9)
        runtime.input_handler("P").send(("b", 2), timestamp=10)
    assert all_of_key == [(2,), (3,), (4,)]
    assert greater == [(3,), (4,)]


def test_a_self_joined_named_window_is_triggered_on_the_left() -> None:
    app = f"""{S} define window W (k string, v int) length(5); from S insert into W;
              from W as x join W as y on x.k == y.k select x.v as a, y.v as b insert into O;"""
    with running(app) as runtime:
        rows = collect(runtime, "O")
        fill(runtime, 1, 2)
    assert rows == [(1, 1), (2, 1), (2, 2)]


def test_a_filter_of_a_named_window_applies_to_arrivals() -> None:
    app = f"""{S} define window W (k string, v int) length(2); from S insert into W;
              from P#window.length(1) join W[v > 1] on P.k == W.k select n, v insert into O;"""
    with running(app) as runtime:
        rows = collect(runtime, "O")
        fill(runtime, 2)
        runtime.input_handler("P").send(("a", 10), timestamp=5)
        fill(runtime, 1, start=6)
        runtime.input_handler("P").send(("a", 11), timestamp=7)
    assert rows == [(10, 2), (11, 2), (11, 1)]


def test_a_reader_can_insert_into_its_window() -> None:
    app = f"""{S} define window W (k string, v int) length(1); from S insert into W;
              from W[v < 3] select k, v + 1 as v insert into W;"""
    with running(app) as runtime:
        seen = published(runtime)
        fill(runtime, 1)
    assert sorted(value for value, expired in seen if not expired) == [1, 2, 3]
    assert sorted(value for value, expired in seen if expired) == [1, 2]


def test_the_events_are_part_of_the_state() -> None:
    app = S + JOINED.format(more="")
    with running(app) as runtime:
        fill(runtime, 1, 2)
        state = runtime.snapshot()
    with running(app) as runtime:
        rows, seen = collect(runtime, "O"), published(runtime)
        fill(runtime, 7, 8, 9)
        runtime.restore(state)
        seen.clear()
        runtime.input_handler("P").send(("a", 10), timestamp=5)
        fill(runtime, 3, start=6)
        assert rows == [(10, 1), (10, 2), (10, 1), (10, 3)]
        assert seen == [(1, True), (3, False)]


def test_events_are_sent_to_streams_not_to_windows() -> None:
    app = f"{S} define window W (k string, v int) length(1); from S insert into W;"
    with running(app) as runtime, pytest.raises(DefinitionNotExistError, match="'W' is a window"):
        runtime.input_handler("W")


def test_events_of_users_do_not_change_when_they_expire() -> None:
    with running(f"{S} define window W (k string, v int) length(1); from S insert into W;") as runtime:
        kept: list[Event] = []
        runtime.add_callback("W", kept.extend)
        fill(runtime, 1, 2)
    assert [(event.data, event.timestamp, event.is_expired) for event in kept] == [
        (("a", 1), 1, False),
        (("a", 1), 2, True),
        (("a", 2), 2, False),
    ]
