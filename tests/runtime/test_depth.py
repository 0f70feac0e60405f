"""Limit of nested events: through streams, callbacks and fault streams."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager, extension
from siddhi._core.record.event import live_events
from siddhi.extension import Registry
from siddhi.types import AttributeType
from tests.kit.running import collect, running

CYCLE = """define stream A (v int); define stream B (v int); define stream C (v int);
    from A select v + 1 as v insert into B; from B select v insert into A; from C select v insert into Out;"""


@contextmanager
def failing(app: str) -> Iterator[tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]]:
    """A started app and what its exception handler gets."""
    failures: list[tuple[Any, ...]] = []
    with running(app) as runtime:
        runtime.handle_exception_with(lambda *failure: failures.append(failure))
        yield runtime, failures


def chain(length: int, select: str) -> str:
    streams = [f"define stream S{i} (v int);" for i in range(length + 1)]
    return " ".join(streams + [f"from S{i} select {select} insert into S{i + 1};" for i in range(length)])


def test_streams_in_a_cycle_end_with_one_error_and_the_app_continues():
    with failing(CYCLE) as (runtime, failures):
        rows = collect(runtime, "Out")
        runtime.input_handler("A").send((1,), 5)
        ((error, origin, events),) = failures
        assert isinstance(error, RecursionError)
        assert "one event led to a chain of more than 10000 sends" in str(error)
        assert (origin, events) == ("A", [Event(5, (1,))])
        runtime.input_handler("C").send((7,))
        runtime.input_handler("A").send((2,), 6)
        assert rows == [(7,)]
        assert [events for _, _, events in failures] == [[Event(5, (1,))], [Event(6, (2,))]]


@pytest.mark.parametrize(
    "query", ["from A insert into A;", "from A#window.length(2) select sum(v) as v insert into A;"]
)
def test_a_stream_that_inserts_into_itself_ends_with_an_error(query):
    with failing(f"define stream A (v long); {query}") as (runtime, failures):
        runtime.input_handler("A").send((1,), 5)
        assert [type(error) for error, _, _ in failures] == [RecursionError]


def test_each_row_of_a_batch_has_its_error():
    with failing(CYCLE) as (runtime, failures):
        runtime.input_handler("A").send_batch({"v": np.array([1, 2], dtype=np.int32)}, np.array([5, 6]))
        assert [events for _, _, events in failures] == [[Event(5, (1,))], [Event(6, (2,))]]


def test_several_cycles_fail_once():
    queries = "from A select v + 1 as v insert into A; " * 3
    with failing(f"define stream A (v int); {queries}") as (runtime, failures):
        runtime.input_handler("A").send((1,), 5)
        assert len(failures) == 1


def test_the_error_is_sent_to_the_fault_stream_of_the_sent_stream():
    with failing(f"@OnError(action = 'stream') {CYCLE}") as (runtime, failures):
        rows = collect(runtime, "!A")
        runtime.input_handler("A").send((1,), 5)
        ((value, error),) = rows
        assert value == 1
        assert isinstance(error, RecursionError)
        assert [told for told, _, _ in failures] == [error]  # the handler gets the error, the fault stream the event


def test_a_cycle_through_the_fault_stream_ends():
    app = """@OnError(action = 'stream') define stream A (v int);
        define function f[python] return int { raise ValueError('never') };
        from A select f(v) as v insert into B; from !A select v insert into A;"""
    with failing(app) as (runtime, failures):
        runtime.input_handler("A").send((1,), 5)
        *every_way, last = [type(error) for error, _, _ in failures]
        assert set(every_way) == {RuntimeError}
        assert last is RecursionError


def test_a_terminating_cycle_works():
    with failing("define stream A (v int); from A[v > 0] select v - 1 as v insert into A;") as (runtime, failures):
        rows = collect(runtime, "A")
        runtime.input_handler("A").send((200,))
        assert rows == [(value,) for value in range(201)]
        runtime.input_handler("A").send_batch({"v": [3, 1]})
        assert rows[201:] == [(0,), (1,), (2,), (3,), (0,), (1,)]
        assert failures == []


@pytest.mark.parametrize("select", ["v + 1 as v", "*"])
def test_long_chains_of_queries_work(select):
    with failing(chain(2000, select)) as (runtime, failures):
        rows = collect(runtime, "S2000")
        runtime.input_handler("S0").send((0,))
        runtime.input_handler("S0").send_batch({"v": np.arange(1000, dtype=np.int32)})
        added = 2000 if "+" in select else 0
        assert rows == [(added,)] + [(value + added,) for value in range(1000)]
        assert failures == []


def test_a_chain_of_streams_is_checked_once_per_batch():
    streams = [f"define stream S{i} (v int);" for i in range(61)]
    queries = [f"from S{i}[v == {k}] select v insert into S{i + 1};" for i in range(60) for k in (0, 1)]
    with running(" ".join(streams + queries)) as runtime:
        rows = collect(runtime, "S60")
        runtime.input_handler("S0").send_batch({"v": [0, 1, 2]})
        assert rows == [(0,), (1,)]


def test_a_small_stack_ends_a_chain_earlier():
    with failing(chain(2000, "v + 1 as v")) as (runtime, failures):
        rows = collect(runtime, "S2000")

        def send() -> None:
            runtime.input_handler("S0").send((0,), 5)
            runtime.input_handler("S0").send_batch({"v": [1]}, np.array([6]))

        before = threading.stack_size(256 * 1024)
        try:
            thread = threading.Thread(target=send)
            thread.start()
        finally:
            threading.stack_size(before)
        thread.join()
        assert rows == []
        assert [type(error) for error, _, _ in failures] == [RecursionError] * 2
        assert "recursion limit exceeded" in str(failures[0][0])
        runtime.input_handler("S0").send((0,))
        assert rows == [(2000,)]


@pytest.mark.parametrize("sends", [1, 2])
def test_callbacks_that_send_endlessly_fail_once(sends):
    with failing("define stream A (v int);") as (runtime, failures):
        calls = []

        def again(events: list[Event]) -> None:
            calls.append(len(events))
            for _ in range(sends):
                runtime.input_handler("A").send((1,))

        runtime.add_callback("A", again)
        runtime.input_handler("A").send((0,), 5)
        assert [type(error) for error, _, _ in failures] == [RecursionError]
        assert len(calls) < 2000


def test_a_callback_that_catches_the_error_cannot_continue_to_send():
    with failing("define stream A (v int);") as (runtime, _failures):
        calls = []

        def again(events: list[Event]) -> None:
            calls.append(len(events))
            for _ in range(2):
                with suppress(RecursionError):
                    runtime.input_handler("A").send((1,))

        runtime.add_callback("A", again)
        runtime.input_handler("A").send((0,), 5)
        assert len(calls) < 2000
        runtime.remove_callback(again)
        rows = collect(runtime, "A")
        runtime.input_handler("A").send((7,))
        assert rows == [(7,)]


def test_functions_that_send_endlessly_fail_once():
    manager = SiddhiManager()
    entered: list[SiddhiAppRuntime] = []

    @extension.function("test:again", args=(AttributeType.INT,), returns=AttributeType.INT, registry=Registry())
    def again(value: int) -> int:
        for _ in range(2):
            entered[0].input_handler("A").send((value + 1,))
        return value

    manager.set_extension("test:again", again)
    failures: list[tuple[Any, ...]] = []
    with running(
        "define stream A (v int); from A select test:again(v) as v insert into Out;", manager=manager
    ) as runtime:
        entered.append(runtime)
        runtime.handle_exception_with(lambda *failure: failures.append(failure))
        runtime.input_handler("A").send((0,), 5)
        assert [events for _, _, events in failures] == [[Event(5, (0,))]]


def test_a_recursion_inside_a_callback_is_its_own_error():
    def endless(events: list[Event]) -> None:
        endless(events)

    with failing("define stream A (v int); from A select v insert into B;") as (runtime, failures):
        runtime.add_callback("B", endless)
        rows = collect(runtime, "B")
        runtime.input_handler("A").send((1,), 5)
        ((error, origin, _),) = failures
        assert isinstance(error, RecursionError)
        assert origin == "callback of 'B'"
        assert rows == [(1,)]


def test_an_event_at_the_limit_leaks_nothing():
    gc.collect()  # what other tests left goes now
    before = live_events()
    with failing(CYCLE + "from A#window.length(3) select sum(v) as s insert into Sums;") as (runtime, failures):
        runtime.input_handler("A").send((1,), 5)
        runtime.input_handler("A").send_events([Event(6, (2,)), Event(7, (3,))])
        runtime.input_handler("A").send_batch({"v": [1, 2, 3]})
        failures.clear()
        kept = live_events() - before
        runtime.input_handler("A").send((1,), 8)
        failures.clear()
        assert live_events() - before == kept
