"""``update or insert`` of chunks in stores without such a method: only failed calls are repeated."""

from __future__ import annotations

import pytest

from siddhi.errors import ConnectionUnavailableError
from siddhi.persistence import InMemoryErrorStore
from siddhi.runtime.connectors.table_steps import UpdateOrAddSteps
from tests.kit.connectors import StoppedTime
from tests.kit.stores import App, shelf_manager

APP = """
@app:name('Shelves')
define stream I (s string, v int);
{before}
define stream C (s string, v int);
@store(type = 'shelf'{options}) define table T (s string, v int);
from I insert into T;
from C update or insert into T set T.v = T.v + v on T.s == s;
"""
CHUNK = [("a", 1), ("new", 1), ("b", 1), ("new", 2), ("other", 5)]
DONE = [("a", 101), ("b", 101), ("new", 3), ("other", 5)]


@pytest.fixture
def time():
    return StoppedTime()


@pytest.fixture
def held(time):
    with shelf_manager(retries=time) as (manager, shelf):
        yield manager, shelf


@pytest.fixture
def kept(held):
    """What is in the error store."""
    errors = InMemoryErrorStore()
    held[0].set_error_store(errors)

    def entries():
        errors.flush()
        return errors.load_error_entries("Shelves")

    return entries


class Fails:
    """Lets one call of a shelf fail, or all from there on."""

    def __init__(self, shelf, call: str, number: int, error: type[Exception], times: int = 1) -> None:
        self.seen = 0

        def check(made: str) -> None:
            shelf.calls.append(made)
            self.seen += made == call
            if made == call and number <= self.seen < number + times:
                raise error("gone for a moment")

        shelf.check = check


def filled(manager, options: str = "", before: str = "") -> App:
    started = App(manager, APP.format(options=options, before=before))
    started.send("I", ("a", 100), ("b", 100))
    return started


CALLS = [("find", 1), ("update", 1), ("find", 2), ("update", 2), ("find", 5), ("add", 1)]


@pytest.mark.parametrize("error", [ConnectionUnavailableError, OSError])
@pytest.mark.parametrize("options", ["", ", on.error = 'STORE'"])
@pytest.mark.parametrize(("call", "number"), CALLS)
def test_every_event_changes_the_table_once_whichever_call_fails(held, kept, error, options, call, number):
    manager, shelf = held
    started = filled(manager, options)
    Fails(shelf, call, number, error)
    started.send_chunk("C", *CHUNK)
    for entry in kept():
        started.runtime.replay_error_entry(entry)
    assert sorted(shelf.rows) == DONE
    assert started.errors == []


def test_the_error_store_gets_the_remaining_changes(held, kept):
    manager, shelf = held
    started = filled(manager, ", on.error = 'STORE'")
    Fails(shelf, "update", 2, ConnectionUnavailableError)
    started.send_chunk("C", *CHUNK)
    (entry,) = kept()
    assert [event.data for event in entry.events] == [("new", 1), ("b", 1), ("new", 2), ("other", 5)]
    assert len(entry.payload["values"]) == 4
    assert shelf.rows == [("a", 101), ("b", 100)]


def test_an_event_that_fails_is_reported_alone(held):
    manager, shelf = held
    started = filled(manager)
    Fails(shelf, "update", 2, OSError, times=2)
    started.send_chunk("C", *CHUNK)
    assert sorted(shelf.rows) == [("a", 101), ("b", 100), ("new", 3), ("other", 5)]
    assert started.errors == ["gone for a moment"]


def test_a_shutdown_reports_the_remaining_changes(held, time):
    manager, shelf = held
    started = filled(manager)
    Fails(shelf, "update", 2, ConnectionUnavailableError, times=99)
    time.on_wait = started.runtime.shutdown
    started.send_chunk("C", ("a", 1), ("b", 1))
    assert shelf.rows == [("a", 101), ("b", 100)]
    assert started.errors == ["gone for a moment"]


def test_a_failed_chunk_is_handled_by_onerror_and_earlier_changes_stay(held):
    manager, shelf = held
    started = filled(manager, before="@OnError(action = 'STREAM')")
    lost = []
    started.runtime.add_callback("!C", lambda events: lost.extend(event.data[:2] for event in events))
    Fails(shelf, "update", 2, OSError)
    started.send_chunk("C", *CHUNK)
    assert lost == CHUNK
    assert shelf.rows == [("a", 101), ("b", 100)]


def test_a_store_with_its_own_method_gets_the_whole_chunk(held):
    manager, shelf = held
    given = []

    def update_or_add(self, condition, parameters, sets, records, reduce) -> None:
        given.append(list(records))
        self.rows += reduce(range(len(records)))

    type(shelf).update_or_add, before = update_or_add, type(shelf).update_or_add
    try:
        filled(manager).send_chunk("C", *CHUNK)
    finally:
        type(shelf).update_or_add = before
    assert given == [CHUNK]


def test_steps_continue_after_the_failed_one():
    class Lists:
        def __init__(self) -> None:
            self.rows, self.left = ["a"], 1

        def contains(self, condition, values) -> bool:
            return values["s"] in self.rows

        def update(self, condition, parameters, sets) -> None:
            self.rows.append("changed")

        def add(self, records) -> None:
            if self.left:
                self.left -= 1
                raise OSError("full")
            self.rows += records

    store = Lists()
    values = [{"s": s} for s in "abc"]
    steps = UpdateOrAddSteps(store, None, values, {}, list("abc"), lambda positions: ["abc"[i] for i in positions])
    with pytest.raises(OSError, match="full"):
        steps.run()
    assert steps.remaining() == [1, 2]
    steps.run()
    assert steps.remaining() == []
    assert store.rows == ["a", "changed", "b", "c"]
