"""Temporal streams with ``@async``: items and CTIs wait in one buffer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import CtiViolation, EventError, NotRunningError
from siddhi.temporal import MAX, TemporalEvent
from tests.kit.running import running

APP = """{} @temporal(model = 'edge', policy = '{}') define stream S (id int, name string);
from S#window.snapshot() select count() as n insert into Out;
"""
ASYNC = "@async(buffer.size = '{}', batch.size.max = '{}')"
LIMIT = 10


@contextmanager
def collecting(app: str) -> Iterator[tuple[SiddhiAppRuntime, list[TemporalEvent], threading.Event]]:
    """Start an app; the event is set by the CTI at MAX."""
    items: list[TemporalEvent] = []
    done = threading.Event()

    def receive(new: list[TemporalEvent]) -> None:
        items.extend(new)
        if new[-1].start == MAX:
            done.set()

    with running(app) as runtime:
        runtime.add_temporal_callback("Out", receive)
        yield runtime, items, done


def played(annotation: str, calls: list[tuple[str, tuple[Any, ...]]]) -> list[TemporalEvent]:
    with collecting(APP.format(annotation, "drop")) as (runtime, items, done):
        s = runtime.input_handler("S")
        for method, arguments in calls:
            getattr(s, method)(*arguments)
        s.cti(MAX)  # type: ignore[union-attr]
        assert done.wait(LIMIT)
    return items


ROW = st.tuples(st.integers(0, 2), st.none() | st.sampled_from(["a", "b"]))
TIME = st.integers(0, 9)
CALL = st.one_of(
    st.tuples(st.just("start_edge"), st.tuples(TIME, ROW)),
    st.tuples(
        st.just("insert"),
        st.builds(lambda start, length, row: (start, start + length, row), TIME, st.integers(1, 5), ROW),
    ),
    st.tuples(
        st.just("end_edge"),
        st.builds(lambda start, length, row: (start, start + length, row), TIME, st.integers(1, 5), ROW),
    ),
    st.tuples(st.just("cti"), st.tuples(TIME)),
)


@given(calls=st.lists(CALL, max_size=12), size=st.sampled_from([1, 2, 8]), workers=st.integers(1, 2))
def test_an_async_stream_takes_items_in_the_order_in_which_they_are_sent(
    calls: list[tuple[str, tuple[Any, ...]]], size: int, workers: int
) -> None:
    annotation = f"@async(buffer.size = '{size}', workers = '{workers}')"
    assert played(annotation, calls) == played("", calls)


def test_batches_and_their_ctis_wait_in_the_buffer() -> None:
    with collecting(APP.format(ASYNC.format(2, 1), "error")) as (runtime, items, done):
        s: Any = runtime.input_handler("S")
        s.insert_batch(
            {"start": [1, 3, 5], "end": [4, 6, 9], "id": [1, 2, 3], "name": ["a", None, "c"]}, end="end", cti=MAX
        )
        assert done.wait(LIMIT)
        assert s.cti_time == MAX
    assert [item.data for item in items[:-1]] == [(1,), (2,), (1,), (2,), (1,)]


def test_a_row_that_does_not_fit_is_refused_at_once() -> None:
    with running(APP.format("@async", "error")) as runtime:
        s: Any = runtime.input_handler("S")
        with pytest.raises(EventError):
            s.start_edge(1, ("x", "y"))


def test_a_late_item_goes_to_the_error_handling_of_the_stream() -> None:
    refused: list[Any] = []
    app = (
        "@OnError(action = 'stream') " + APP.format("@async", "error") + "from !S select id, name insert into Refused;"
    )
    with collecting(app) as (runtime, _, done):
        runtime.add_callback("Refused", lambda events: refused.extend(event.data for event in events))
        s: Any = runtime.input_handler("S")
        s.cti(5)
        s.insert(1, 9, (1, "late"))
        s.end_edge(6, 7, (2, "unknown"))
        s.cti(MAX)
        assert done.wait(LIMIT)
    assert refused == [(1, "late"), (2, "unknown")]


def test_without_on_error_a_late_item_goes_to_the_exception_handler() -> None:
    found: list[tuple[str, type[Exception], Any]] = []
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(APP.format("@async", "error")) as runtime:
        runtime.handle_exception_with(lambda error, origin, events: found.append((origin, type(error), events[0].end)))
        done = threading.Event()
        runtime.add_temporal_callback("Out", lambda items: done.set() if items[-1].start == MAX else None)
        s: Any = runtime.input_handler("S")
        s.cti(5)
        s.insert(1, 9, (1, "late"))
        s.cti(MAX)
        assert done.wait(LIMIT)
    assert found == [("S", CtiViolation, 9)]


def test_senders_wait_for_room_and_not_for_what_follows() -> None:
    sent, go, blocked = threading.Event(), threading.Event(), threading.Event()
    with running(APP.format(ASYNC.format(4, 1), "error")) as runtime:

        def block(items: list[TemporalEvent]) -> None:
            blocked.set()
            assert go.wait(LIMIT)

        runtime.add_temporal_callback("Out", block)
        s: Any = runtime.input_handler("S")
        s.insert(1, 2, (1, "a"))
        s.cti(2)
        assert blocked.wait(LIMIT)

        def send() -> None:
            for start in range(2, 7):
                s.start_edge(start, (start, "b"))
            sent.set()

        sender = threading.Thread(target=send)
        sender.start()
        assert not sent.wait(0.05)  # four of five have room
        go.set()
        assert sent.wait(LIMIT)
        sender.join()


def test_a_shutdown_delivers_the_buffer_and_then_ends_the_input() -> None:
    app = """@async @temporal(@advance(shutdown = 'true')) define stream S (id int);
    from S select id insert into Out;"""
    items: list[TemporalEvent] = []
    with running(app) as runtime:
        runtime.add_temporal_callback("Out", items.extend)
        s: Any = runtime.input_handler("S")
        for number in range(100):
            s.insert(number, number + 1, (number,))
    assert len(items) == 101
    with pytest.raises(NotRunningError):
        s.cti(5)
