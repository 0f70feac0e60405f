"""``@async`` streams: order, back-pressure, errors, shutdown; no event is lost or duplicated."""

from __future__ import annotations

import gc
import re
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

import pytest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import EventError, LimitExceededError, NotRunningError, SiddhiAppCreationError

WAIT = 30  # seconds until a test that hangs fails; no test waits that long


@contextmanager
def running(app: str) -> Iterator[SiddhiAppRuntime]:
    manager = SiddhiManager()
    runtime = manager.create_siddhi_app_runtime(app)
    runtime.start()
    try:
        yield runtime
    finally:
        manager.shutdown()


def collect(runtime: SiddhiAppRuntime, stream: str) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    runtime.add_callback(stream, lambda events: rows.extend(event.data for event in events))
    return rows


PLAIN = """
    @async(buffer.size='8', workers='{workers}', batch.size.max='{batch}')
    define stream S (i int);
    from S[i >= 0] select i insert into O;
"""


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("batch", [1, 3, 100])
def test_events_are_delivered_in_the_order_they_were_sent(workers: int, batch: int) -> None:
    with running(PLAIN.format(workers=workers, batch=batch)) as runtime:
        rows = collect(runtime, "O")
        handler = runtime.input_handler("S")
        for i in range(500):
            handler.send((i,))
        runtime.shutdown()
        assert rows == [(i,) for i in range(500)]


def test_the_annotation_needs_no_settings() -> None:
    with running("@async define stream S (i int); from S select i insert into O;") as runtime:
        rows = collect(runtime, "O")
        runtime.input_handler("S").send((1,))
        runtime.shutdown()
        assert rows == [(1,)]


def test_a_sender_does_not_wait_for_a_slow_subscriber() -> None:
    with running(PLAIN.format(workers=1, batch=1)) as runtime:
        go_on = threading.Event()
        runtime.add_callback("O", lambda events: go_on.wait(WAIT))
        for i in range(5):
            runtime.input_handler("S").send((i,))  # returns while the first event is still being handled
        go_on.set()


def test_a_full_buffer_blocks_the_sender() -> None:
    with running(PLAIN.format(workers=1, batch=1)) as runtime:
        entered, go_on = threading.Event(), threading.Event()
        rows: list[object] = []

        def slow(events: list[Event]) -> None:
            entered.set()
            go_on.wait(WAIT)
            rows.extend(event.data[0] for event in events)

        runtime.add_callback("O", slow)
        handler = runtime.input_handler("S")
        handler.send((0,))
        assert entered.wait(WAIT)
        sent = []

        def send() -> None:
            for i in range(1, 30):
                handler.send((i,))
                sent.append(i)

        sender = threading.Thread(target=send)
        sender.start()
        until = time.monotonic() + WAIT
        while len(sent) < 8 and time.monotonic() < until:  # the buffer's size
            sender.join(0.001)
        sender.join(0.05)
        assert sender.is_alive()
        assert sent == list(range(1, 9))
        go_on.set()
        sender.join(WAIT)
        runtime.shutdown()
        assert rows == list(range(30))


@pytest.mark.parametrize(("size", "expected"), [(2, [2, 2, 2, 1]), (100, [7])])
def test_buffered_events_are_delivered_in_chunks_of_the_batch_size(size: int, expected: list[int]) -> None:
    app = f"@async(buffer.size='16', batch.size.max='{size}') define stream S (i int); from S select i insert into O;"
    with running(app) as runtime:
        entered, go_on = threading.Event(), threading.Event()
        sizes: list[int] = []

        def slow(events: list[Event]) -> None:
            sizes.append(len(events))
            entered.set()
            go_on.wait(WAIT)

        runtime.add_callback("S", slow)
        handler = runtime.input_handler("S")
        handler.send((0,))
        assert entered.wait(WAIT)
        for i in range(7):
            handler.send((i,))
        go_on.set()
        runtime.shutdown()
        assert sizes == [1, *expected]


def test_queries_can_insert_into_an_async_stream() -> None:
    app = """
        define stream S (i int);
        @async(buffer.size='2', batch.size.max='1') define stream A (i int);
        from S select i insert into A;
        from A select i * 2 as i insert into O;
    """
    with running(app) as runtime:
        rows = collect(runtime, "O")
        runtime.input_handler("S").send_events([Event(i, (i,)) for i in range(100)])
        runtime.shutdown()
        assert rows == [(2 * i,) for i in range(100)]


def test_a_stream_that_inserts_into_itself_does_not_wait_for_itself() -> None:
    app = """
        @async(buffer.size='2', workers='2', batch.size.max='1') define stream S (depth int);
        from S[depth > 0] select depth - 1 as depth insert into S;
        from S[depth > 0] select depth - 1 as depth insert into S;
        from S select depth insert into O;
    """
    with running(app) as runtime:
        rows = collect(runtime, "O")
        runtime.input_handler("S").send((8,))
        runtime.shutdown()
        assert len(rows) == 2**9 - 1


def test_events_refused_by_a_full_stream_go_to_its_fault_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("siddhi.runtime.assembly.async_stream.DRAIN_SECONDS", 0.0)  # the stream never ends
    text = """@OnError(action = 'stream') @async(buffer.size = '4', batch.size.max = '1') define stream S (v int);
        from S select v insert into S; from S select v insert into S;"""
    refused: SimpleQueue[tuple[object, ...]] = SimpleQueue()
    with running(text) as runtime:
        runtime.add_callback("!S", lambda events: refused.put(events[0].data))
        runtime.input_handler("S").send((1,))
        value, error = refused.get(timeout=WAIT)
    assert value == 1
    assert isinstance(error, LimitExceededError)


def test_a_stream_that_overfills_itself_is_limited(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("siddhi.runtime.assembly.async_stream.DRAIN_SECONDS", 0.0)  # the stream never ends
    text = (
        "@async(buffer.size='4') define stream S (v int); from S select v insert into S; from S select v insert into S;"
    )
    failed: SimpleQueue[BaseException] = SimpleQueue()
    with running(text) as runtime:
        runtime.handle_exception_with(lambda error, *_: failed.put(error))
        runtime.input_handler("S").send((1,))
        error = failed.get(timeout=WAIT)
    assert isinstance(error, LimitExceededError)
    assert re.match(r"@async stream 'S' holds 10000\d\d events in its buffer of 4, because", str(error))
    (grown,) = [record.message for record in caplog.records if "beyond" in record.message]
    assert re.fullmatch(
        rf"app '{runtime.name}', @async stream 'S': 6\d events in its buffer of 4, because its queries insert more events into it "
        "than it delivers; beyond 1000004 events are refused",
        grown,
    )


def test_a_callback_can_send_into_the_full_stream_that_called_it() -> None:
    with running(PLAIN.format(workers=2, batch=1)) as runtime:
        handler = runtime.input_handler("S")
        rows: list[int] = []
        done = threading.Event()

        def again(events: list[Event]) -> None:
            for event in events:
                rows.append(event.data[0])
                if event.data[0] < 100:
                    for i in range(20):
                        handler.send((100 + i,))
            if len(rows) == 210:
                done.set()

        runtime.add_callback("O", again)
        for i in range(10):
            handler.send((i,))
        assert done.wait(WAIT)
        runtime.shutdown()
        assert sorted(rows) == sorted([*range(10), *list(range(100, 120)) * 10])


def test_failures_are_sent_to_the_fault_stream() -> None:
    app = """
        @async(buffer.size='4', batch.size.max='1') @OnError(action='stream') define stream S (a string, b bool);
        from S select a, and(b) as r insert into O;
        from !S select a insert into P;
    """
    with running(app) as runtime:
        outputs, failures = collect(runtime, "O"), collect(runtime, "P")
        for row in [("A", True), ("B", None), ("C", False)]:
            runtime.input_handler("S").send(row)
        runtime.shutdown()
        assert [row[0] for row in outputs] == ["A", "C"]
        assert failures == [("B",)]


def test_a_worker_continues_after_a_failing_callback_and_handler() -> None:
    with running(PLAIN.format(workers=1, batch=1)) as runtime:
        rows = collect(runtime, "O")

        def fail(*_: object) -> None:
            raise RuntimeError("of the handler")

        runtime.handle_exception_with(fail)
        runtime.add_callback("S", fail)
        for i in range(20):
            runtime.input_handler("S").send((i,))
        runtime.shutdown()
        assert rows == [(i,) for i in range(20)]


def test_an_invalid_row_is_refused_by_the_sender() -> None:
    with running(PLAIN.format(workers=1, batch=1)) as runtime:
        with pytest.raises(EventError):
            runtime.input_handler("S").send(("text",))
        with pytest.raises(EventError):
            runtime.input_handler("S").send_events([])


def test_events_are_refused_before_start_and_after_shutdown() -> None:
    manager = SiddhiManager()
    runtime = manager.create_siddhi_app_runtime(PLAIN.format(workers=1, batch=1))
    handler = runtime.input_handler("S")
    assert handler.stream == "S"
    with pytest.raises(NotRunningError):
        handler.send((1,))
    runtime.start()
    handler.send((1,))
    runtime.shutdown()
    with pytest.raises(NotRunningError):
        handler.send((1,))


def test_an_app_that_starts_again_has_workers() -> None:
    runtime = SiddhiManager().create_siddhi_app_runtime(PLAIN.format(workers=2, batch=4))
    handler = runtime.input_handler("S")
    rows = collect(runtime, "O")
    for life in range(3):
        with runtime:
            assert runtime.input_handler("S") is handler
            handler.send((life,))
            handler.send_events([Event(1, (10 + life,))])
            handler.send_batch({"i": [20 + life]})
    assert rows == [(first + life,) for life in range(3) for first in (0, 10, 20)]


def test_batches_and_events_are_delivered_whole() -> None:
    numpy = pytest.importorskip("numpy")
    with running(PLAIN.format(workers=2, batch=4)) as runtime:
        rows = collect(runtime, "O")
        runtime.input_handler("S").send_batch({"i": numpy.arange(1000, dtype="int32")})
        runtime.input_handler("S").send_events([Event(i, (1000 + i,)) for i in range(100)])
        runtime.shutdown()
        assert rows == [(i,) for i in range(1100)]


def test_in_playback_the_clock_moves_with_the_delivery() -> None:
    app = """
        @app:playback @async(buffer.size='64', batch.size.max='1') define stream S (i int);
        from S#window.time(1 sec) select i insert expired events into O;
    """
    with running(app) as runtime:
        rows = collect(runtime, "O")
        handler = runtime.input_handler("S")
        for timestamp in (1000, 1500, 2100):
            handler.send((timestamp,), timestamp=timestamp)
        handler.send((0,))  # without a timestamp the clock stands still
        runtime.shutdown()
        assert rows == [(1000,)]
        assert runtime.now == 2100


def test_a_snapshot_contains_buffered_events() -> None:
    app = "@app:name('async_snapshot')" + PLAIN.format(workers=1, batch=1)
    with running(app) as runtime:
        handler = runtime.input_handler("S")
        snapshots: list[bytes] = []
        taken = threading.Event()

        def once(events: list[Event]) -> None:
            if events[0].data[0] == 0:
                for i in range(1, 6):
                    handler.send((i,))
                # The app itself refuses to be saved from here; this query has seen all of the event.
                snapshots.append(runtime._state._take(lambda: None))
                taken.set()

        runtime.add_callback("O", once)
        handler.send((0,))
        assert taken.wait(WAIT)
        runtime.shutdown()
    with running(app) as runtime:
        rows = collect(runtime, "O")
        runtime.restore(snapshots[0])
        runtime.shutdown()
        assert rows == [(i,) for i in range(1, 6)]


@pytest.mark.parametrize("size", ["3", "0", "-1", "x"])
def test_an_invalid_buffer_size_is_refused(size: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=r"buffer\.size"):
        SiddhiManager().create_siddhi_app_runtime(f"@async(buffer.size='{size}') define stream S (i int);")


class Key(str):
    """A string whose life can be followed."""

    __slots__ = ("__weakref__",)


def test_delivered_events_are_released() -> None:
    alive: weakref.WeakSet[Key] = weakref.WeakSet()

    def run() -> None:
        app = "@async(buffer.size='4', workers='2') define stream S (a string); from S select a insert into O;"
        with running(app) as runtime:
            for i in range(50):
                key = Key(f"key {i}")
                alive.add(key)
                runtime.input_handler("S").send((key,))

    run()
    gc.collect()
    assert not list(alive)


def test_many_senders_and_a_shutdown_lose_and_repeat_nothing() -> None:
    """What a send accepted is delivered once; what it refused is not delivered at all."""
    app = """
        @async(buffer.size='16', workers='3', batch.size.max='4') define stream S (sender int, i int);
        @async(buffer.size='8', workers='2', batch.size.max='4') define stream M (sender int, i int);
        define stream R (sender int, i int);
        from S select * insert into M;
        from R select * insert into M;
        from M select * insert into O;
    """
    for enough_sent in (200, 400, 600):
        with running(app) as runtime:
            rows = collect(runtime, "O")
            senders = Senders(runtime, enough_sent)
            assert senders.enough.wait(WAIT)
            runtime.shutdown()
            accepted = senders.join()
            assert sorted(rows) == sorted(accepted)
            for sender in range(4):
                mine = [i for who, i in rows if who == sender]
                assert mine == sorted(mine)


class Senders:
    """Threads that send into S and R until they are refused."""

    def __init__(self, runtime: SiddhiAppRuntime, enough: int) -> None:
        self.enough = threading.Event()
        self.accepted: list[tuple[int, int]] = []
        self._threads = [threading.Thread(target=self.send, args=(runtime, sender, enough)) for sender in range(4)]
        for thread in self._threads:
            thread.start()

    def send(self, runtime: SiddhiAppRuntime, sender: int, enough: int) -> None:
        handler = runtime.input_handler("S" if sender % 2 else "R")
        for i in range(100_000):
            try:
                handler.send((sender, i))
            except NotRunningError:
                return
            self.accepted.append((sender, i))
            if i == enough:
                self.enough.set()

    def join(self) -> list[tuple[int, int]]:
        for thread in self._threads:
            thread.join(WAIT)
            assert not thread.is_alive()
        return self.accepted
