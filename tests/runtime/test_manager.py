"""The manager: creates apps, one per name, and shares settings."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import siddhi
from siddhi import SiddhiManager
from siddhi.errors import (
    NoPersistenceStoreError,
    NotRunningError,
    PersistenceStoreError,
    SiddhiAppCreationError,
    SiddhiAppError,
    SiddhiAppValidationError,
    SiddhiParserError,
)
from siddhi.io import InMemoryBroker
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.query_compiler import parse, parse_on_demand_query, parse_query
from tests.kit.running import TRADES, collect

APP = f"@app:name('A') {TRADES} from Trades select symbol insert into Out;"


def test_an_app_is_registered_by_name_until_its_shutdown():
    manager = SiddhiManager()
    runtime = manager.create_siddhi_app_runtime(APP)
    assert runtime.name == "A"
    assert manager.runtime("A") is runtime
    assert manager.runtimes == (runtime,)
    runtime.shutdown()
    assert manager.runtime("A") is None
    assert manager.runtimes == ()


def test_an_app_without_a_name_gets_a_unique_one():
    manager = SiddhiManager()
    first, second = (manager.create_siddhi_app_runtime(TRADES) for _ in range(2))
    assert first.name != second.name
    assert manager.runtimes == (first, second)


@pytest.mark.parametrize("create", ["create_siddhi_app_runtime", "create_sandbox_siddhi_app_runtime"])
def test_an_app_with_the_name_of_a_running_one_is_refused(create):
    manager = SiddhiManager()
    with manager.create_siddhi_app_runtime(APP) as first:
        rows = collect(first, "Out")
        for app in (APP, parse(APP)):
            with pytest.raises(SiddhiAppCreationError, match=r"an app named 'A' is already running") as caught:
                getattr(manager, create)(app)
            assert (caught.value.code, caught.value.line, caught.value.column) == ("E208", 1, 0)
            assert "replace=True" in caught.value.hint
        assert manager.runtimes == (first,)
        first.input_handler("Trades").send(("IBM", 1.0, 1))
        assert rows == [("IBM",)]
        manager.validate_siddhi_app(APP)  # the running one stays what the name means
        assert manager.runtime("A") is first
    assert getattr(manager, create)(APP).name == "A"


def test_a_running_app_can_be_replaced():
    manager = SiddhiManager()
    first = manager.create_siddhi_app_runtime(APP)
    first.start()
    with pytest.raises(SiddhiParserError):
        manager.create_siddhi_app_runtime("@app:name('A') define strem S (v int);", replace=True)
    assert first.is_running
    second = manager.create_siddhi_app_runtime(APP, replace=True)
    assert not first.is_running
    assert manager.runtimes == (second,)
    second.start()
    manager.shutdown()
    assert manager.runtimes == ()


def test_of_two_apps_of_one_name_only_one_runs():
    manager = SiddhiManager()
    first, second = (manager.create_siddhi_app_runtime(APP) for _ in range(2))
    assert manager.runtimes == (second,)
    with first:
        assert manager.runtime("A") is first
        with pytest.raises(SiddhiAppCreationError, match="an app named 'A' is already running"):
            second.start()
        assert not second.is_running
    with second:
        assert manager.runtime("A") is second
        with pytest.raises(SiddhiAppCreationError, match="an app named 'A' is already running"):
            first.start()
        assert manager.runtime("A") is second
    with first:
        assert manager.runtimes == (first,)


@pytest.mark.parametrize(
    ("app", "hint"), [(None, ""), (Path("app.siddhi"), "read_text"), (TRADES.encode(), "decode"), (7, "")]
)
@pytest.mark.parametrize(
    "take",
    [
        siddhi.run,
        SiddhiManager().create_siddhi_app_runtime,
        SiddhiManager().create_sandbox_siddhi_app_runtime,
        SiddhiManager().validate_siddhi_app,
        parse,
        parse_query,
        parse_on_demand_query,
    ],
)
def test_other_types_than_text_are_refused_with_a_hint(take, app, hint):
    with pytest.raises(TypeError, match=rf"expected SiddhiQL text as a str, got {type(app).__name__}.*{hint}"):
        take(app)


def test_an_app_that_starts_again_is_registered_again():
    manager = SiddhiManager()
    first = manager.create_siddhi_app_runtime(APP)
    first.shutdown()
    with first:
        assert manager.runtime("A") is first
    assert manager.runtimes == ()
    second = manager.create_siddhi_app_runtime(APP)
    first.start()
    assert manager.runtime("A") is first  # as if it were created now
    manager.shutdown()
    assert not first.is_running
    second.shutdown()


@pytest.mark.parametrize("shut_down_before", [True, False])
def test_apps_cannot_start_after_the_shutdown_of_their_manager(shut_down_before):
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(APP)
        state = runtime.snapshot()
        if shut_down_before:
            runtime.shutdown()
    for again in (runtime.start, runtime.start_without_sources, runtime.debug, lambda: runtime.restore(state)):
        with pytest.raises(NotRunningError, match="'A' cannot start again: its manager was shut down; create it again"):
            again()
    with manager.create_siddhi_app_runtime(APP) as other:
        assert manager.runtimes == (other,)


def test_an_app_can_be_created_from_its_object_model():
    runtime = SiddhiManager().create_siddhi_app_runtime(parse(APP))
    assert runtime.name == "A"
    assert runtime.stream_attributes("Out") == [("symbol", "string")]


def test_leaving_a_manager_shuts_down_its_apps():
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(APP)
        runtime.start()
    assert not runtime.is_running


@pytest.mark.parametrize(
    ("app", "error"),
    [
        ("define stream S (a string", SiddhiParserError),
        ("define stream S (a string); from T select a insert into O;", SiddhiAppCreationError),
        ("define stream S (a string); define stream S (b string);", SiddhiAppValidationError),
        ("define stream S (a string); from S select a + 1 as b insert into O;", SiddhiAppCreationError),
    ],
)
def test_an_invalid_app_is_refused_and_leaks_nothing(app, error):
    manager = SiddhiManager()
    with pytest.raises(error) as caught:
        manager.create_siddhi_app_runtime(app)
    assert isinstance(caught.value, SiddhiAppError)
    assert caught.value.line == 1
    assert "^" in str(caught.value)
    assert manager.runtimes == ()


def test_validation_creates_starts_and_discards_the_app():
    manager = SiddhiManager()
    manager.validate_siddhi_app(APP)
    assert manager.runtimes == ()
    with pytest.raises(SiddhiAppError):
        manager.validate_siddhi_app("from S select a insert into O")


def test_validation_does_not_affect_a_running_app_of_that_name():
    manager = SiddhiManager()
    runtime = manager.create_siddhi_app_runtime(APP)
    manager.validate_siddhi_app(APP)
    assert manager.runtime("A") is runtime


def test_scripts_can_be_forbidden():
    text = "define function f[python] return int { return 1 }; define stream S (a int);"
    SiddhiManager().create_siddhi_app_runtime(text)
    with pytest.raises(SiddhiAppCreationError):
        SiddhiManager(allow_scripts=False).create_siddhi_app_runtime(text)


def test_persist_and_restore_apply_to_every_app():
    manager = SiddhiManager()
    with pytest.raises(NoPersistenceStoreError):
        manager.create_siddhi_app_runtime(APP).persist()
    store = InMemoryPersistenceStore()
    manager.set_persistence_store(store)
    other = manager.create_siddhi_app_runtime(APP.replace("'A'", "'B'"))
    assert manager.persist() == {}  # nothing runs: what was saved before stays the newest
    for runtime in manager.runtimes:
        runtime.start()
    revisions = manager.persist()
    assert set(revisions) == {"A", "B"}
    assert revisions["B"].endswith("__B")
    assert manager.restore_last_state() == revisions
    other.clear_all_revisions()
    assert manager.restore_last_state() == {"A": revisions["A"], "B": None}
    manager.set_persistence_store(None)
    with pytest.raises(NoPersistenceStoreError):
        manager.restore_last_state()
    manager.shutdown()


def test_an_app_that_cannot_be_saved_does_not_affect_others(caplog):
    class Full(InMemoryPersistenceStore):
        def save(self, app_name, revision, snapshot, *, base=None):
            if app_name != "B":
                raise PersistenceStoreError(f"no room for {app_name}")
            super().save(app_name, revision, snapshot, base=base)

    manager = SiddhiManager()
    manager.set_persistence_store(Full())
    for name in "ABC":
        manager.create_siddhi_app_runtime(APP.replace("'A'", f"'{name}'")).start()
    with pytest.raises(PersistenceStoreError, match="no room for A"):
        manager.persist()
    assert manager.restore_last_state().keys() == {"A", "B", "C"}
    assert manager.runtime("B").restore_last_revision() is not None
    assert "app 'C' was not saved: " in caplog.text
    manager.shutdown()


def test_run_creates_and_starts_an_app():
    runtime = siddhi.run(APP)
    try:
        rows = collect(runtime, "Out")
        runtime.input_handler("Trades").send(("IBM", 1.0, 1))
        assert rows == [("IBM",)]
    finally:
        runtime.shutdown()


def test_the_logger_is_that_of_the_package(caplog):
    def fail(events):
        raise RuntimeError("no")

    with caplog.at_level(logging.ERROR, "siddhi"), SiddhiManager().create_siddhi_app_runtime(APP) as runtime:
        runtime.add_callback("Out", fail)
        runtime.input_handler("Trades").send(("IBM", 1.0, 1))
    (record,) = caplog.records
    assert record.name == "siddhi"
    assert "RuntimeError: no" in record.getMessage()
    assert "'A'" in record.getMessage()


SANDBOXED = """@app:name('A')
@source(type='inMemory', topic='sandbox-test') @source(type='kafka', topic='t') @source(ref='r') define stream S (v int);
@sink(type='http', url='x') @sink(type='inMemory', topic='sandbox-out') define stream Out (v int);
@store(type='rdbms', jdbc.url='x') @primaryKey('v') define table T (v int);
from S select v insert into Out;
from S select v insert into T;
"""


def test_a_sandbox_has_no_outside_access():
    manager = SiddhiManager()
    with pytest.raises(SiddhiAppCreationError):
        manager.create_siddhi_app_runtime(SANDBOXED)
    with manager.create_sandbox_siddhi_app_runtime(SANDBOXED) as runtime:
        assert {stream: len(sources) for stream, sources in runtime.sources.items()} == {"S": 1}
        assert {stream: len(sinks) for stream, sinks in runtime.sinks.items()} == {"Out": 1}
        InMemoryBroker.publish("sandbox-test", (1,))
        assert [event.data for event in runtime.query("from T select v")] == [(1,)]
    with manager.create_sandbox_siddhi_app_runtime(parse(SANDBOXED)) as runtime:
        assert runtime.table_definitions["T"].annotations[0].name.lower() == "primarykey"


def test_a_runtime_has_definitions_and_warnings():
    app = """@sink(type='log', prefx='x') define stream S (v int);
    define window W (v int) length(5);
    define aggregation G from S select sum(v) as total aggregate every sec ... min;
    """
    runtime = SiddhiManager().create_siddhi_app_runtime(app)
    assert list(runtime.window_definitions) == ["W"]
    assert list(runtime.aggregation_definitions) == ["G"]
    (warning,) = runtime.warnings
    assert warning == "unknown option 'prefx' of sink 'log' (line 1, column 18): did you mean 'prefix'?"
    assert (warning.span.line, warning.span.column, warning.hint) == (1, 18, "did you mean 'prefix'?")
