"""Stored errors of temporal streams are replayed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import CtiViolation
from siddhi.io.broker import InMemoryBroker
from siddhi.persistence.error_store import ErrorEntry, InMemoryErrorStore
from siddhi.temporal import MAX, TemporalEvent

STORED = "@app:name('Stored') @OnError(action = 'store')"
SOURCE = "@source(type = 'inMemory', topic = 'replayed')"


@pytest.fixture
def store() -> InMemoryErrorStore:
    return InMemoryErrorStore()


def started(store: InMemoryErrorStore, app: str) -> SiddhiAppRuntime:
    manager = SiddhiManager()
    manager.set_error_store(store)
    runtime = manager.create_siddhi_app_runtime(app)
    runtime.start()
    return runtime


def entries_of(store: InMemoryErrorStore) -> list[ErrorEntry]:
    return list(store.load_error_entries("Stored"))


@pytest.mark.parametrize(
    ("definition", "refused", "accepted", "shown"),
    [
        ("@temporal(start = 's', end = 'e')", (1, 4, 9), 7, (7, 9)),
        ("@temporal(model = 'point', start = 's')", (1, 4, 9), 7, (7, 8)),
    ],
)
def test_a_refused_row_is_stored_and_fails_again_until_its_time_is_changed(
    store: InMemoryErrorStore, definition: str, refused: tuple[int, ...], accepted: int, shown: tuple[int, int]
) -> None:
    app = f"{STORED} {SOURCE} {definition} define stream S (id int, s long, e long); from S select id insert into Out;"
    with started(store, app) as runtime:
        items: list[TemporalEvent] = []
        runtime.add_temporal_callback("Out", items.extend)
        s: Any = runtime.input_handler("S")
        s.cti(5)
        InMemoryBroker.publish("replayed", refused)
        (entry,) = entries_of(store)
        assert entry.cause.startswith("CtiViolation")
        with pytest.raises(CtiViolation):
            runtime.replay_error_entry(entry)
        changed = Event(0, (refused[0], accepted, refused[2]))
        runtime.replay_error_entry(with_events(entry, changed))
        s.cti(MAX)
    rows = [(item.start, item.end) for item in items if item.kind == "insert"]
    assert rows == [shown]


def with_events(entry: ErrorEntry, *events: Event) -> ErrorEntry:
    return replace(entry, events=events)


def test_a_refused_point_is_inserted_at_its_timestamp(store: InMemoryErrorStore) -> None:
    app = f"{STORED} {SOURCE} @temporal(model = 'point') define stream S (id int); from S select id insert into Out;"
    with started(store, app) as runtime:
        items: list[TemporalEvent] = []
        runtime.add_temporal_callback("Out", items.extend)
        s: Any = runtime.input_handler("S")
        s.cti(5)
        InMemoryBroker.publish("replayed", Event(3, (1,)))
        (entry,) = entries_of(store)
        assert entry.events == (Event(3, (1,)),)
        runtime.replay_error_entry(with_events(entry, Event(6, (1,))))
        s.cti(MAX)
    assert [item.start for item in items if item.kind == "insert"] == [6]


def test_what_a_classical_query_failed_on_goes_to_classical_queries_again(
    store: InMemoryErrorStore,
) -> None:
    app = f"""{STORED} @temporal(model = 'point') define stream S (id int);
    define function divide[python] return int {{ return 6 // data[0] }};
    from S#window.length(1) select divide(id) as id insert into Out;"""
    with started(store, app) as runtime:
        rows: list[Any] = []
        runtime.add_callback("Out", lambda events: rows.extend(event.data for event in events))
        s: Any = runtime.input_handler("S")
        s.point(1, (0,))
        s.point(2, (3,))
        s.cti(5)
        (entry,) = entries_of(store)
        assert "ZeroDivisionError" in entry.cause
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            runtime.replay_error_entry(entry)
        runtime.replay_error_entry(with_events(entry, Event(1, (2,))))
        assert s.cti_time == 5
    assert rows == [(2,), (3,)]


def test_a_row_that_a_classical_query_inserted_too_late_is_stored(store: InMemoryErrorStore) -> None:
    app = """@app:name('Stored') define stream C (id int);
    @OnError(action = 'store') @temporal(model = 'point', @advance(count = '1')) define stream T (id int);
    from C select id insert into T;"""
    with started(store, app) as runtime:
        items: list[TemporalEvent] = []
        runtime.add_temporal_callback("T", items.extend)
        c: Any = runtime.input_handler("C")
        c.send((1,), 50)
        c.send((2,), 40)
        (entry,) = entries_of(store)
        with pytest.raises(CtiViolation):
            runtime.replay_error_entry(entry)
        runtime.replay_error_entry(with_events(entry, Event(60, (2,))))
    assert [item.data for item in items if item.kind == "point"] == [(1,)]
