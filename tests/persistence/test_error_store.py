from __future__ import annotations

import logging
import threading

import pytest

from siddhi import Event
from siddhi.persistence import ErrorEntry, ErrorOccurrence, ErrorStore, InMemoryErrorStore


def entry(app: str = "A", name: str = "S", timestamp: int = 1000, **changes) -> ErrorEntry:
    fields = {
        "id": 0,
        "timestamp": timestamp,
        "app": app,
        "name": name,
        "occurrence": ErrorOccurrence.STORE_ON_STREAM_ERROR,
        "events": (Event(1, ("x",)),),
        "cause": "ValueError: no",
        "stack_trace": "...",
    }
    return ErrorEntry(**(fields | changes))


def empty_store(kind: str) -> ErrorStore:
    if kind == "memory":
        return InMemoryErrorStore()
    pytest.importorskip("sqlalchemy")
    from siddhi.persistence import RdbmsErrorStore

    return RdbmsErrorStore("sqlite://")


@pytest.fixture(params=["memory", "rdbms"])
def store(request) -> ErrorStore:
    store = empty_store(request.param)
    store.save(entry(timestamp=1000))
    store.save(entry(name="T", timestamp=2000, occurrence=ErrorOccurrence.BEFORE_SOURCE_MAPPING))
    store.save(entry(app="B", timestamp=3000))
    return store


def test_entries_are_found_by_id_app_name_and_occurrence(store):
    assert [found.id for found in store.load_error_entries("A")] == [1, 2]
    assert [found.id for found in store.load_error_entries("A", name="T")] == [2]
    assert [found.id for found in store.load_error_entries("A", limit=1)] == [1]
    mapping = store.load_error_entries("A", occurrence=ErrorOccurrence.BEFORE_SOURCE_MAPPING)
    assert [found.error_type for found in mapping] == ["MAPPING"]
    found = store.load_error_entry(3)
    assert found is not None
    assert (found.app, found.error_type) == ("B", "TRANSPORT")
    assert (store.count(), store.count("A"), store.count("C")) == (3, 2, 0)


def test_entries_can_be_discarded(store):
    assert store.discard_error_entry(1)
    assert not store.discard_error_entry(1)
    assert store.load_error_entry(1) is None
    store.save(entry(app="C", timestamp=9000))
    assert store.load_error_entries("C")[0].id == 4, "no id is given twice"
    assert store.discard_error_entry(4)
    store.save(entry(app="C", timestamp=9000))
    assert store.load_error_entries("C")[0].id == 5
    assert store.discard_error_entries("C") == 1
    assert store.purge(before=2500) == 1
    assert store.discard_error_entries("B") == 1
    assert store.count() == 0


def test_a_slow_store_drops_entries_instead_of_blocking_the_app(caplog):
    writing, go_on = threading.Event(), threading.Event()

    class Slow(InMemoryErrorStore):
        def write(self, entry: ErrorEntry) -> None:
            writing.set()
            assert go_on.wait(30)
            super().write(entry)

    store = Slow(buffer_size=2)
    with caplog.at_level(logging.ERROR, "siddhi"):
        store.save(entry())
        assert writing.wait(30)
        for _ in range(4):
            store.save(entry())
    go_on.set()
    assert store.count() == 3
    assert store.dropped == 2
    assert "2 entries dropped" in caplog.text


def test_after_a_failed_save_the_store_saves_the_next_entry(caplog):
    class Failing(InMemoryErrorStore):
        def write(self, entry: ErrorEntry) -> None:
            if entry.name == "bad":
                raise OSError("disk full")
            super().write(entry)

    store = Failing()
    with caplog.at_level(logging.ERROR, "siddhi"):
        store.save(entry(name="bad"))
        store.save(entry())
        assert store.count() == 1
    assert "disk full" in caplog.text


def kept(store: ErrorStore) -> list[int]:
    return [found.timestamp for found in store.load_error_entries("A")]


def test_an_in_memory_store_keeps_ten_thousand_entries_by_default():
    assert InMemoryErrorStore().max_entries == 10_000


@pytest.mark.parametrize(("on_full", "expected"), [("drop_oldest", [3, 4, 5]), ("log", [1, 2, 3])])
def test_a_full_store_in_memory_drops_and_counts(on_full, expected, caplog):
    store = InMemoryErrorStore(max_entries=3, on_full=on_full)
    for timestamp in range(1, 6):
        store.save(entry(timestamp=timestamp))
    assert kept(store) == expected
    assert store.dropped == 2
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR", "ERROR"]


def test_a_full_store_in_memory_logs_at_growing_intervals(caplog):
    store = InMemoryErrorStore(max_entries=1)
    for timestamp in range(1000):
        store.save(entry(timestamp=timestamp))
        store.flush()
    assert store.dropped == 999
    assert len(caplog.records) < 15


def test_a_discarded_entry_makes_room():
    store = InMemoryErrorStore(max_entries=2)
    for timestamp in (1, 2):
        store.save(entry(timestamp=timestamp))
    store.discard_error_entry(1)
    store.save(entry(timestamp=3))
    assert (kept(store), store.dropped) == ([2, 3], 0)


@pytest.mark.parametrize("wrong", [2.5, True, "3"])
def test_the_limit_of_entries_is_an_int(wrong: object) -> None:
    with pytest.raises(TypeError, match="expected an int or None"):
        InMemoryErrorStore(max_entries=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"max_entries": 0}, {"on_full": "error"}])
def test_a_store_in_memory_refuses_wrong_limits(wrong):
    with pytest.raises(ValueError, match="expected"):
        InMemoryErrorStore(**wrong)
