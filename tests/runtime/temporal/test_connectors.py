"""Times in attributes; sources, sinks and @OnError of temporal streams."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import CtiViolation, EventError, InvalidTemporalEvent
from siddhi.io.broker import InMemoryBroker
from siddhi.temporal import MAX
from tests.kit.running import running


def handler_of(runtime: SiddhiAppRuntime) -> Any:
    return runtime.input_handler("S")


INTERVAL = "@temporal(start = 's', end = 'e') define stream S (id int, s long, e long);"
EDGE = "@temporal(model = 'edge', start = 's', end = 'e') define stream S (id int, s long, e long);"
POINT = "@temporal(model = 'point', start = 's') define stream S (id int, s long);"
COPY = "from S select id insert into Out;"
SOURCE = "@source(type = 'inMemory', topic = 'in')"


def shown(runtime: SiddhiAppRuntime, stream: str = "Out") -> list[tuple[Any, ...]]:
    items: list[tuple[Any, ...]] = []
    runtime.add_temporal_callback(stream, lambda new: items.extend((i.kind, i.start, i.end, i.data) for i in new))
    return items


def test_sent_rows_have_the_lifetimes_of_their_attributes() -> None:
    with running(INTERVAL + COPY) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        s.send((2, 4, 9))
        s.send({"id": 1, "s": 1, "e": 5})
        s.send_events([Event(77, (3, 6, None))])  # the timestamp of the event has no meaning here
        s.send_batch({"id": [4, 5], "s": [7, 8], "e": [9, None]})
        s.cti(MAX)
    assert items[:-1] == [
        ("insert", 1, 5, (1,)),
        ("insert", 4, 9, (2,)),
        ("insert", 7, 9, (4,)),
        ("insert", 6, MAX, (3,)),
        ("insert", 8, MAX, (5,)),
    ]


def test_a_row_without_an_end_is_a_start_of_an_edge_stream() -> None:
    with running(EDGE + COPY) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        s.send((1, 1, None))
        s.send((2, 2, 8))
        s.end_edge(1, 4, (1, 1, None))
        s.cti(MAX)
    assert items[:-1] == [("insert", 1, 4, (1,)), ("insert", 2, 8, (2,))]


def test_points_carry_their_time() -> None:
    with running(POINT + COPY) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        s.send((1, 3))
        s.send_batch({"id": [2], "s": [2]})
        s.cti(MAX)
    assert items[:-1] == [("insert", 2, 3, (2,)), ("insert", 3, 4, (1,))]


def test_an_end_alone_goes_with_the_timestamp() -> None:
    app = "@temporal(end = 'e') define stream S (id int, e long);" + COPY
    with running(app) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        s.send((1, 9), timestamp=2)
        s.send(Event(3, (2, 5)))
        s.send_batch({"id": [3], "e": [4], "t": [1]}, timestamp="t")
        s.cti(MAX)
    assert items[:-1] == [("insert", 1, 4, (3,)), ("insert", 3, 5, (2,)), ("insert", 2, 9, (1,))]


def test_carried_lifetimes_are_checked() -> None:
    with running(INTERVAL + COPY) as runtime:
        s = handler_of(runtime)
        with pytest.raises(InvalidTemporalEvent, match="attribute 's' is null"):
            s.send((1, None, 4))
        with pytest.raises(InvalidTemporalEvent, match="carries the start"):
            s.send((1, 1, 4), timestamp=3)
        with pytest.raises(InvalidTemporalEvent, match="is empty"):
            s.send((1, 4, 4))
        with pytest.raises(InvalidTemporalEvent, match="column 's' is null"):
            s.send_batch({"id": [1], "s": [None], "e": [4]})
        with pytest.raises(EventError, match="expected Event"):
            s.send_events([(1, 1, 4)])
        s.cti(5)
        with pytest.raises(CtiViolation):
            s.send((1, 1, 9))


def test_a_source_gives_the_lifetimes_of_its_rows() -> None:
    with running(f"{SOURCE} {INTERVAL} {COPY}") as runtime:
        items = shown(runtime)
        InMemoryBroker.publish("in", (2, 4, 9))
        InMemoryBroker.publish("in", [Event(-1, (1, 1, 5))])
        handler_of(runtime).cti(MAX)
    assert [item[:3] for item in items[:-1]] == [("insert", 1, 5), ("insert", 4, 9)]


def test_events_of_a_source_start_at_their_timestamp() -> None:
    app = f"{SOURCE} @temporal(model = 'point') define stream S (id int); {COPY}"
    with running(app) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        InMemoryBroker.publish("in", Event(7, (1,)))
        InMemoryBroker.publish("in", (2,))  # now
        s.cti(MAX)
    assert items[0] == ("insert", 7, 8, (1,))
    assert items[1][1] > 1_700_000_000_000


def test_refused_items_of_a_source_go_to_the_fault_stream() -> None:
    app = f"""@OnError(action = 'stream') {SOURCE} {INTERVAL} {COPY}
    from !S select id, s insert into Refused;"""
    with running(app) as runtime:
        refused: list[tuple[Any, ...]] = []
        runtime.add_callback("Refused", lambda events: refused.extend(event.data for event in events))
        items = shown(runtime)
        handler_of(runtime).cti(5)
        for row in ((1, 4, 9), (2, 8, 8), (3, 6, 9)):
            InMemoryBroker.publish("in", row)
        handler_of(runtime).cti(MAX)
    assert refused == [(1, 4), (2, 8)]
    assert items[1] == ("insert", 6, 9, (3,))


def test_refused_items_of_a_source_go_to_the_exception_handler() -> None:
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(f"{SOURCE} {INTERVAL} {COPY}")
        errors: list[tuple[Exception, str]] = []
        runtime.handle_exception_with(lambda error, origin, _events: errors.append((error, origin)))
        runtime.start()
        handler_of(runtime).cti(5)
        InMemoryBroker.publish("in", (1, 4, 9))
    assert [(type(error), origin) for error, origin in errors] == [(CtiViolation, "S")]


@pytest.mark.parametrize(
    ("annotation", "attributes", "published"),
    [
        ("@temporal(start = 's', end = 'e')", "id int, s long, e long", [(1, 1, 5), (2, 4, 9)]),
        (
            "@temporal(model = 'edge', end = 'e')",
            "id int, s long, e long",
            [(1, 0, None), (2, 0, None), (1, 0, 5), (2, 0, 9)],
        ),
        ("@temporal(model = 'point', start = 's')", "id int, s long, e long", [(1, 1, 0), (2, 4, 0)]),
    ],
)
def test_a_sink_fills_in_the_lifetime(annotation: str, attributes: str, published: list[tuple[Any, ...]]) -> None:
    app = f"""{INTERVAL}
    @sink(type = 'inMemory', topic = 'out') {annotation} define stream Out ({attributes});
    from S select id, 0L as s, 0L as e insert into Out;"""
    rows: list[tuple[Any, ...]] = []

    def receive(message: Any) -> None:
        rows.extend(event.data for event in (message if isinstance(message, list) else [message]))

    InMemoryBroker.subscribe("out", receive)
    try:
        with running(app) as runtime:
            s = handler_of(runtime)
            s.send((2, 4, 9))
            s.send((1, 1, 5))
            s.cti(MAX)
    finally:
        InMemoryBroker.unsubscribe("out", receive)
    assert rows == published
