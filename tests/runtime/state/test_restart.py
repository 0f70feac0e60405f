"""Restart of an app: its state is reset, and what users attached stays."""

from __future__ import annotations

import gc
import logging
import threading
import weakref

import pytest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import CannotRestoreStateError, NoPersistenceStoreError, NotRunningError, SubscriberUnavailableError
from siddhi.io import InMemoryBroker
from siddhi.persistence import InMemoryPersistenceStore
from tests.kit.running import collect, collect_events

SUMS = """@app:name('A') @app:playback define stream S (k string, v int);
@info(name = 'sums') from S#window.length(3) select k, sum(v) as total insert into Out;"""


def create(app: str = SUMS) -> SiddhiAppRuntime:
    return SiddhiManager().create_siddhi_app_runtime(app)


# --- what is gone


@pytest.mark.parametrize(
    ("body", "first"),
    [
        ("from S#window.length(3) select sum(v) as a insert into Out;", [(1,), (3,)]),
        ("from S#window.time(1 sec) select v as a insert all events into Out;", [(1,), (2,), (1,)]),
        ("from S#window.timeBatch(500) select count() as a insert into Out;", [(2,)]),
        ("from S select count() as a group by k insert into Out;", [(1,), (2,)]),
        ("partition with (k of S) begin from S select sum(v) as a insert into Out; end;", [(1,), (3,)]),
        ("from every e = S, f = S select e.v as a insert into Out;", [(1,)]),
        ("define table T (v int); from S select v insert into T; from S join T select T.v as a insert into Out;", None),
        ("define window W (v int) length(5); from S select v insert into W; from W select sum(v) as a insert into Out;", None),
        ("from S select v as a output last every 2 events insert into Out;", [(2,)]),
        ("define trigger G at every 400 millisec; from G select eventTimestamp() as a insert into Out;", [(1000,), (1800,), (1800,)]),
        ("define trigger G at 'start'; from G select 1 as a insert into Out;", [(1,)]),
    ],
)  # fmt: skip
def test_a_restarted_app_has_no_earlier_state(body, first):
    runtime = create(f"@app:playback define stream S (k string, v int); {body}")
    lives = []
    for _ in range(3):
        rows = collect(runtime, "Out")
        with runtime:
            runtime.input_handler("S").send(("a", 1), 600)
            runtime.input_handler("S").send(("a", 2), 1000)
            runtime.advance_clock(1800)
        lives.append(rows)
    assert lives[0]
    # Callbacks of earlier lives hear of later ones.
    assert lives == [lives[2] * 3, lives[2] * 2, lives[2]]
    if first is not None:
        assert lives[2] == first


def test_scripts_are_reset():
    script = "global n\n n = globals().get('n', 0) + data[0]\n return n"
    runtime = create(
        f"@app:playback define stream S (v int); define function f[python] return int {{\n {script}\n}};"
        "from S select f(v) as a insert into Out;"
    )
    rows = collect(runtime, "Out")
    for _ in range(2):
        with runtime:
            for _ in range(2):
                runtime.input_handler("S").send((1,), 1)
    assert rows == [(1,), (2,)] * 2


def test_the_playback_clock_is_reset():
    runtime = create()
    times = collect_events(runtime, "Out")
    for _ in range(2):
        with runtime:
            assert runtime.now == 0
            runtime.input_handler("S").send(("a", 1), 5000)
            assert runtime.now == 5000
    assert [event.timestamp for chunk in times for event in chunk] == [5000, 5000]


def test_earlier_timers_do_not_fire():
    runtime = create(
        "@app:playback define stream S (v int); from S#window.time(1 sec) select v insert all events into Out;"
    )
    rows = collect(runtime, "Out")
    with runtime:
        runtime.input_handler("S").send((1,), 1000)
    with runtime:
        assert runtime.next_due is None
        runtime.advance_clock(9000)
    assert rows == [(1,)]


def test_timers_of_the_system_clock_run_again():
    runtime = create("define stream S (v int); from S#window.time(1) select v insert expired events into Gone;")
    gone = threading.Semaphore(0)
    runtime.add_callback("Gone", lambda events: gone.release())
    for _ in range(2):
        with runtime:
            runtime.input_handler("S").send((1,))
            assert gone.acquire(timeout=20)


def test_earlier_state_is_released():
    runtime = create()
    collect(runtime, "Out")
    runtime.collect("Out")
    runtime.add_query_callback("sums", lambda *call: None)
    runtime.enable_statistics("DETAIL")
    with runtime:
        runtime.debug()
        runtime.input_handler("S").send(("a", 1), 1)
    before = weakref.ref(runtime._assembly)
    with runtime:
        gc.collect()
        assert before() is None


# --- what stays


def test_callbacks_input_handlers_and_collectors_are_kept():
    runtime = create()
    handler = runtime.input_handler("S")
    order: list[str] = []
    removed: list[object] = []
    runtime.add_callback("Out", lambda events: order.append("first"))
    runtime.collect("Out", "S")
    runtime.add_query_callback("sums", lambda timestamp, current, expired: order.append("query"))
    runtime.add_batch_callback("Out", lambda batch: order.append(f"batch of {len(batch)}"))
    runtime.add_callback("Out", removed.append)
    runtime.remove_callback(removed.append)
    runtime.add_callback("Out", lambda events: order.append("last"))
    for number in range(2):
        with runtime:
            assert runtime.input_handler("S") is handler
            handler.send(("a", number), 1)
            handler.send_events([Event(2, ("b", number))])
            handler.send_batch({"k": ["c", "d"], "v": [number, number]})
        assert [word for word in order if word != "batch of 2"] == ["query", "first", "batch of 1", "last"] * 2 + [
            "query", "first", "last"] * 2  # fmt: skip
        assert order.count("batch of 2") == 1
        order.clear()
    assert removed == []
    drained = runtime.drain()
    assert [row[1] for row in drained["Out"]] == [0, 0, 0, 0, 1, 2, 3, 3]
    assert [row[-1] for row in drained["Out"]] == list(range(8))  # chunks are counted on
    assert len(drained["S"]) == 8


def test_callbacks_can_be_added_and_removed_between_runs():
    runtime = create()
    kept, gone = [], []
    runtime.add_callback("Out", gone.append)
    with runtime:
        pass
    runtime.remove_callback(gone.append)
    runtime.add_callback("Out", kept.append)
    with runtime:
        runtime.input_handler("S").send(("a", 1), 1)
        runtime.remove_callback(kept.append)
        runtime.input_handler("S").send(("a", 1), 1)
    assert len(kept) == 1
    assert gone == []
    with pytest.raises(ValueError, match="is not a callback"):
        runtime.remove_callback(kept.append)


def test_the_exception_handler_is_kept():
    runtime = create()
    failures = []
    runtime.handle_exception_with(lambda error, origin, events: failures.append(str(error)))

    def fail(events: list[Event]) -> None:
        raise ValueError(events[0].data[1])

    runtime.add_callback("Out", fail)
    for number in (1, 2):
        with runtime:
            runtime.input_handler("S").send(("a", number), 1)
    assert failures == ["1", "2"]


def test_without_a_handler_failures_are_logged_again(caplog):
    runtime = create()
    runtime.add_callback("Out", lambda events: 1 // 0)
    for _ in range(2):
        with runtime, caplog.at_level(logging.ERROR, "siddhi"):
            runtime.input_handler("S").send(("a", 1), 1)
    assert caplog.text.count("ZeroDivisionError: ") == 4  # each with its traceback


def test_statistics_start_from_zero_at_their_level():
    runtime = create()
    runtime.enable_statistics("DETAIL")
    for _ in range(2):
        with runtime:
            runtime.input_handler("S").send(("a", 1), 1)
            measured = runtime.statistics
            assert measured.level.value == "DETAIL"
            assert measured.streams["Out"].events == 1
            assert measured.queries["sums"].chunks == 1
            assert measured.memory["Queries", "sums"] > 0
        assert runtime.statistics.streams["Out"].events == 1  # still to be read


def test_the_selected_clock_is_kept():
    runtime = create("define stream S (v int); from S#window.time(1 sec) select v insert expired events into Gone;")
    chunks = collect_events(runtime, "Gone")
    runtime.enable_playback(timers="exact")
    for _ in range(2):
        with runtime:
            runtime.input_handler("S").send((1,), 1000)
            runtime.input_handler("S").send((2,), 5000)
    assert [event.timestamp for chunk in chunks for event in chunk] == [2000, 2000]


def test_the_heartbeat_starts_again():
    beaten = threading.Semaphore(0)
    runtime = create(
        "@app:playback(idle.time = '1 millisec', increment = '1 sec') define stream S (v int);"
        "from S#window.time(1 sec) select v insert expired events into Gone;"
    )
    runtime.add_callback("Gone", lambda events: beaten.release())
    for _ in range(2):
        with runtime:
            runtime.input_handler("S").send((1,), 1000)
            assert beaten.acquire(timeout=20)


def test_name_plan_and_definitions_are_kept():
    runtime = create("define stream S (v int); from S select v insert into Out;")
    before = runtime.name, runtime.plan, runtime.stream_definitions
    with runtime:
        pass
    with runtime:
        assert (runtime.name, runtime.plan, runtime.stream_definitions) == before


def test_sources_and_sinks_are_connected_again():
    runtime = create(
        "@source(type = 'inMemory', topic = 'restart.in') define stream S (v int);"
        "@sink(type = 'inMemory', topic = 'restart.out') define stream Out (total long);"
        "from S#window.length(5) select sum(v) as total insert into Out;"
    )
    published: list[object] = []
    InMemoryBroker.subscribe("restart.out", published.append)
    try:
        for _ in range(2):
            with runtime:
                InMemoryBroker.publish("restart.in", (1,))
                InMemoryBroker.publish("restart.in", (2,))
            with pytest.raises(SubscriberUnavailableError):
                InMemoryBroker.publish("restart.in", (3,))
    finally:
        InMemoryBroker.unsubscribe("restart.out", published.append)
    assert [getattr(payload, "data", payload) for payload in published] == [(1,), (3,), (1,), (3,)]


# --- what was saved


def test_a_saved_state_can_be_restored_before_or_after_the_start():
    manager = SiddhiManager()
    manager.set_persistence_store(InMemoryPersistenceStore())
    runtime = manager.create_siddhi_app_runtime(SUMS)
    rows = collect(runtime, "Out")
    handler = runtime.input_handler("S")
    with runtime:
        handler.send(("a", 1), 1000)
        revision = runtime.persist()
        handler.send(("b", 10), 1001)
    assert runtime.restore_last_revision() == revision
    assert manager.runtimes == (runtime,)
    assert "not started" in repr(runtime)
    with pytest.raises(NotRunningError):
        handler.send(("c", 2), 1002)
    with runtime:
        assert runtime.now == 1000
        handler.send(("c", 2), 1002)
    with runtime:
        handler.send(("d", 3), 1)
        runtime.restore_revision(revision)
        handler.send(("e", 4), 1003)
    assert rows == [("a", 1), ("b", 11), ("c", 3), ("d", 3), ("e", 5)]


def test_a_restored_session_continues_in_the_next_run():
    manager = SiddhiManager()
    manager.set_persistence_store(InMemoryPersistenceStore())
    runtime = manager.create_siddhi_app_runtime(
        "@app:playback define stream P (user string, item int);"
        "from P#window.session(2 sec, user) select * insert expired events into Out;"
    )
    chunks = collect_events(runtime, "Out")
    handler = runtime.input_handler("P")
    runtime.start()
    handler.send(("u", 101), 1000)
    handler.send(("u", 102), 1100)
    runtime.persist()
    runtime.shutdown()
    assert runtime.input_handler("P") is handler
    runtime.start()
    runtime.restore_last_revision()
    handler.send(("u", 103), 1200)
    runtime.advance_clock(3200)
    assert [[event.data[1] for event in chunk] for chunk in chunks] == [[101, 102, 103]]
    runtime.shutdown()


def test_restored_named_windows_continue_in_the_next_run():
    manager = SiddhiManager()
    manager.set_persistence_store(InMemoryPersistenceStore())
    runtime = manager.create_siddhi_app_runtime(
        "@app:playback define stream S (k string, v int); define window Late (k string, v int) delay(1450);"
        "define window Recent (k string) time(2 sec);"
        "from S select k, v insert into Late; from S select k insert into Recent;"
        "from Late select k, sum(v) as total insert into Sums;"
        "from Sums join Recent on Sums.k == Recent.k select Sums.k, Sums.total insert into Out;"
    )
    rows = collect(runtime, "Out")
    handler = runtime.input_handler("S")
    with runtime:
        handler.send(("IBM", 700), 1000)
        handler.send(("WSO2", 750), 1001)
        runtime.advance_clock(2450)
        runtime.advance_clock(2900)
        runtime.persist()
    with runtime:
        runtime.restore_last_revision()
        handler.send(("WSO2", 600), 2950)
        runtime.advance_clock(3100)
        runtime.advance_clock(4400)
    assert rows == [("IBM", 700), ("WSO2", 1450), ("WSO2", 2050)]


def test_the_last_state_can_be_saved_after_the_shutdown():
    runtime = create()
    rows = collect(runtime, "Out")
    with runtime:
        runtime.input_handler("S").send(("a", 1), 1)
    state = runtime.snapshot()
    with runtime:
        runtime.restore(state)
        runtime.input_handler("S").send(("a", 2), 1)
    assert rows == [("a", 1), ("a", 3)]


def test_a_refused_restore_leaves_an_app_that_can_start():
    runtime = create()
    with runtime:
        pass
    with pytest.raises(NoPersistenceStoreError):
        runtime.restore_last_revision()
    with pytest.raises(CannotRestoreStateError, match="not restored"):
        runtime.restore(b"no snapshot")
    with runtime:
        assert runtime.is_running


@pytest.mark.parametrize("incremental", [True, False])
def test_revisions_continue(incremental):
    manager = SiddhiManager()
    store = InMemoryPersistenceStore()
    (manager.set_incremental_persistence_store if incremental else manager.set_persistence_store)(store)
    runtime = manager.create_siddhi_app_runtime(SUMS)
    rows = collect(runtime, "Out")
    revisions = []
    for life in range(3):
        with runtime:
            runtime.input_handler("S").send(("a", life), 1)
            revisions.append(runtime.persist())
    assert revisions == sorted(set(revisions))
    with runtime:
        for revision in revisions:
            runtime.restore_revision(revision)
            runtime.input_handler("S").send(("b", 10), 1)
    assert rows == [("a", 0), ("a", 1), ("a", 2), ("b", 10), ("b", 11), ("b", 12)]


# --- when it can be started


def test_events_are_refused_between_runs():
    runtime = create()
    handler = runtime.input_handler("S")
    runtime.start()
    runtime.shutdown()
    assert repr(runtime) == "<App 'A' (shut down)>"
    for send in (
        lambda: handler.send(("a", 1)),
        lambda: handler.send_events([Event(1, ("a", 1))]),
        lambda: handler.send_batch({"k": ["a"], "v": [1]}),
        lambda: runtime.query("from T select *"),
    ):
        with pytest.raises(NotRunningError):
            send()
    runtime.start()
    assert repr(runtime) == "<App 'A' (running)>"
    handler.send(("a", 1))
    runtime.shutdown()


def test_an_app_that_never_ran_can_be_shut_down_and_started():
    runtime = create()
    runtime.shutdown()
    with runtime:
        assert runtime.is_running


def test_its_sources_can_be_started_later():
    runtime = create()
    with runtime:
        pass
    with pytest.raises(NotRunningError, match="not running"):
        runtime.start_sources()
    runtime.start_without_sources()
    runtime.start_sources()
    assert runtime.is_running
    runtime.shutdown()


def test_it_cannot_be_started_during_an_event():
    runtime = create()
    refused = []

    def act(events: list[Event]) -> None:
        runtime.shutdown()
        for again in (runtime.start, runtime.debug):
            with pytest.raises(NotRunningError, match="still processing an event; start it when the send has returned"):
                again()
            refused.append(again)

    runtime.add_callback("Out", act)
    runtime.start()
    runtime.input_handler("S").send(("a", 1), 1)
    assert len(refused) == 2
    runtime.remove_callback(act)
    rows = collect(runtime, "Out")
    with runtime:
        runtime.input_handler("S").send(("a", 1), 1)
    assert rows == [("a", 1)]


def test_it_cannot_be_started_before_a_shutdown():
    runtime = create(
        "define stream S (v int); @sink(type = 'inMemory', topic = 'restart.early') define stream Out (v int);"
    )
    refused = []

    def disconnect() -> None:
        with pytest.raises(NotRunningError, match="the shutdown is still in progress"):
            runtime.start()
        refused.append(True)

    with runtime:
        runtime.sinks["Out"][0].disconnect = disconnect
    assert refused
    with runtime:
        assert runtime.is_running


def test_another_thread_waits_for_the_current_event_to_end():
    runtime = create()
    steps: list[object] = []
    starter = threading.Thread(target=lambda: (runtime.start(), steps.append("started")))

    def act(events: list[Event]) -> None:
        if not starter.ident:
            runtime.shutdown()
            starter.start()
            while starter.is_alive() and not runtime._context.lock.is_borrowed and not _is_awaited(starter):
                pass
            runtime.shutdown()  # must not wait for the one who starts
            steps.append("done")

    runtime.add_callback("Out", act)
    runtime.start()
    runtime.input_handler("S").send(("a", 1), 1)
    starter.join(20)
    assert steps == ["done", "started"]
    assert runtime.is_running
    runtime.shutdown()


def _is_awaited(thread: threading.Thread) -> bool:
    """Whether a thread has come to where it waits for the app."""
    from sys import _current_frames

    frame = _current_frames().get(thread.ident or 0)
    return frame is not None and frame.f_code.co_name == "_rebuild_if_closed"


def test_a_waiting_send_uses_the_restarted_app():
    runtime = create()
    handler = runtime.input_handler("S")
    rows = collect(runtime, "Out")
    runtime.start()
    outcomes: list[str] = []

    def send() -> None:
        try:
            handler.send(("late", 1), 1)
            outcomes.append("taken")
        except NotRunningError:
            outcomes.append("refused")

    senders = [threading.Thread(target=send) for _ in range(4)]
    with runtime._context.lock:
        for sender in senders:
            sender.start()
        runtime.shutdown()
    runtime.start()
    for sender in senders:
        sender.join(20)
    assert len(outcomes) == 4
    assert len(rows) == outcomes.count("taken")
    handler.send(("now", 1), 2)
    assert rows[-1][0] == "now"
    runtime.shutdown()


def test_senders_of_several_threads_work_across_restarts():
    runtime = create("define stream S (v int); from S select v insert into Out;")
    handler = runtime.input_handler("S")
    rows = collect(runtime, "Out")
    taken = [0] * 3
    over = threading.Event()

    def send(number: int) -> None:
        while not over.is_set():
            try:
                handler.send((number,))
                taken[number] += 1
            except NotRunningError:
                pass

    senders = [threading.Thread(target=send, args=(number,)) for number in range(3)]
    for sender in senders:
        sender.start()
    for _ in range(20):
        with runtime:
            handler.send_batch({"v": [7] * 10})
    over.set()
    for sender in senders:
        sender.join(20)
    assert [rows.count((number,)) for number in range(3)] == taken
    assert rows.count((7,)) == 200
