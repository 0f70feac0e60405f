"""A running app is changed: what is the same goes on, what has changed starts anew where that was asked."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import pytest

import siddhi
from siddhi import Event, SandboxPolicy, SiddhiManager, extension
from siddhi._core.record.event import live_events
from siddhi.errors import (
    CannotChangeAppError,
    DefinitionNotExistError,
    NotRunningError,
    SiddhiAppCreationError,
    SiddhiAppError,
    SiddhiParserError,
)
from siddhi.extension import Registry
from siddhi.io import InMemoryBroker
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.app import SiddhiAppRuntime
from siddhi.runtime.change import text as change_text
from tests.kit.running import collect, running

APP = """@app:name('A') @app:playback
define stream S (k string, v int);
define table T (k string, v int);
define window W (v int) length(2) output all events;
@info(name = 'sums') from S#window.length(3) select k, sum(v) as total insert into Sums;
@info(name = 'keep') from S select k, v insert into T;
@info(name = 'fill') from S select v insert into W;
@info(name = 'read') from W select sum(v) as total insert all events into Totals;
from S#window.length(2) select max(v) as high insert into Highs;
"""


def send(runtime: SiddhiAppRuntime, *values: int, at: int = 1000) -> None:
    for number, value in enumerate(values):
        runtime["S"].send(("a", value), at + number)


def refused(runtime: SiddhiAppRuntime, text: str, reset: Any = ()) -> dict[str, str]:
    """Return the reasons why a change is refused, which leaves the app as it was."""
    before, assembly = runtime.snapshot(), runtime.plan
    with pytest.raises(CannotChangeAppError) as raised:
        runtime.replace(text, reset=reset)
    assert runtime.snapshot() == before
    assert runtime.plan is assembly
    return dict(raised.value.reasons)


# --- what goes on


def test_callbacks_and_handlers_go_on_with_the_state() -> None:
    with running(APP) as runtime:
        handler, sums = runtime.input_handler("S"), collect(runtime, "Sums")
        send(runtime, 1, 2)
        change = runtime.replace("-- another text\n" + APP)
        handler.send(("b", 3), 1010)
        assert sums == [("a", 1), ("a", 3), ("b", 6)]
        assert runtime["S"] is handler
    assert change.kept == ("table 'T'", "window 'W'", "query 'sums'", "query 'read'", "query 'query_5'")
    assert (change.started_anew, change.added, change.removed) == ((), (), ())
    assert change.pause_ns > 0
    assert change.pause_ms == change.pause_ns / 1e6


def test_a_query_without_a_name_is_recognized_by_its_text() -> None:
    with running(APP) as runtime:
        highs, calls = collect(runtime, "Highs"), []
        runtime.add_query_callback("query_5", lambda time, current, expired: calls.append(current[0].data))
        send(runtime, 5)
        change = runtime.replace(
            APP.replace("@info(name = 'sums')", "from S select k insert into More; @info(name = 'sums')")
        )
        send(runtime, 1, at=1010)
        assert highs == [(5,), (5,)] == calls
        assert runtime.query_names[0] == "query_1"
    assert "query 'query_6'" in change.kept
    assert change.added == ("stream 'More'", "query 'query_1'")


def test_collected_events_and_their_chunks_go_on() -> None:
    with running(APP) as runtime:
        runtime.collect("Sums")
        send(runtime, 1)
        runtime.replace(APP + "from S select k insert into More;")
        send(runtime, 2, at=1010)
        batch = runtime.drain()["Sums"]
        assert batch.to_dicts() == [
            {"k": "a", "total": 1, "_timestamp": 1000, "_chunk": 0},
            {"k": "a", "total": 3, "_timestamp": 1010, "_chunk": 1},
        ]


def test_pending_timers_and_rate_limits_go_on() -> None:
    app = """@app:playback define stream S (k string, v int);
    @info(name = 'late') from every a=S -> not S[v > a.v] for 1 sec select a.v as v insert into Lates;
    @info(name = 'rate') from S select v output last every 1 sec insert into Lasts;"""
    with running(app) as runtime:
        lates, lasts = collect(runtime, "Lates"), collect(runtime, "Lasts")
        send(runtime, 1)
        runtime.add("@info(name = 'more') from S#window.time(1 sec) select v insert expired events into Gone;")
        runtime.advance_clock(2500)
        assert (lates, lasts) == ([(1,)], [(1,)])


def test_a_start_trigger_does_not_fire_again_but_a_new_one_fires() -> None:
    app = "@app:playback define stream S (k string, v int); define trigger T at 'start'; from T select 1 as one insert into O;"
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        fired, more = collect(runtime, "O"), []
        runtime.add(
            "define trigger U at 'start'; define stream More (one int); from U select 1 as one insert into More;"
        )
        runtime.add_callback("More", more.extend)
        runtime.replace(runtime.plan.app.source or "", reset="T")
        assert len(fired) == 1
        assert more == []


def test_the_app_starts_again_with_its_last_text() -> None:
    runtime = siddhi.App(APP)
    with runtime:
        runtime.add("from S select v insert into More;")
    more = collect(runtime, "More")
    with runtime:
        send(runtime, 1)
    assert more == [(1,)]


def test_an_app_that_is_not_running_can_be_changed() -> None:
    runtime = siddhi.App(APP)
    runtime.add("from S select v insert into More;")
    more = collect(runtime, "More")
    with runtime:
        send(runtime, 1)
    assert more == [(1,)]


def test_parameters_are_values_of_the_new_text() -> None:
    with running("define stream S (k string, v int); @info(name='q') from S[v > 1] select v insert into O;") as runtime:
        out = collect(runtime, "O")
        runtime.replace(
            "define stream S (k string, v int); @info(name='q') from S[v > ${least}] select v insert into O;", least=5
        )
        send(runtime, 3, 6)
        runtime.add("from S[v > ${least}] select v insert into O;", least=2)
        send(runtime, 3)
        assert out == [(6,), (3,)]


# --- what starts anew


def test_every_changed_element_is_named_with_its_reason() -> None:
    with running(APP) as runtime:
        send(runtime, 1, 2)
        reasons = refused(
            runtime, APP.replace("length(3)", "length(4)").replace("define table", "@index('k') define table")
        )
    assert reasons.keys() == {"query 'sums'", "table 'T'"}
    assert "+from S#window.length(4)" in reasons["query 'sums'"]


def test_changed_elements_start_anew_where_reset_names_them() -> None:
    with running(APP) as runtime:
        sums, highs = collect(runtime, "Sums"), collect(runtime, "Highs")
        send(runtime, 5, 6)
        change = runtime.replace(APP.replace("length(3)", "length(4)"), reset="sums")
        send(runtime, 1, at=1010)
        assert sums[-1] == ("a", 1)
        assert highs[-1] == (6,)
        assert len(runtime.query("from T select v")) == 3
    assert change.started_anew == ("query 'sums'",)


def test_elements_without_state_change_freely() -> None:
    with running(APP) as runtime:
        send(runtime, 5)
        change = runtime.replace(APP.replace("from S select v insert into W", "from S[v > 5] select v insert into W"))
    assert change.started_anew == ("query 'fill'",)


def test_readers_of_a_window_that_starts_anew_have_changed() -> None:
    changed = APP.replace("W (v int) length(2)", "W (v int) length(3)")
    with running(APP) as runtime:
        totals = collect(runtime, "Totals")
        send(runtime, 5)
        assert refused(runtime, changed, "W") == {"query 'read'": "it reads window 'W', which starts anew"}
        runtime.replace(changed, reset=("W", "read"))
        send(runtime, 1, at=1010)
        assert totals == [(5,), (1,)]


def test_other_attributes_of_a_stream_change_what_reads_it() -> None:
    changed = APP.replace("S (k string, v int)", "S (k string, v int, w int)")
    with running(APP) as runtime:
        sums = collect(runtime, "Sums")
        send(runtime, 5)
        reasons = refused(runtime, changed)
        assert reasons.keys() == {"stream 'S'", "query 'sums'", "query 'query_5'"}
        runtime.replace(changed, reset=reasons)
        runtime["S"].send(("b", 7, 8), 1010)
        runtime["S"].send_batch({"k": ["c"], "v": [1], "w": [2]}, timestamp=[1011])
        assert sums == [("a", 5), ("b", 7), ("c", 8)]


def test_an_unknown_name_in_reset_is_refused() -> None:
    with running(APP) as runtime, pytest.raises(ValueError, match="no element 'sum'; did you mean 'sums'"):
        runtime.replace(APP, reset="sum")


# --- what is refused


@pytest.mark.parametrize(
    ("text", "label", "reason"),
    [
        (APP.replace("'A'", "'B'"), "@app:name", "names the app 'B'"),
        (APP.replace("@app:playback", ""), "@app:playback", "enable_playback"),
        (
            APP.replace("define table", "@temporal(model='point') define stream P (a int); define table"),
            "stream 'P'",
            "is temporal",
        ),
    ],
)
def test_changes_that_no_running_app_supports_are_refused(text: str, label: str, reason: str) -> None:
    with running(APP) as runtime:
        assert reason in refused(runtime, text)[label]


def test_an_invalid_text_changes_nothing() -> None:
    with running(APP) as runtime:
        sums = collect(runtime, "Sums")
        with pytest.raises(SiddhiParserError):
            runtime.replace("define stream")
        with pytest.raises(SiddhiAppCreationError):
            runtime.add("from X select a insert into Y;")
        with pytest.raises(SiddhiAppCreationError, match="nothing to add"):
            runtime.add("-- nothing")
        send(runtime, 1)
        assert sums == [("a", 1)]


def test_a_callback_can_not_change_its_app() -> None:
    with running(APP) as runtime:
        errors: list[Exception] = []
        runtime.handle_exception_with(lambda error, origin, events: errors.append(error))
        runtime.add_callback("Sums", lambda events: runtime.remove("fill"))
        send(runtime, 1)
    assert [type(error) for error in errors] == [CannotChangeAppError]
    assert "from within a callback" in str(errors[0])


def test_streams_and_queries_with_callbacks_are_not_removed() -> None:
    with running(APP) as runtime:
        totals: list[Any] = []
        runtime.add_callback("Totals", totals.extend)
        with pytest.raises(CannotChangeAppError, match="stream 'Totals': it is removed, but the callback"):
            runtime.remove("read")
        runtime.remove_callback(totals.extend)
        runtime.remove("read")
        assert "Totals" not in runtime


# --- add and remove


def test_single_elements_are_removed_unless_others_depend_on_them() -> None:
    with running(APP) as runtime:
        with pytest.raises(
            CannotChangeAppError, match="window 'W' is not removed: query 'fill', query 'read' depend on it"
        ):
            runtime.remove("W")
        for name in ("fill", "query 'read'", "W"):
            runtime.remove(name)
        assert runtime.query_names == ("sums", "keep", "query_3")
        with pytest.raises(DefinitionNotExistError, match="no element 'keeps'; did you mean 'keep'"):
            runtime.remove("keeps")


def test_a_query_whose_stream_is_read_is_not_removed() -> None:
    reason = "query 'sums' is not removed: query 'query_6' depends on it"
    reading = APP + "from Sums select total insert into More;"
    with running(reading) as runtime, pytest.raises(CannotChangeAppError, match=reason):
        runtime.remove("sums")


def test_the_handler_of_a_removed_stream_refuses_events() -> None:
    with running(
        "define stream S (k string, v int); define stream X (a int); from S select v insert into O;"
    ) as runtime:
        handler = runtime["X"]
        runtime.remove("X")
        with pytest.raises(NotRunningError):
            handler.send((1,))
        runtime.add("define stream X (a int); from X select a insert into Y;")
        out = collect(runtime, "Y")
        handler.send((1,))
        assert out == [(1,)]


def test_added_texts_stand_behind_those_before() -> None:
    with running("define stream S (k string, v int); from S select v insert into O -- last") as runtime:
        runtime.add("from S select k insert into P")
        runtime.add(
            "define stream X (a int); from X select a insert into Y; partition with (k of S) begin from S select k insert into Q; end"
        )
        runtime.remove("partition_0")
        source = runtime.plan.app.source or ""
    assert [line for line in source.splitlines() if line.strip(" ;")] == [
        "define stream S (k string, v int); ",
        "define stream X (a int); ",
        "from S select v insert into O -- last",
        "from S select k insert into P",
        "from X select a insert into Y; ",
    ]


# --- buffers and connectors


@pytest.mark.parametrize(
    ("added", "line", "column"),
    [
        ("from Sx select v insert into B;", 1, 5),
        ("define stream N (a int);\nfrom N select a insert into B;\n  from Sx select v insert into C;", 3, 7),
        ("define stream N (a int); from N select x insert into B;", 1, 39),
        ("define stream N (a int);\ndefine stream S (a int);", 2, 0),
    ],
)
def test_an_error_names_the_place_in_what_was_added(added: str, line: int, column: int) -> None:
    with running(APP) as runtime, pytest.raises(SiddhiAppError) as raised:
        runtime.add(added)
    assert (raised.value.line, raised.value.column) == (line, column)
    assert f"{line} | {added.splitlines()[line - 1].strip()}" in str(raised.value).replace("|   ", "| ")


def test_changes_by_several_threads_do_not_undo_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(APP) as runtime:
        with_added, other = (
            change_text.with_added,
            threading.Thread(target=lambda: runtime.add("from S select v insert into B;")),
        )

        def interrupted(*arguments: Any) -> str:
            monkeypatch.undo()
            added = with_added(*arguments)
            other.start()
            other.join(0.05)
            return added

        monkeypatch.setattr(change_text, "with_added", interrupted)
        runtime.add("from S select v insert into A;")
        other.join(10)
        assert {"A", "B"} <= runtime.plan.streams.keys()


@pytest.mark.parametrize("after", ["@async(buffer.size = '4')", "@async(buffer.size = '64', workers = '2')", ""])
def test_buffered_events_and_waiting_senders_go_on(after: str) -> None:
    app = "@async(buffer.size = '4') define stream S (k string, v int); from S#window.length(9) select v insert into O;"
    entered, goes_on = threading.Event(), threading.Event()

    def slow(events: list[Any]) -> None:
        entered.set()
        goes_on.wait(10)
        seen.extend(event.data[0] for event in events)

    seen: list[int] = []
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        runtime.add_callback("O", slow)
        handler = runtime["S"]
        taken: list[int] = []

        def sending() -> None:
            for number in range(50):
                try:
                    handler.send(("a", number))
                except NotRunningError:
                    return
                taken.append(number)

        sender = threading.Thread(target=sending)
        sender.start()
        entered.wait(10)
        change = threading.Thread(target=runtime.replace, args=(app.replace("@async(buffer.size = '4')", after),))
        change.start()
        goes_on.set()
        change.join(10)
        sender.join(10)
    # A stream that loses its buffer refuses the events of those who still wait for room in it.
    assert seen == taken
    assert after == "" or len(seen) == 50


def test_bad_payloads_of_a_kept_source_reach_the_new_fault_stream() -> None:
    app = """@app:name('F') @OnError(action = 'stream')
        @source(type = 'inMemory', topic = 'in', on.mapping.error = 'STREAM', @map(type = 'json')) define stream S (v int);
        @info(name = 'bad') from !S select 'old' as kind insert into O;"""
    with SiddhiManager().create_siddhi_app_runtime(app) as runtime:
        source = runtime.sources["S"][0]
        runtime.replace(app.replace("'old'", "'new'"), reset="bad")
        rows = collect(runtime, "O")
        InMemoryBroker.publish("in", "nonsense")
        assert runtime.sources["S"][0] is source
    assert rows == [("new",)]


def test_unchanged_sources_and_sinks_stay_connected() -> None:
    app = """@app:name('C') @source(type = 'inMemory', topic = 'in', @map(type = 'passThrough')) define stream S (v int);
    @sink(type = 'inMemory', topic = 'out', @map(type = 'passThrough')) define stream O (v long);
    @info(name = 'q') from S#window.length(3) select sum(v) as v insert into O;"""
    got: list[Any] = []
    InMemoryBroker.subscribe("out", got.append)
    try:
        with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
            source, sink = runtime.sources["S"][0], runtime.sinks["O"][0]
            InMemoryBroker.publish("in", (1,))
            runtime.replace(
                app.replace(
                    "define stream S (v int)",
                    "@source(type = 'inMemory', topic = 'more', @map(type = 'passThrough')) define stream S (v int)",
                )
            )
            assert (runtime.sources["S"][0], runtime.sinks["O"][0]) == (source, sink)
            InMemoryBroker.publish("in", (2,))
            InMemoryBroker.publish("more", (4,))
            runtime.replace(app)
            InMemoryBroker.publish("in", (8,))
            statuses = runtime.connectors()
        assert [status.payloads for status in statuses] == [2 + 1, 4]
    finally:
        InMemoryBroker.unsubscribe("out", got.append)


# --- together with the rest of an app


def test_statistics_go_on_and_count_changes() -> None:
    with running(APP) as runtime:
        runtime.enable_statistics("BASIC")
        send(runtime, 1, 2)
        runtime.replace(APP.replace("@info(name = 'sums')", "from S select k insert into More; @info(name = 'sums')"))
        send(runtime, 3, at=1010)
        found = runtime.statistics
    assert found.streams["S"].events == 3
    assert (found.queries["query_6"].events, found.queries["query_6"].chunks) == (3, 3)
    assert (found.queries["query_1"].events, found.queries["query_1"].chunks) == (1, 1)
    assert found.changes == 1
    assert 0 < found.longest_pause < 10
    assert found.metrics("*Changes*")["io.siddhi.SiddhiApps.A.Siddhi.Changes.A.changes"] == 1


def test_the_debugger_stops_at_queries_of_the_changed_app() -> None:
    runtime = siddhi.App(APP)
    debugger = runtime.debug()
    stops: list[str] = []
    debugger.set_debugger_callback(lambda events, query, terminal, debugger: (stops.append(query), debugger.play()))
    debugger.acquire_break_point("sums", "IN")
    with runtime:
        runtime.add("@info(name = 'more') from S select k insert into More;")
        debugger.acquire_break_point("more", "IN")
        send(runtime, 1)
    assert stops == ["sums", "more"]


@pytest.mark.parametrize("incremental", [False, True])
def test_revisions_are_saved_and_restored_across_changes(incremental: bool) -> None:
    with SiddhiManager() as manager:
        if incremental:
            manager.set_incremental_persistence_store(InMemoryPersistenceStore())
        else:
            manager.set_persistence_store(InMemoryPersistenceStore())
        with manager.create_siddhi_app_runtime(APP) as runtime:
            sums, highs = collect(runtime, "Sums"), collect(runtime, "Highs")
            send(runtime, 9)
            first = runtime.persist()
            runtime.add("@info(name = 'front') from S select k insert into More;")
            send(runtime, 2, at=1010)
            runtime.persist()
            changed = APP.replace("length(3)", "length(4)")
            runtime.replace(changed, reset="sums")
            runtime.restore_revision(first, reset="sums")
            send(runtime, 1, at=1020)
            assert (sums[-1], highs[-1]) == (("a", 1), (9,))
            assert runtime.restore_last_revision(reset=("sums", "query_5")) is not None
            send(runtime, 1, at=1020)
            assert (sums[-1], highs[-1]) == (("a", 1), (1,))


def test_a_changed_sandbox_keeps_its_policy() -> None:
    policy = SandboxPolicy()
    with siddhi.App(APP, policy=policy) as runtime:
        runtime.add("from S#window.length(2) select v insert into More;")
        with pytest.raises(SiddhiAppCreationError):
            runtime.replace(APP.replace("define stream S", "@sink(type = 'file', file.uri = '/tmp/x') define stream S"))
        assert runtime.plan.policy is policy


def test_rows_of_a_store_stay_and_its_connection_too(tmp_path: Path) -> None:
    store = f"@store(type = 'rdbms', url = 'sqlite:///{tmp_path}/rows.db')"
    app = f"define stream S (k string, v int); {store} define table T (k string, v int); from S select k, v insert into T;"
    with running(app) as runtime:
        send(runtime, 1)
        store_before = runtime._assembly.tables.stores["T"].store
        runtime.add("@info(name = 'both') from S join T on S.k == T.k select T.v as v insert into O;")
        out = collect(runtime, "O")
        send(runtime, 2)
        assert sorted(row.data for row in runtime.query("from T select v")) == [(1,), (2,)]
        assert sorted(out) == [(1,), (2,)]
        assert runtime._assembly.tables.stores["T"].store is store_before


def test_rows_of_a_table_in_memory_stay_where_they_are() -> None:
    with running(APP) as runtime:
        send(runtime, 1, 2)
        table = runtime._assembly.tables["T"]
        runtime.add("@info(name = 'found') from S join T on S.v == T.v select T.v as v insert into Found;")
        found = collect(runtime, "Found")
        send(runtime, 2, at=1010)
        assert found == [(2,), (2,)]
        assert runtime._assembly.tables["T"] is table
        runtime.replace(runtime.plan.app.source or "", reset="T")
        assert runtime.query("from T select v") == []


def test_changes_leave_no_records_behind() -> None:
    with running(APP) as runtime:
        send(runtime, *range(20))
        runtime.query("from T select v")
        gc.collect()
        before = live_events()
        for _ in range(3):
            runtime.add("@info(name = 'more') from S#window.length(9) select v insert into More;")
            runtime.replace(APP)
        gc.collect()
        assert live_events() == before


def test_a_state_that_can_not_be_moved_changes_nothing() -> None:
    manager = SiddhiManager()

    @extension.stream_processor("live:count", registry=Registry())
    class Count:
        """Counts events; its state can be saved only."""

        def __init__(self, context: extension.ProcessorContext) -> None:
            self.seen = 0

        def process(self, event: Event) -> Event:
            self.seen += 1
            return event

        def snapshot(self) -> int:
            return self.seen

        def restore(self, state: object) -> None:
            raise RuntimeError("out of order")

    manager.set_extension("live:count", Count)
    app = """@app:playback define stream S (k string, v int);
    partition with (k of S) begin from S#live:count() select v insert into Counted; end;
    from every a=S -> not S[v > a.v] for 1 sec select a.v as v insert into Lates;"""
    with running(app, manager=manager) as runtime:
        counted, lates = collect(runtime, "Counted"), collect(runtime, "Lates")
        send(runtime, 1)
        with pytest.raises(CannotChangeAppError, match=r"a state could not be moved: .*out of order"):
            runtime.add("from S#window.time(1 sec) select v insert into More;")
        send(runtime, 0, at=1100)
        runtime.advance_clock(2500)
        assert counted == [(1,), (0,)]
        assert lates == [(1,), (0,)]
        assert "More" not in runtime
