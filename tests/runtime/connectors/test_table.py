"""Stores of tables: lifecycle, and disconnected stores."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace

import pytest

from siddhi import Event, SiddhiManager, extension
from siddhi.errors import (
    ConnectionUnavailableError,
    ExtensionError,
    NotRunningError,
    OnDemandQueryCreationError,
    SiddhiAppCreationError,
    SiddhiAppError,
)
from siddhi.persistence import ErrorOccurrence, InMemoryErrorStore
from siddhi.stores import RecordTable
from tests.kit.connectors import StoppedTime
from tests.kit.stores import App, shelf_manager

APP = """
@app:name('Shelves')
define stream I (s string, v int);
define stream C (s string, v int);
@store(type = 'shelf'{options}) @primaryKey('s') define table T (s string, v int);
from I insert into T;
from C[v == 0] delete T on T.s == s;
from C[v > 0 and v < 10] update T on T.s == s;
from C[v >= 10] update or insert into T on T.s == s;
from C[(T.s == s) in T] select s insert into O;
"""


@pytest.fixture
def time():
    return StoppedTime()


@pytest.fixture
def held(time):
    with shelf_manager(retries=time) as (manager, shelf):
        yield manager, shelf


def app(manager: SiddhiManager, options: str = "") -> App:
    return App(manager, APP.format(options=options))


def test_a_store_is_created_with_the_app_and_connected_at_its_start(held):
    manager, shelf = held
    runtime = manager.create_siddhi_app_runtime(APP.format(options=", color = 'red'"))
    assert shelf.calls == ["init"]
    assert shelf.options == {"color": "red"}
    assert shelf.context.table == "T"
    assert shelf.context.primary_key == (0,)
    runtime.start()
    assert shelf.calls == ["init", "connect"]
    runtime.shutdown()
    assert shelf.calls == ["init", "connect", "disconnect", "destroy"]


def test_a_store_is_created_again_when_the_app_starts_again(held):
    manager, shelf = held
    started = app(manager)
    started.send("I", ("a", 1))
    started.runtime.shutdown()
    started.runtime.start()
    started.send("I", ("b", 2))
    assert started.rows() == [("a", 1), ("b", 2)]
    started.runtime.shutdown()
    lives = [
        "init",
        "connect",
        "add",
        "disconnect",
        "destroy",
        "init",
        "connect",
        "add",
        "find",
        "disconnect",
        "destroy",
    ]
    assert shelf.calls == lives


def test_rows_persist_in_the_store_and_are_in_no_snapshot(held):
    manager, _ = held
    first = app(manager)
    first.send("I", ("a", 1))
    snapshot = first.runtime.snapshot()
    first.send("I", ("b", 2))
    first.runtime.restore(snapshot)
    first.runtime.shutdown()
    assert app(manager).rows() == [("a", 1), ("b", 2)]


def test_an_app_can_start_before_its_store_is_connected(held, time):
    manager, shelf = held
    shelf.down = True
    started = app(manager)
    assert time.pauses == [5]
    time.run()
    assert time.pauses == [5, 10]
    shelf.down = False
    time.run()
    started.send("I", ("a", 1))
    assert shelf.rows == [("a", 1)]
    assert time.waits == []


def test_users_of_a_disconnected_store_wait_and_lose_nothing(held, time):
    manager, shelf = held
    started = app(manager)
    started.send("I", ("a", 1))
    shelf.down = True

    def come_back() -> None:
        if len(time.waits) == 4:
            shelf.down = False

    time.on_wait = come_back
    started.send("I", ("b", 2))
    assert time.waits == [5, 10, 15, 30]
    assert shelf.rows == [("a", 1), ("b", 2)]
    for sent in (("b", 0), ("a", 5), ("c", 10)):
        time.waits.clear()
        shelf.down = True
        started.send("C", sent)
    assert shelf.rows == [("a", 5), ("c", 10)]
    time.waits.clear()
    shelf.down = True
    assert started.rows() == [("a", 5), ("c", 10)]
    assert started.errors == []


def test_a_lost_connection_is_retried_immediately(held, time):
    manager, shelf = held
    started = app(manager)

    class Once:
        left = 1

    def check(call: str) -> None:
        shelf.calls.append(call)
        if call == "add" and Once.left:
            Once.left -= 1
            raise ConnectionUnavailableError("gone for a moment")

    shelf.check = check
    started.send("I", ("a", 1))
    assert shelf.rows == [("a", 1)]
    assert shelf.calls == ["init", "connect", "add", "connect", "add"]
    assert time.waits == []


def test_a_shutdown_ends_waiting_and_reports_changes_not_made(held, time):
    manager, shelf = held
    started = app(manager)
    shelf.down = True
    time.on_wait = started.runtime.shutdown
    started.send("I", ("a", 1))
    assert shelf.rows == []
    assert len(started.errors) == 1
    assert "the shelf is away" in started.errors[0]


def test_another_error_of_a_store_is_an_error_of_the_stream(held):
    manager, shelf = held
    started = app(manager)
    shelf.broken = OSError("disk full")
    started.send("I", ("a", 1))
    assert started.errors == ["disk full"]
    shelf.broken = None
    started.send("I", ("b", 1))
    assert shelf.rows == [("b", 1)]


def test_a_store_that_cannot_be_connected_prevents_the_start(held):
    manager, shelf = held
    runtime = manager.create_siddhi_app_runtime(APP.format(options=""))
    shelf.broken = OSError("no such shelf")
    with pytest.raises(OSError, match="no such shelf"):
        runtime.start()
    assert not runtime.is_running


def test_on_error_store_keeps_changes_and_blocks_no_sender(held, time):
    manager, shelf = held
    errors = InMemoryErrorStore()
    manager.set_error_store(errors)
    started = app(manager, ", on.error = 'store'")
    started.send("I", ("a", 1))
    shelf.broken = OSError("disk full")
    started.send("I", ("b", 2))
    shelf.broken = None
    shelf.down = True
    started.runtime.input_handler("I").send_events([Event(1, ("c", 3)), Event(1, ("d", 4))])
    errors.flush()
    entries = errors.load_error_entries("Shelves")
    assert [entry.occurrence for entry in entries] == [ErrorOccurrence.STORE_ON_TABLE_ADD] * 2
    assert [[event.data for event in entry.events] for entry in entries] == [[("b", 2)], [("c", 3), ("d", 4)]]
    assert {entry.name for entry in entries} == {"T"}
    assert time.waits == []
    shelf.down = False
    time.run()
    shelf.broken = OSError("disk full")
    # What reads waits, or fails as the store does: only changes are kept.
    started.send("C", ("a", 0), ("a", 5), ("x", 10))
    errors.flush()
    assert [entry.occurrence.value for entry in errors.load_error_entries("Shelves")][2:] == [
        "STORE_ON_TABLE_DELETE",
        "STORE_ON_TABLE_UPDATE",
        "STORE_ON_TABLE_UPDATE_OR_ADD",
    ]
    assert errors.load_error_entries("Shelves")[2].payload == {
        "change": "delete T on T.s == s",
        "values": [{"p0": "a"}],
    }
    assert len(started.errors) == 3


@pytest.mark.parametrize("cache", ["", ", @cache(size = '9')"])
def test_changes_in_the_error_store_can_be_replayed(cache):
    with shelf_manager() as (manager, shelf):
        errors = InMemoryErrorStore()
        manager.set_error_store(errors)
        text = (
            "@app:name('Shelves') define stream I (s string, v int); define stream C (s string, v int);"
            f"@store(type = 'shelf', on.error = 'STORE'{cache}) @primaryKey('s') define table T (s string, v int);"
            "from I insert into T; from C[v == 0] delete T on T.s == s; from C[v == 1] update T set T.v = T.v + v on T.s == s;"
            "from C[v > 1] update or insert into T on T.s == s;"
        )
        started = App(manager, text)
        started.send("I", ("a", 1), ("b", 2))
        shelf.broken = OSError("disk full")
        started.send("C", ("a", 0), ("b", 1), ("n", 7))
        started.send("I", ("c", 3))
        entries = errors.load_error_entries("Shelves")
        with pytest.raises(OSError, match="disk full"):
            started.runtime.replay_error_entry(entries[0])
        assert errors.count() == 4
        shelf.broken = None
        # An app that was built anew knows them, too.
        started.runtime.shutdown()
        again = App(manager, text)
        for entry in entries:
            again.runtime.replay_error_entry(entry)
        assert sorted(again.rows()) == [("b", 3), ("c", 3), ("n", 7)]
        assert sorted(shelf.rows) == [("b", 3), ("c", 3), ("n", 7)]


def test_invalid_replays_are_refused(held):
    manager, shelf = held
    errors = InMemoryErrorStore()
    manager.set_error_store(errors)
    started = app(manager, ", on.error = 'STORE'")
    shelf.broken = OSError("disk full")
    started.runtime.query("delete T on T.s == 'a'")
    (entry,) = errors.load_error_entries("Shelves")
    with pytest.raises(ValueError, match="no query of the app makes the failed change: an on-demand query"):
        started.runtime.replay_error_entry(entry)
    with pytest.raises(ValueError, match="can't be replayed: app 'Shelves' has no table"):
        started.runtime.replay_error_entry(replace(entry, name="I"))
    started.runtime.shutdown()
    with pytest.raises(NotRunningError):
        started.runtime.replay_error_entry(entry)


def test_a_missing_error_store_is_reported_at_creation(held, caplog):
    with caplog.at_level(logging.ERROR, "siddhi"):
        app(held[0], ", on.error = 'STORE'")
    assert "table 'T': on.error = 'STORE' has no effect" in caplog.text


def test_without_an_error_store_a_failed_change_is_reported(held, time):
    manager, shelf = held
    started = app(manager, ", on.error = 'STORE'")
    shelf.down = True
    started.send("I", ("b", 2))
    assert started.errors == ["the shelf is away"]


@pytest.mark.parametrize(
    ("annotation", "code", "message"),
    [
        ("@store(kind = 'shelf')", "E315", "requires the element 'type'"),
        ("@store(type = 'shelv')", "E301", "shelf"),
        ("@store(type = 'shelf', on.error = 'WAIT')", "E315", "use one of RETRY, LOG, STORE"),
        ("@store(type = 'shelf', ref = 'x')", "E326", "not defined in the configuration"),
        ("@store(type = 'shelf') @index('w')", "E203", "'w'"),
        ("@store(type = 'shelf') @store(type = 'shelf')", "E206", ""),
    ],
)
def test_invalid_annotations_are_refused(held, annotation, code, message):
    manager, _ = held
    with pytest.raises(SiddhiAppError) as caught:
        manager.create_siddhi_app_runtime(f"{annotation} define table T (s string, v int);")
    assert caught.value.code == code
    assert message in str(caught.value)
    assert caught.value.line == 1


def test_an_index_can_have_several_attributes(held):
    manager, shelf = held
    manager.create_siddhi_app_runtime(
        "@store(type='shelf') @index('v', 's') @index('s') define table T (s string, v int);"
    )
    assert shelf.context.indexes == ((1, 0), (0,))


def test_a_change_that_a_store_does_not_support_is_refused(held):
    manager, _ = held
    with pytest.raises(SiddhiAppCreationError, match="does not support this change of table 'T'") as caught:
        manager.create_siddhi_app_runtime(
            "define stream C (s string);\n@store(type='shelf') define table T (s string, v int);\n"
            "from C delete T on convert(T.v, 'string') == s;"
        )
    assert caught.value.code == "E327"
    assert caught.value.line == 3


def test_an_unsupported_on_demand_change_is_refused(held):
    manager, _ = held
    with pytest.raises(OnDemandQueryCreationError, match="E327"):
        app(manager).ask("delete T on convert(T.v, 'string') == '1'")


def test_invalid_rows_are_refused(held):
    manager, shelf = held
    started = app(manager)
    shelf.rows = [("a",)]
    with pytest.raises(OnDemandQueryCreationError, match="a row of 1 values"):
        started.rows()
    shelf.rows = [("a", "one")]
    with pytest.raises(OnDemandQueryCreationError, match="'one'"):
        started.rows()


def test_a_class_without_the_methods_of_a_store_is_refused():
    with pytest.raises(ExtensionError, match="add"):

        @extension.store("nothing", registry=extension.Registry())
        class Nothing:
            pass


def test_the_base_class_of_stores_implements_no_method():
    table = RecordTable()
    for call in (
        lambda: table.init(None, None),
        lambda: table.compile_condition(None),
        lambda: table.compile_value(None),
        lambda: table.add([]),
        lambda: table.find(None, {}),
        lambda: table.delete(None, []),
        lambda: table.update(None, [], {}),
    ):
        with pytest.raises(NotImplementedError):
            call()


def test_a_store_that_fails_to_release_resources_is_logged(held, caplog):
    manager, shelf = held
    started = app(manager)

    def destroy() -> None:
        raise OSError("stuck")

    shelf.destroy = destroy
    with caplog.at_level(logging.ERROR, "siddhi"):
        started.runtime.shutdown()
    assert "while destroying it" in caplog.text


def test_waiting_threads_continue_when_a_store_is_connected_again(held, time):
    manager, shelf = held
    started = app(manager)
    shelf.down = True
    waiting = threading.Event()

    def come_back() -> None:
        waiting.set()
        shelf.down = False

    time.on_wait = come_back
    threads = [threading.Thread(target=started.send, args=("I", (name, 1))) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert waiting.is_set()
    assert sorted(shelf.rows) == [("a", 1), ("b", 1), ("c", 1), ("d", 1)]


def test_a_compile_error_of_a_store_is_an_error_of_the_query():
    with shelf_manager() as (manager, shelf):
        app = App(manager, "@store(type = 'shelf') define table T (s string);")

        def compile_condition(condition: object) -> None:
            raise KeyError("nowhere")

        shelf.compile_condition = compile_condition
        with pytest.raises(OnDemandQueryCreationError, match="can't be compiled: KeyError: 'nowhere'") as caught:
            app.runtime.query("from T on s == 'a'")
        assert caught.value.app == app.runtime.name
