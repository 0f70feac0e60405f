"""Callbacks and functions that call their app: send, query, change, remove, shut down."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager, extension
from siddhi._core.record.event import live_events, live_pools
from siddhi.errors import CannotRestoreStateError, CannotSaveStateError, EventError, NotRunningError
from siddhi.extension import Registry
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.types import AttributeType
from tests.kit.running import collect, running

STREAM = "define stream S (k string, v int);"


class Playing:
    """A running app whose function ``test:act(v)`` runs a given action and returns ``v``."""

    def __init__(self, runtime: SiddhiAppRuntime) -> None:
        self.runtime = runtime
        self.act: Callable[[int], object] = lambda value: None
        self.failures: list[tuple[str, str]] = []
        runtime.handle_exception_with(lambda error, origin, _: self.failures.append((str(error), origin)))

    def send(self, key: str | None, value: int, time: int = 0) -> None:
        self.runtime.input_handler("S").send((key, value), time)

    def once(self, value: int, action: Callable[[], object]) -> None:
        """Do something when the function is called with a value for the first time."""
        done: list[int] = []

        def act(given: int) -> None:
            if given == value and not done:
                done.append(given)
                action()

        self.act = act


@contextmanager
def playing(app: str) -> Iterator[Playing]:
    entered: list[Playing] = []

    @extension.function("test:act", args=(AttributeType.INT,), returns=AttributeType.INT, registry=Registry())
    def act(value: int) -> int:
        entered[0].act(value)
        return value

    manager = SiddhiManager()
    manager.set_extension("test:act", act)
    manager.set_persistence_store(InMemoryPersistenceStore())
    with running("@app:playback " + STREAM + app, manager=manager) as runtime:
        entered.append(Playing(runtime))
        yield entered[0]


# --- functions that send into their own query


def test_a_function_can_send_into_its_query_and_columns_keep_their_groups():
    with playing("from S select k, test:act(v) as v, sum(v) as s, count() as n group by k insert into Out;") as app:
        rows = collect(app.runtime, "Out")
        app.once(1, lambda: app.send("b", 10))
        app.send("a", 1)
        app.send("a", 2)
        assert rows == [("b", 10, 10, 1), ("a", 1, 1, 1), ("a", 2, 3, 2)]


@pytest.mark.parametrize("columns", [False, True])
def test_rows_of_a_batch_and_nested_events_arrive_once(columns):
    with playing("from S select k, test:act(v) as v insert into Out;") as app:
        rows = collect(app.runtime, "Out")

        def again() -> None:
            if columns:
                app.runtime.input_handler("S").send_batch({"k": ["x", "y"], "v": [10, 11]}, np.array([0, 0]))
            else:
                app.runtime.input_handler("S").send_events([Event(0, ("x", 10)), Event(0, ("y", 11))])

        app.once(2, again)
        app.runtime.input_handler("S").send_batch({"k": list("abc"), "v": [1, 2, 3]}, np.array([0, 0, 0]))
        assert sorted(rows) == [("a", 1), ("b", 2), ("c", 3), ("x", 10), ("y", 11)]


def test_a_function_in_a_partition_can_send_to_outside_queries():
    app_text = """from S#window.length(2) select sum(v) as s insert into Sums;
        partition with (k of S) begin from S select k, test:act(v) as v, count() as n insert into Out; end;"""
    with playing(app_text) as app:
        sums, rows = collect(app.runtime, "Sums"), collect(app.runtime, "Out")
        app.send("a", 1)
        app.send("b", 2)
        app.once(3, lambda: app.send("c", 4))
        app.send("b", 3)
        assert sums == [(1,), (3,), (5,), (7,)]
        assert rows == [("a", 1, 1), ("b", 2, 1), ("c", 4, 1), ("b", 3, 2)]


def test_a_query_callback_in_a_partition_can_send_to_outside_queries():
    app_text = """from S#window.length(2) select sum(v) as s insert into Sums;
        partition with (k of S) begin @info(name = 'q') from S[v < 10] select k, v insert into Out; end;"""
    with playing(app_text) as app:
        sums = collect(app.runtime, "Sums")
        app.runtime.add_query_callback("q", lambda time, current, expired: app.send("z", 10 * current[0]["v"]))
        for key, value in (("a", 1), ("b", 2), ("c", 3)):
            app.send(key, value)
        assert sums == [(1,), (11,), (12,), (22,), (23,), (33,)]
        assert app.failures == []


def text(value: str) -> str:
    """A text without other references."""
    return "".join(list(value))


PAIR = "from S#window.length(1) as a join S#window.length(2) as b on "


def flood_while_joining(app_text: str) -> None:
    with playing(app_text) as app:
        rows = collect(app.runtime, "Out")

        def flood(unused: int) -> None:
            app.act = lambda value: None
            for value in range(20):
                app.send(f"new {value}", 100 + value)

        for value in (1, 2):
            app.send(text("key"), value)
        app.act = flood
        app.send(text("key"), 3)
        assert app.failures == []
        assert all(isinstance(key, str) and value > 0 for key, value in rows)


@pytest.mark.parametrize(
    "app_text",
    [
        PAIR + "a.k == b.k select a.k as k, test:act(b.v) as v insert into Out;",
        PAIR + "test:act(b.v) > 0 and a.k == b.k select a.k as k, b.v as v insert into Out;",
        PAIR + "test:act(b.v) > 0 select a.k as k, b.v as v insert into Out;",
        """define window W (k string, v int) length(2); from S insert into W;
        from S join W on test:act(W.v) > 0 select S.k as k, test:act(W.v) as v insert into Out;""",
    ],
)
def test_matches_of_a_join_stay_valid_while_a_function_removes_them(app_text):
    gc.collect()
    before = live_events()
    flood_while_joining(app_text)
    gc.collect()
    assert live_events() == before


@pytest.mark.parametrize("sent", [1, 2, 3, 7])
def test_events_sent_during_the_selection_of_a_batch_join_later_batches(sent):
    with playing("from S#window.lengthBatch(3) select test:act(v) as v insert all events into Out;") as app:
        rows: list[list[int]] = []
        app.runtime.add_query_callback(
            "query_1", lambda time, current, _: rows.append([event["v"] for event in current])
        )
        app.once(2, lambda: [app.send("x", 10 + i) for i in range(sent)])
        for value in range(1, 4):
            app.send("a", value)
        flat = [1, 2, 3, *range(10, 10 + sent)]
        assert rows == [flat[i : i + 3] for i in range(0, len(flat) - len(flat) % 3, 3)]
        assert app.failures == []


def test_a_period_that_ends_during_a_batch_ends_after_it():
    with playing("from S#window.timeBatch(1 sec) select test:act(v) as v insert into Out;") as app:
        rows = collect(app.runtime, "Out")
        app.once(1, lambda: (app.send("x", 10, 2100), app.send("x", 11, 3100)))
        app.send("a", 1, 1000)
        app.send("a", 2, 1500)
        app.send("b", 3, 5200)
        app.runtime.advance_clock(9000)
        assert sorted(rows) == [(1,), (2,), (3,), (10,), (11,)]
        assert app.failures == []


# What windows are tried with; joins by an index, by a range and by looking at everything.
SELECT = "from T#window.{window} select test:act(v) as v insert all events into Out;"
JOINS = [
    f"from T#window.{{window}} as a join T#window.length(9) as b on {on} select test:act(a.v) as v insert {events} Out;"
    for on in ("a.v == b.v", "a.v >= b.v", "a.ts == b.ts and test:act(b.v) >= 0", "a.v > b.v or a.v <= b.v")
    for events in ("into", "all events into")
]


def send_and_fail_in_batches(query: str) -> None:
    with playing(f"define stream T (v int, ts long); {query}") as app:
        handler = app.runtime.input_handler("T")
        calls: list[int] = []

        def act(value: int) -> None:
            calls.append(value)
            if len(calls) % 5 == 0:
                raise ArithmeticError("every fifth")
            if len(calls) % 3 == 0 and value < 100 and len(calls) < 150:
                for i in range(5):
                    handler.send((value + 100, i * 900), app.runtime.now + 900)

        app.act = act
        for value in range(30):
            handler.send((value, value * 300), 1000 + 300 * value)
        assert calls
        assert [message for message, _ in app.failures if "every fifth" not in message] == []


@pytest.mark.parametrize(
    "window",
    [
        "expression('count() < 3')",
        "expressionBatch('count() < 3')",
        "cron('*/1 * * * * ?')",
        "externalTimeBatch(ts, 1 sec, 0, 100)",
        "externalTimeBatch(ts, 1 sec)",
        "batch()",
        "batch(2)",
        "lengthBatch(2)",
        "lengthBatch(2, true)",
        "timeBatch(1 sec)",
        "timeBatch(1 sec, true)",
        "time(1 sec)",
        "length(2)",
    ],
)
@pytest.mark.parametrize("query", [SELECT, *JOINS])
def test_windows_support_functions_that_send_and_fail(window, query):
    gc.collect()
    before = live_events()
    send_and_fail_in_batches(query.format(window=window))
    gc.collect()
    assert live_events() == before


@pytest.mark.parametrize("on", ["a.k == b.k", "a.k == b.k or a.v == b.v", "a.v >= b.v"])
@pytest.mark.parametrize("events", ["into", "all events into"])
def test_events_sent_into_a_joined_batch_window_are_its_next_batch(on, events):
    query = (
        f"from S#window.lengthBatch(2) as a left outer join S#window.length(1) as b on {on} select test:act(a.v) as v"
    )
    with playing(f"define stream T (k string, v int); {query.replace('join S', 'join T')} insert {events} Out;") as app:
        rows = collect(app.runtime, "Out")
        app.once(1, lambda: [app.send("a", value) for value in (3, 4)])
        for value in (1, 2, 5, 6):
            app.send("a", value)
        taken_back = [(1,), (2,)], [(3,), (4,)]
        first, second = taken_back if events == "all events into" else ([], [])
        assert rows == [(1,), (2,), *first, (3,), (4,), *second, (5,), (6,)]


# --- rows that fail inside a batch


@pytest.mark.parametrize(
    "app_text",
    [
        "partition with (k of S) begin from S select test:act(v) as v insert into Out; end;",
        "define window W (k string, v int) length(2); from S insert into W; from W select test:act(v) as v insert into Out;",
    ],
)
def test_a_failed_row_does_not_affect_others_of_its_batch(app_text):
    manager = SiddhiManager()

    @extension.function("test:act", args=(AttributeType.INT,), returns=AttributeType.INT, registry=Registry())
    def act(value: int) -> int:
        if value == 2:
            raise ArithmeticError("two")
        return value

    manager.set_extension("test:act", act)
    failures = []
    with running(STREAM + app_text, manager=manager) as runtime:
        runtime.handle_exception_with(lambda *failure: failures.append(failure[2]))
        rows = collect(runtime, "Out")
        runtime.input_handler("S").send_batch({"k": ["a"] * 3, "v": [1, 2, 3]}, np.array([5, 6, 7]))
        assert rows == [(1,), (3,)]
        assert [events[0].timestamp for events in failures] == [6]


# --- state and life


@pytest.mark.parametrize("query", ["#window.timeBatch(1 sec)", "#window.time(1 sec)", ""])
def test_a_restore_during_an_event_is_refused(query):
    with playing(f"from S{query} select v insert all events into Out;") as app:
        snapshot = app.runtime.snapshot()
        errors = []

        def restore(events: list[Event]) -> None:
            with pytest.raises(CannotRestoreStateError, match="still being processed") as caught:
                app.runtime.restore(snapshot)
            errors.append(caught.value)

        app.runtime.add_callback("Out", restore)
        for time in (1000, 1100, 2500, 4000):
            app.send("a", time, time)
        assert errors
        app.runtime.restore(snapshot)


@pytest.mark.parametrize("query", ["#window.timeBatch(1 sec)", "#window.time(1 sec)", ""])
@pytest.mark.parametrize("action", ["snapshot", "snapshot_blocks", "persist"])
def test_a_snapshot_during_an_event_is_refused(query, action):
    # Of two queries that read it the first has counted the event, the second has not.
    counting = f"from S{query} select count() as n insert all events into "
    with playing(f"{counting} Out; {counting} Later;") as app:
        errors = []

        def save(events: list[Event]) -> None:
            with pytest.raises(
                CannotSaveStateError, match=r"still being processed; save after .*manager\.persist_every"
            ) as caught:
                getattr(app.runtime, action)()
            errors.append(caught.value)

        app.runtime.add_callback("Out", save)
        for time in (1000, 1100, 2500, 4000):
            app.send("a", time, time)
        assert errors
        getattr(app.runtime, action)()


def test_another_thread_saves_after_the_current_event():
    counting = "from S select count() as n insert into "
    with playing(f"{counting} Out; {counting} Later;") as app:
        snapshots: list[bytes] = []
        saving = threading.Thread(target=lambda: snapshots.append(app.runtime.snapshot()))
        app.runtime.add_callback("Out", lambda events: None if saving.is_alive() else saving.start())
        app.send("a", 1, 1000)
        saving.join(30)
        assert snapshots == [app.runtime.snapshot()]


def test_a_callback_of_a_timer_can_shut_down():
    with playing(
        "from S#window.timeBatch(1 sec) select v insert into Out; from S#window.time(1 sec) select v insert into X;"
    ) as app:
        calls = []

        def act(events: list[Event]) -> None:
            calls.append(len(events))
            app.runtime.shutdown()

        app.runtime.add_callback("Out", act)
        app.send("a", 1, 1000)
        app.send("a", 2, 1100)
        app.send("a", 3, 2500)
        assert calls == [2]
        assert not app.runtime.is_running
        assert app.failures == []


def test_an_app_shut_down_during_an_event_sets_no_timers_and_is_released():
    gc.collect()
    before = live_pools()
    with playing(
        "from S select test:act(v) as v insert into M; from M#window.time(1 sec) select v insert into Out;"
    ) as app:
        app.once(1, app.runtime.shutdown)
        app.send("a", 1, 1000)
        assert app.runtime.next_due is None
    del app
    gc.collect()
    assert live_pools() == before


def test_a_waiting_send_is_rejected_after_the_app_was_shut_down():
    refused = []
    with running(STREAM + "from S select v insert into Out;") as runtime:
        handler = runtime.input_handler("S")
        rows = collect(runtime, "Out")
        sends: list[Callable[[], object]] = [
            lambda: handler.send(("a", 1)),
            lambda: handler.send_events([Event(1, ("a", 1))]),
            lambda: handler.send_batch({"k": ["a"], "v": [1]}),
        ]

        def attempt(send: Callable[[], object]) -> None:
            try:
                send()
            except NotRunningError as error:
                refused.append(error)

        threads = [threading.Thread(target=attempt, args=(send,)) for send in sends]
        with runtime._context.lock:
            for thread in threads:
                thread.start()
            runtime.shutdown()
        for thread in threads:
            thread.join()
        assert len(refused) == 3
        assert rows == []


def test_an_error_at_the_start_of_a_batch_releases_the_lock():
    with running(STREAM + "from S select v insert into Out;") as runtime:
        with pytest.raises(EventError):
            runtime.input_handler("S").send_batch({"k": ["a"]})
        assert not runtime._context.lock.is_mine


# --- callbacks that come and go


def test_a_callback_that_removes_itself_does_not_skip_the_next():
    with running(STREAM) as runtime:
        calls: list[str] = []

        def first(events: list[Event]) -> None:
            calls.append("first")
            runtime.remove_callback(first)

        runtime.add_callback("S", first)
        runtime.add_callback("S", lambda events: calls.append("second"))
        runtime.add_callback("S", lambda events: calls.append("third"))
        runtime.input_handler("S").send(("a", 1))
        runtime.input_handler("S").send_batch({"k": ["a"], "v": [1]})
        assert calls == ["first", "second", "third", "second", "third"]


def test_a_callback_removed_by_an_earlier_one_is_not_called():
    with running(STREAM) as runtime:
        calls: list[str] = []
        second = lambda events: calls.append("second")  # noqa: E731

        def first(events: list[Event]) -> None:
            calls.append("first")
            runtime.remove_callback(second)
            runtime.remove_callback(first)

        runtime.add_callback("S", first)
        runtime.add_callback("S", second)
        for _ in range(2):
            runtime.input_handler("S").send(("a", 1))
        assert calls == ["first"]


@pytest.mark.parametrize("inside", [False, True])
def test_removed_callbacks_are_released(inside):
    class Listener:
        def __call__(self, events: list[Event]) -> None:
            if inside:
                runtime.remove_callback(self)

    with running(STREAM) as runtime:
        listeners = []
        for _ in range(5):
            listener = Listener()
            listeners.append(weakref.ref(listener))
            runtime.add_callback("S", listener)
            runtime.input_handler("S").send(("a", 1))
            if not inside:
                runtime.remove_callback(listener)
            del listener
        runtime.input_handler("S").send(("a", 1))
        gc.collect()
        assert [reference() for reference in listeners] == [None] * 5


# --- timestamps and values


@pytest.mark.parametrize("time", [1.5, "x", b"x", True, 2**70, [1], np.float64(2)])
def test_a_timestamp_that_is_not_an_integer_is_refused_immediately(time):
    with running("@app:playback " + STREAM) as runtime:
        rows = collect(runtime, "S")
        handler = runtime.input_handler("S")
        with pytest.raises(EventError, match="timestamp"):
            handler.send(("a", 1), time)
        with pytest.raises(EventError, match="timestamp"):
            handler.send_events([Event(time, ("a", 1))])
        if not isinstance(time, list):
            with pytest.raises(EventError, match="timestamp"):
                handler.send_batch({"k": ["a"], "v": [1]}, time)
        with pytest.raises(EventError, match="timestamp"):
            handler.send_batch({"k": ["a"], "v": [1]}, [time])
        assert rows == []


def test_numpy_integers_are_timestamps():
    with running("@app:playback " + STREAM) as runtime:
        events: list[Event] = []
        runtime.add_callback("S", events.extend)
        runtime.input_handler("S").send(("a", 1), np.int64(5))
        runtime.input_handler("S").send_events([Event(np.int32(6), ("a", 1))])
        runtime.input_handler("S").send_batch({"k": ["a"], "v": [1]}, [np.int64(7)])
        assert [event.timestamp for event in events] == [5, 6, 7]


class Interrupting:
    """A value that is asked for its number when somebody presses Ctrl-C."""

    def __index__(self) -> int:
        raise KeyboardInterrupt


def test_an_interrupt_while_values_are_read_leaks_nothing():
    with running(STREAM) as runtime:
        gc.collect()  # what other tests left goes now
        before = live_events()
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                runtime.input_handler("S").send(("a", Interrupting()))
            with pytest.raises(KeyboardInterrupt):
                runtime.input_handler("S").send_events([Event(0, ("a", 1)), Event(0, ("a", Interrupting()))])
        assert live_events() == before
        assert not runtime._context.lock.is_mine


def test_an_interrupt_of_a_callback_leaves_no_state():
    def interrupt(events: Any) -> None:
        raise KeyboardInterrupt

    with running(STREAM + "from S select k, v + 1 as v insert into Out;") as runtime:
        runtime.add_callback("Out", interrupt)
        gc.collect()  # what other tests left goes now
        before = live_events()
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                runtime.input_handler("S").send(("a", 1))
            with pytest.raises(KeyboardInterrupt):
                runtime.input_handler("S").send_batch({"k": ["a"], "v": [1]})
        gc.collect()
        assert live_events() == before
        runtime.remove_callback(interrupt)
        rows = collect(runtime, "Out")
        runtime.input_handler("S").send(("a", 1))
        assert rows == [("a", 2)]


def test_an_interrupt_of_a_batch_callback_does_not_affect_others():
    def interrupt(batch: Any) -> None:
        raise KeyboardInterrupt

    with running(STREAM + "from S select k, v + 1 as v insert into Out;") as runtime:
        runtime.add_batch_callback("S", interrupt)
        sizes: list[int] = []
        runtime.add_batch_callback("Out", lambda batch: sizes.append(len(batch)))
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                runtime.input_handler("S").send_batch({"k": ["a", "b"], "v": [1, 2]})
        assert sizes == [2, 2]


@pytest.mark.parametrize("columns", ["v", "sum(v) as s"])
def test_an_event_without_external_time_fails_and_the_window_continues(columns):
    app_text = (
        f"define stream T (ts long, v int); from T#window.externalTime(ts, 1 sec) select {columns} insert into Out;"
    )
    with running(app_text) as runtime:
        failures = []
        runtime.handle_exception_with(lambda error, origin, events: failures.append((str(error), events)))
        rows = collect(runtime, "Out")
        for time in (1000, None, 1500, 2600):
            runtime.input_handler("T").send((time, 1), 5)
        assert failures == [("the time of externalTime, 'ts', is null: expected ms since 1970", [Event(5, (None, 1))])]
        assert rows == ([(1,)] * 3 if columns == "v" else [(1,), (2,), (1,)])
