"""Lifetimes and CTIs pass from one app to another through the in-memory broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiTemporalError
from siddhi.io.broker import InMemoryBroker
from siddhi.temporal import MAX, TemporalEvent
from tests.kit.running import running
from tests.oracles import temporal as oracle

SENDER = """{} define stream S (id int, name string);
@sink(type = 'inMemory', topic = 'passed') {} define stream Sent (id int, name string);
from S select id, name insert into Sent;
"""
EDGE, INTERVAL, POINT = (f"@temporal(model = '{model}')" for model in ("edge", "interval", "point"))
RECEIVER = """@source(type = 'inMemory', topic = 'passed'{}) {} define stream R (id int, name string);
{} define stream Out (id int, name string);
from R select id, name insert into Out;
"""


@pytest.fixture(params=["one manager", "two managers"])
def managers(request: pytest.FixtureRequest) -> Iterator[tuple[SiddhiManager, SiddhiManager]]:
    first = SiddhiManager()
    second = first if request.param == "one manager" else SiddhiManager()
    with first, second:
        yield first, second


def items_of(runtime: SiddhiAppRuntime, stream: str = "Out") -> list[TemporalEvent]:
    items: list[TemporalEvent] = []
    runtime.add_temporal_callback(stream, items.extend)
    return items


def test_edges_retractions_and_ctis_arrive(managers: tuple[SiddhiManager, SiddhiManager]) -> None:
    with (
        running(RECEIVER.format("", EDGE, EDGE), manager=managers[1]) as receiver,
        running(SENDER.format(EDGE, EDGE), manager=managers[0]) as sender,
    ):
        items = items_of(receiver)
        s: Any = sender.input_handler("S")
        s.start_edge(1, (1, "a"))
        s.start_edge(2, (2, None))
        s.cti(5)
        assert receiver.input_handler("R").cti_time == 5  # type: ignore[union-attr]
        s.end_edge(1, 7, (1, "a"))
        s.insert(6, 20, (3, "c"))
        s.retract(6, 20, 9, (3, "c"))
        s.cti(8)
        s.cti(MAX)
    assert items == [
        ("start", 1, None, (1, "a")),
        ("start", 2, None, (2, None)),
        ("cti", 5, None, None),
        ("start", 6, None, (3, "c")),
        ("end", 1, 7, (1, "a")),
        ("cti", 8, None, None),
        ("end", 6, 9, (3, "c")),
        ("cti", MAX, None, None),
    ]


ROW = st.tuples(st.integers(0, 2), st.none() | st.sampled_from(["a", "b"]))
CALL = st.one_of(
    st.tuples(st.just("start_edge"), st.integers(0, 9), st.just(0), ROW),
    st.tuples(st.sampled_from(["insert", "end_edge"]), st.integers(0, 9), st.integers(1, 6), ROW),
    st.tuples(st.just("cti"), st.integers(0, 12), st.just(0), ROW),
)


@given(
    calls=st.lists(CALL, max_size=14), shown=st.sampled_from([EDGE, INTERVAL]), taken=st.sampled_from([EDGE, INTERVAL])
)
def test_the_history_is_the_same_whatever_the_models(calls: list[tuple[Any, ...]], shown: str, taken: str) -> None:
    dropping = EDGE.replace(")", ", policy = 'drop')")
    with running(RECEIVER.format("", taken, INTERVAL)) as receiver, running(SENDER.format(dropping, shown)) as sender:
        here, there = items_of(sender, "Sent"), items_of(receiver)
        s: Any = sender.input_handler("S")
        for method, start, length, row in calls:
            if method == "cti":
                s.cti(start)
            elif method == "start_edge":
                s.start_edge(start, row)
            else:
                getattr(s, method)(start, start + length, row)
        s.cti(MAX)
    assert oracle.history(there) == oracle.history(here)


@pytest.mark.parametrize(
    ("shown", "taken", "expected"),
    [
        (POINT, POINT, [(1, 2), (3, 4)]),
        (POINT, EDGE, [(1, 2), (3, 4)]),
        (INTERVAL, POINT, [(1, 2), (3, 4)]),
    ],
)
def test_points_are_taken_by_every_model(shown: str, taken: str, expected: list[tuple[int, int]]) -> None:
    with running(RECEIVER.format("", taken, INTERVAL)) as receiver, running(SENDER.format(INTERVAL, shown)) as sender:
        items = items_of(receiver)
        s: Any = sender.input_handler("S")
        s.insert(3, 8, (2, "b"))
        s.insert(1, 5, (1, "a"))
        s.cti(MAX)
    assert [(item.start, item.end) for item in items[:-1]] == expected


def test_a_late_subscriber_gets_items_from_the_next_cti_on() -> None:
    with running(SENDER.format(EDGE, EDGE)) as sender, ExitStack() as late:
        s: Any = sender.input_handler("S")
        s.start_edge(1, (1, "a"))
        s.cti(5)
        receiver = late.enter_context(running(RECEIVER.format("", EDGE, EDGE)))
        items = items_of(receiver)
        s.start_edge(6, (2, "b"))
        s.end_edge(1, 7, (1, "a"))
        s.cti(8)
    assert items == [("start", 6, None, (2, "b")), ("cti", 8, None, None)]


@pytest.mark.parametrize("shown", [EDGE, INTERVAL])
def test_a_late_subscriber_gets_the_rows_that_are_valid_on_request(shown: str) -> None:
    with running(SENDER.format(EDGE, shown)) as sender, SiddhiManager() as manager:
        s: Any = sender.input_handler("S")
        s.start_edge(1, (1, "a"))
        s.insert(2, 20, (3, None))
        s.insert(2, 4, (9, "gone"))
        s.start_edge(5, (4, "not yet"))
        s.cti(5)
        receiver = manager.create_siddhi_app_runtime(RECEIVER.format(", replay = 'alive'", EDGE, EDGE))
        items = items_of(receiver)
        receiver.start()
        s.end_edge(1, 7, (1, "a"))
        s.cti(8)
    assert items == [
        ("start", 1, None, (1, "a")),
        ("start", 2, None, (3, None)),
        ("cti", 5, None, None),
        ("start", 5, None, (4, "not yet")),
        ("end", 1, 7, (1, "a")),
        ("cti", 8, None, None),
    ]


def test_replayed_rows_are_counted_in_windows() -> None:
    app = (
        RECEIVER.format(", replay = 'alive'", EDGE, EDGE)
        + "from R#window.snapshot() select count() as n insert into Count;"
    )
    with running(SENDER.format(EDGE, EDGE)) as sender, SiddhiManager() as manager:
        s: Any = sender.input_handler("S")
        s.start_edge(1, (1, "a"))
        s.insert(2, 20, (3, None))
        s.cti(5)
        receiver = manager.create_siddhi_app_runtime(app)
        counts = items_of(receiver, "Count")
        receiver.start()
        s.end_edge(1, 7, (1, "a"))
        s.cti(30)
    assert counts == [
        ("insert", 1, 2, (1,)),
        ("cti", 5, None, None),
        ("insert", 2, 7, (2,)),
        ("insert", 7, 20, (1,)),
        ("cti", 30, None, None),
    ]


def test_the_cti_is_the_smallest_one_of_all_publishers() -> None:
    with running(RECEIVER.format("", EDGE, EDGE)) as receiver, SiddhiManager() as manager:
        r: Any = receiver.input_handler("R")
        first, second = (manager.create_siddhi_app_runtime(SENDER.format(EDGE, EDGE)) for _ in range(2))
        first.start()
        second.start()
        first.input_handler("S").cti(5)  # type: ignore[union-attr]
        second.input_handler("S").cti(9)  # type: ignore[union-attr]
        first.input_handler("S").cti(7)  # type: ignore[union-attr]
        assert r.cti_time == 7
        first.shutdown()
        assert r.cti_time == 9


def test_classical_subscribers_get_the_rows() -> None:
    rows: list[Any] = []

    def receive(message: Any) -> None:
        events = message if isinstance(message, list) else [message]
        rows.extend((event.timestamp, event.data, event.end) for event in events)

    InMemoryBroker.subscribe("passed", receive)
    try:
        with running(RECEIVER.format("", EDGE, EDGE)) as receiver, running(SENDER.format(EDGE, INTERVAL)) as sender:
            items = items_of(receiver)
            s: Any = sender.input_handler("S")
            s.insert(1, 4, (1, "a"))
            s.cti(5)
    finally:
        InMemoryBroker.unsubscribe("passed", receive)
    assert rows == [(1, (1, "a"), 4)]
    assert [item.kind for item in items] == ["start", "end", "cti"]


def test_events_with_ends_are_lifetimes_for_a_temporal_source() -> None:
    with running(RECEIVER.format("", INTERVAL, INTERVAL)) as receiver:
        items = items_of(receiver)
        InMemoryBroker.publish("passed", [Event(1, (1, "a"), end=4), Event(2, (2, None), end=MAX)])
        receiver.input_handler("R").cti(MAX)  # type: ignore[union-attr]
    assert [item[:3] for item in items[:-1]] == [("insert", 1, 4), ("insert", 2, MAX)]


def test_items_that_the_receiver_refuses_go_to_its_error_handling() -> None:
    refused: list[Any] = []
    app = "@OnError(action = 'stream')" + RECEIVER.format("", EDGE, EDGE) + "from !R select id insert into Refused;"
    with running(app) as receiver, running(SENDER.format(EDGE, EDGE)) as sender:
        receiver.add_callback("Refused", lambda events: refused.extend(event.data for event in events))
        receiver.input_handler("R").cti(4)  # type: ignore[union-attr]
        s: Any = sender.input_handler("S")
        s.start_edge(1, (1, "late"))
        s.start_edge(4, (2, "in time"))
        s.cti(5)
    assert refused == [(1,)]


def test_valid_rows_are_part_of_the_senders_snapshot() -> None:
    app = "@app:name('Sender')" + SENDER.format(EDGE, EDGE)
    with running(app) as sender:
        s: Any = sender.input_handler("S")
        s.start_edge(1, (1, "a"))
        s.cti(5)
        state = sender.snapshot()
    with running(app) as sender, SiddhiManager() as manager:
        sender.restore(state)
        receiver = manager.create_siddhi_app_runtime(RECEIVER.format(", replay = 'alive'", EDGE, EDGE))
        items = items_of(receiver)
        receiver.start()
        sender.input_handler("S").cti(6)  # type: ignore[union-attr]
    assert items == [("start", 1, None, (1, "a")), ("cti", 5, None, None), ("cti", 6, None, None)]


def test_an_async_receiver_keeps_the_order() -> None:
    app = "@async " + RECEIVER.format("", EDGE, INTERVAL)
    with running(app) as receiver, running(SENDER.format(EDGE, EDGE)) as sender:
        items = items_of(receiver)
        s: Any = sender.input_handler("S")
        s.insert(1, 4, (1, "a"))
        s.insert(3, 9, (2, "b"))
        s.cti(5)
        s.cti(MAX)
        sender.shutdown()
        receiver.shutdown()
    assert [item[:3] for item in items if item.kind == "insert"] == [("insert", 1, 4), ("insert", 3, 9)]


LOOP = """@app:name('{}') @source(type = 'inMemory', topic = '{}') @temporal(model = 'edge', policy = 'drop') define stream R (v int);
@sink(type = 'inMemory', topic = '{}') @temporal(model = 'edge') define stream S (v int);
from R{} select v insert into S;"""


def test_a_loop_through_several_apps_is_an_error_with_its_topics() -> None:
    errors: list[tuple[Exception, str]] = []
    with (
        running(LOOP.format("First", "back", "there", "#temporal:shift(10)")) as first,
        running(LOOP.format("Second", "there", "back", "")) as second,
    ):
        for runtime in (first, second):
            runtime.handle_exception_with(lambda error, origin, _: errors.append((error, origin)))
        handler: Any = first.input_handler("R")
        handler.insert(5, 6, (1,))
        handler.cti(20)  # each round is 10 ms later
        assert len(errors) == 1
        assert handler.cti_time < 1000
        handler.insert(handler.cti_time, handler.cti_time + 1, (1,))
    error, origin = errors[0]
    assert isinstance(error, SiddhiTemporalError)
    assert origin == "sink of stream 'S'"
    assert "topic 'there'" in str(error)
    assert "there -> back -> there" in str(error)


def test_ctis_that_come_back_unchanged_end_a_loop() -> None:
    with (
        running(LOOP.format("First", "back", "there", "")) as first,
        running(LOOP.format("Second", "there", "back", "")) as second,
    ):
        for runtime in (first, second):
            runtime.handle_exception_with(lambda error, *_: pytest.fail(str(error)))
        first.input_handler("R").cti(20)  # type: ignore[union-attr]
        assert second.input_handler("R").cti_time == 20  # type: ignore[union-attr]
