"""Events that come out of temporal streams have the end of their lifetime."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import pytest

from siddhi import Event
from siddhi.errors import DefinitionNotExistError, EventError
from siddhi.persistence.error_store import ErrorEntry, ErrorOccurrence, InMemoryErrorStore
from siddhi.temporal import MAX
from tests.kit.running import running

APP = """
@temporal(model = 'edge') define stream S (id int);
@temporal(model = '{}') define stream Out (id int);
from S select id insert into Out;
"""


def events_of(model: str) -> list[Event]:
    events: list[Event] = []
    with running(APP.format(model)) as runtime:
        runtime.add_callback("Out", events.extend)
        s: Any = runtime.input_handler("S")
        s.start_edge(1, (1,))
        s.end_edge(1, 5, (1,))
        s.start_edge(3, (2,))
        s.cti(8)
    return events


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("point", [(1, 2, False), (3, 4, False)]),
        ("interval", [(1, 5, False)]),
        ("edge", [(1, None, False), (3, None, False), (5, 5, True)]),
    ],
)
def test_events_have_the_end_that_their_model_shows(model: str, expected: list[tuple[Any, ...]]) -> None:
    assert [(event.timestamp, event.end, event.is_expired) for event in events_of(model)] == expected


def test_a_lifetime_that_never_ends_has_the_end_max() -> None:
    events: list[Event] = []
    with running("@temporal define stream S (id int);") as runtime:
        runtime.add_callback("S", events.extend)
        s: Any = runtime.input_handler("S")
        s.insert(1, MAX, (1,))
        s.cti(MAX)
    assert [event.end for event in events] == [MAX]
    assert pickle.loads(pickle.dumps(events)) == events


def test_every_callback_has_a_list_of_its_own_and_can_be_removed() -> None:
    first: list[Event] = []
    second: list[Event] = []

    def take(events: list[Event]) -> None:
        first.extend(events)
        events.clear()

    with running(APP.format("interval")) as runtime:
        runtime.add_callback("Out", take)
        attachment = runtime.on("Out", second.extend)
        s: Any = runtime.input_handler("S")
        for start in (1, 10):
            s.insert(start, start + 2, (start,))
            s.cti(start + 5)
            attachment.detach()
    assert [event.timestamp for event in first] == [1, 10]
    assert [event.timestamp for event in second] == [1]


def test_a_failing_callback_does_not_stop_the_others() -> None:
    events: list[Event] = []
    errors: list[tuple[str, int]] = []

    def fail(_: list[Event]) -> None:
        raise ValueError

    with running(APP.format("interval")) as runtime:
        runtime.handle_exception_with(lambda error, origin, failed: errors.append((origin, len(failed))))
        runtime.add_callback("Out", fail)
        runtime.add_callback("Out", events.extend)
        s: Any = runtime.input_handler("S")
        s.insert(1, 2, (1,))
        s.cti(5)
    assert errors == [("callback of 'Out'", 1)]
    assert len(events) == 1


def test_classical_queries_and_their_events_have_no_ends() -> None:
    events: list[Event] = []
    with running(APP.format("interval") + "from S#window.length(1) select id insert into C;") as runtime:
        runtime.add_callback("C", events.extend)
        s: Any = runtime.input_handler("S")
        s.insert(1, 2, (1,))
        s.cti(5)
    assert [event.end for event in events] == [None]
    assert repr(events[0]) == "Event(1, (id=1))"


def test_the_end_is_part_of_the_value() -> None:
    event = Event(1, (2,), end=5)
    assert event == Event(1, (2,), False, 5)
    assert event not in (Event(1, (2,)), Event(1, (2,), end=6))
    assert Event(1, (2,), end=0) != Event(1, (2,))
    assert hash(event) == hash(Event(1, (2,), end=5))
    assert repr(event) == "Event(1, (2,), end=5)"
    assert repr(Event(5, (2,), True, 5)) == "Event(5, (2,), expired, end=5)"


@pytest.mark.parametrize("end", ["soon", 1 << 63, 1.5])
def test_an_end_is_a_time(end: Any) -> None:
    with pytest.raises(EventError, match="the end of an event is an integer"):
        Event(1, (2,), end=end)


def test_ends_survive_pickling_and_copying() -> None:
    (event,) = events_of("interval")
    for made in (pickle.loads(pickle.dumps(event)), copy.copy(event), copy.deepcopy(event)):
        assert made == event
        assert (made.end, made["id"]) == (5, 1)
    assert pickle.loads(pickle.dumps(Event(1, (2,), end=5))).end == 5


def test_ends_survive_an_error_store() -> None:
    store = InMemoryErrorStore()
    entry = ErrorEntry(
        id=0,
        timestamp=1,
        app="A",
        name="S",
        occurrence=ErrorOccurrence.STORE_ON_STREAM_ERROR,
        events=(Event(1, (2,), end=5), Event(1, (2,), end=MAX), Event(1, (2,))),
        cause="",
        stack_trace="",
    )
    store.save(entry)
    store.flush()
    (loaded,) = store.load_error_entries("A")
    assert loaded.events == entry.events


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("point", [(3, [1, 3], None)]),
        ("interval", [(1, [1], None)]),
        ("edge", [(5, [1, 3], [5])]),
    ],
)
def test_query_callbacks_get_what_the_query_emits(model: str, expected: list[tuple[Any, ...]]) -> None:
    app = (
        APP.format(model).replace("from S", "@info(name = 'copy') from S") + "from S[id > 5] select id insert into Out;"
    )
    calls: list[tuple[Any, ...]] = []

    def receive(timestamp: int, current: list[Event] | None, expired: list[Event] | None) -> None:
        calls.append((timestamp, *(events and [event.timestamp for event in events] for events in (current, expired))))

    with running(app) as runtime:
        runtime.add_query_callback("copy", receive)
        s: Any = runtime.input_handler("S")
        s.start_edge(1, (1,))
        s.end_edge(1, 5, (1,))
        s.start_edge(3, (2,))
        s.start_edge(4, (9,))  # of the other query, too: both fill the stream
        s.end_edge(4, 6, (9,))
        s.retract(4, 6, 4, (9,))
        s.cti(8)
        runtime.remove_callback(receive)
        s.start_edge(9, (3,))
        s.cti(10)
    assert calls == expected


@dataclass
class Row:
    """What the app shows, as an object."""

    id: int


def test_functions_of_streams_and_queries_get_objects_of_a_class() -> None:
    found: list[Any] = []
    with running(APP.format("interval").replace("from S", "@info(name = 'copy') from S")) as runtime:
        runtime.on("Out", found.extend, type=Row)
        runtime.on("copy", lambda timestamp, current, expired: found.append(current), type=Row)
        with pytest.raises(TypeError, match="query 'copy'"):
            runtime.on("copy", lambda timestamp, current, expired: None, type=InMemoryErrorStore)
        s: Any = runtime.input_handler("S")
        s.start_edge(1, (1,))
        s.end_edge(1, 2, (1,))
        s.cti(5)
    assert sorted(found, key=str) == [Row(1), [Row(1)]]


def test_query_callbacks_do_not_change_statistics() -> None:
    app = "@app:statistics('true')" + APP.format("interval").replace("from S", "@info(name = 'copy') from S")
    with running(app) as runtime:
        runtime.add_query_callback("copy", lambda timestamp, current, expired: None)
        s: Any = runtime.input_handler("S")
        s.insert(1, 2, (1,))
        s.cti(5)
        assert runtime.statistics.queries["copy"].events == 1


def test_restored_query_callbacks_go_on() -> None:
    app = "@app:name('Restored')" + APP.format("interval").replace("from S", "@info(name = 'copy') from S")
    states = []
    ends: list[Any] = []
    for number in range(2):
        with running(app) as runtime:
            if number:
                runtime.restore(states[0])
            runtime.add_query_callback(
                "copy", lambda timestamp, current, expired: ends.extend(e.end for e in current or ())
            )
            s: Any = runtime.input_handler("S")
            if number:
                s.end_edge(1, 9, (1,))
                s.cti(10)
            else:
                s.start_edge(1, (1,))
                s.cti(5)
                states.append(runtime.snapshot())
    assert ends == [9]


def test_queries_of_inner_streams_have_no_query_callbacks() -> None:
    app = """@temporal define stream S (id int);
    partition with (id of S) begin
    @info(name = 'inner') from S select id insert into #I; from #I select id insert into Out; end;"""
    with running(app) as runtime, pytest.raises(DefinitionNotExistError, match="inner stream"):
        runtime.add_query_callback("partition_0/inner", lambda timestamp, current, expired: None)
