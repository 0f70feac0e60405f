"""Asynchronous sinks: order, back-pressure, on.error, snapshots of what is queued, shutdown."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import MappingFailedError
from siddhi.extension import sink
from siddhi.io import AsyncSink, async_sink, event_loop
from siddhi.persistence import InMemoryErrorStore
from siddhi.runtime.connectors import retry
from siddhi.runtime.connectors import sink as sink_runtime
from tests.kit.running import collect

WAIT = 30  # seconds until a test that hangs fails

APP = """@app:name('Out') @app:playback @OnError(action = 'STREAM')
@sink(type = 'slow', on.error = '{on_error}', @map(type = 'json', @payload('{{{{v}}}}'))) define stream S (v int);"""


class Slow(AsyncSink):
    """Publishes into a list while the gate is open; fails where the test says."""

    published: ClassVar[list[str]] = []
    fails: ClassVar[dict[str, list[Exception]]] = {}
    opened: ClassVar[list[str]] = []
    last: ClassVar[Slow]
    queue_size = 3

    def init(self, *arguments: Any) -> None:
        super().init(*arguments)
        self.gate = asyncio.Event()
        self.gate.set()
        Slow.last = self

    async def open(self) -> None:
        self.opened.append("open")

    async def close(self) -> None:
        self.opened.append("close")

    async def send(self, payload: str, options: Any) -> None:
        await self.gate.wait()
        if self.fails.get(payload):
            raise self.fails[payload].pop(0)
        self.published.append(payload)

    def set_gate(self, *, is_open: bool) -> None:
        assert self._use is not None
        self._use.loop.call_soon_threadsafe(self.gate.set if is_open else self.gate.clear)


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0,))
    monkeypatch.setattr(sink_runtime, "WAIT_SECONDS", 0.001)
    monkeypatch.setattr(Slow, "published", [])
    monkeypatch.setattr(Slow, "fails", {})
    monkeypatch.setattr(Slow, "opened", [])
    with SiddhiManager() as made:
        made.set_extension("slow", sink("slow")(Slow))
        yield made


def started(manager: SiddhiManager, on_error: str = "LOG") -> SiddhiAppRuntime:
    runtime = manager.create_siddhi_app_runtime(APP.format(on_error=on_error))
    runtime.start()
    return runtime


def send(runtime: SiddhiAppRuntime, *values: int) -> None:
    for value in values:
        runtime.input_handler("S").send((value,), timestamp=1000 + value)


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def texts(*values: int) -> list[str]:
    return [str(value) for value in values]


def test_payloads_are_published_in_their_order(manager: SiddhiManager) -> None:
    runtime = started(manager)
    send(runtime, *range(50))
    runtime.shutdown()
    assert Slow.published == texts(*range(50))
    assert Slow.opened == ["open", "close"]


def test_a_full_queue_blocks_the_sender(manager: SiddhiManager) -> None:
    runtime = started(manager)
    Slow.last.set_gate(is_open=False)
    sent: list[int] = []

    def go() -> None:
        for value in range(6):
            send(runtime, value)
            sent.append(value)

    thread = threading.Thread(target=go)
    thread.start()
    wait_for(lambda: len(sent) == 3)
    thread.join(0.05)
    assert sent == [0, 1, 2]
    Slow.last.set_gate(is_open=True)
    thread.join(WAIT)
    runtime.shutdown()
    assert Slow.published == texts(*range(6))


def test_a_lost_connection_is_made_again_for_the_payload(manager: SiddhiManager) -> None:
    Slow.fails["1"] = [ConnectionResetError("gone")]
    runtime = started(manager)
    send(runtime, 0, 1, 2)
    runtime.shutdown()
    assert Slow.published == texts(0, 1, 2)
    assert Slow.opened == ["open", "close", "open", "close"]


@pytest.mark.parametrize("error", [ConnectionResetError("gone"), ValueError("odd"), MappingFailedError("long")])
def test_an_error_goes_to_the_fault_stream(manager: SiddhiManager, error: Exception) -> None:
    Slow.fails["1"] = [error] * 2
    runtime = manager.create_siddhi_app_runtime(APP.format(on_error="STREAM"))
    failed = collect(runtime, "!S")
    runtime.start()
    Slow.last.set_gate(is_open=False)
    send(runtime, 0, 1, 2)
    Slow.last.set_gate(is_open=True)
    wait_for(lambda: len(failed) == 1)
    wait_for(lambda: Slow.published == texts(0, 2))
    assert failed[0][0] == 1
    runtime.shutdown()


def test_an_error_is_handled_while_the_sender_waits_for_room(manager: SiddhiManager) -> None:
    for value in range(20):
        Slow.fails[str(value)] = [ValueError("odd")]
    runtime = manager.create_siddhi_app_runtime(APP.format(on_error="STREAM"))
    failed = collect(runtime, "!S")
    runtime.start()
    send(runtime, *range(20))
    wait_for(lambda: len(failed) == 20)
    assert [row[0] for row in failed] == list(range(20))


def test_wait_retries_until_the_payload_is_published(manager: SiddhiManager) -> None:
    Slow.fails["1"] = [ConnectionResetError("gone")] * 5
    runtime = started(manager, "WAIT")
    send(runtime, *range(10))
    runtime.shutdown()
    assert Slow.published == texts(*range(10))


def test_nothing_is_sent_until_an_attempt_to_connect_has_succeeded(
    manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = started(manager, "WAIT")
    opened, sent = Slow.open, Slow.send
    errors = [ValueError("odd answer")] * 3
    is_open = True

    async def open_at_last(self: Slow) -> None:
        nonlocal is_open
        if errors:
            raise errors.pop()
        is_open = True
        await opened(self)

    async def send_once_open(self: Slow, payload: str, options: Any) -> None:
        nonlocal is_open
        assert is_open
        if payload == "1" and len(errors) == 3:
            is_open = False
            raise ConnectionResetError("gone")
        await sent(self, payload, options)

    monkeypatch.setattr(Slow, "open", open_at_last)
    monkeypatch.setattr(Slow, "send", send_once_open)
    send(runtime, 0, 1, 2)
    wait_for(lambda: Slow.published == texts(0, 1, 2))
    runtime.shutdown()


def test_store_keeps_events_with_their_payload(manager: SiddhiManager) -> None:
    errors = InMemoryErrorStore()
    manager.set_error_store(errors)
    Slow.fails["1"] = [ValueError("odd")]
    runtime = started(manager, "STORE")
    send(runtime, 0, 1, 2)
    wait_for(lambda: errors.count("Out") == 1 and Slow.published == texts(0, 2))
    (entry,) = errors.load_error_entries("Out")
    assert (entry.payload, [event.data for event in entry.events]) == ("1", [(1,)])
    runtime.replay_error_entry(entry)
    assert Slow.published == texts(0, 2, 1)


def test_a_snapshot_holds_what_is_not_published(manager: SiddhiManager) -> None:
    runtime = started(manager)
    Slow.last.set_gate(is_open=False)
    send(runtime, 0, 1, 2)
    wait_for(lambda: len(Slow.last._sending) == 1)
    state = runtime.snapshot()
    Slow.last.set_gate(is_open=True)
    runtime.shutdown()
    assert Slow.published == texts(0, 1, 2)
    again = manager.create_siddhi_app_runtime(APP.format(on_error="LOG"))
    again.restore(state)
    again.start()
    wait_for(lambda: Slow.published == texts(0, 1, 2, 0, 1, 2))


def test_a_shutdown_reports_what_it_could_not_publish(
    manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(async_sink, "DRAIN_SECONDS", 0.01)
    runtime = started(manager)
    Slow.last.set_gate(is_open=False)
    send(runtime, 0, 1)
    runtime.shutdown()
    dropped = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert Slow.published == []
    assert len(dropped) == 2
    assert all("shut down before it was published; dropped" in message for message in dropped)


def test_a_shutdown_reports_a_payload_once_whose_failure_is_being_handled(
    manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(async_sink, "DRAIN_SECONDS", 0.01)
    errors = InMemoryErrorStore()
    manager.set_error_store(errors)
    Slow.fails["0"] = [ValueError("odd")]
    runtime = started(manager, "STORE")
    handle = AsyncSink._handle_failures
    monkeypatch.setattr(AsyncSink, "_handle_failures", lambda _: None)
    send(runtime, 0)
    wait_for(lambda: Slow.last._failures)
    runtime.shutdown()
    handle(Slow.last)
    assert errors.count("Out") == 1


def test_statistics_count_published_payloads(manager: SiddhiManager) -> None:
    runtime = started(manager)
    runtime.enable_statistics()
    send(runtime, 0, 1, 2)
    wait_for(lambda: len(Slow.published) == 3)
    wait_for(lambda: runtime.statistics.connectors["Sinks", "S"].payloads == 3)


def test_a_waiting_sink_does_not_block_the_app_until_its_queue_is_full(manager: SiddhiManager) -> None:
    Slow.fails["0"] = [ConnectionResetError("gone")] * 10_000
    runtime = started(manager, "WAIT")
    send(runtime, 0)
    wait_for(lambda: len(Slow.fails["0"]) < 9_990)
    rows = collect(runtime, "S")
    send(runtime, 1, 2)
    assert rows == [(1,), (2,)]
    assert Slow.published == []
    Slow.fails["0"].clear()
    wait_for(lambda: Slow.published == texts(0, 1, 2))
    runtime.shutdown()


def test_retry_ends_after_its_attempts(manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_runtime, "RETRIES", 3)
    errors = InMemoryErrorStore()
    manager.set_error_store(errors)
    Slow.fails["0"] = [ConnectionResetError("gone")] * 3
    Slow.fails["1"] = [ValueError("odd")] * 100
    runtime = started(manager, "RETRY")
    send(runtime, 0, 1, 2)
    wait_for(lambda: Slow.published == texts(0, 2))
    wait_for(lambda: errors.count("Out") == 1)
    assert len(Slow.fails["1"]) == 96
    runtime.shutdown()


def test_what_waits_for_the_first_connection_is_published_then(manager: SiddhiManager) -> None:
    opened = Slow.open
    refused = iter([OSError("no route")] * 5)

    async def open_later(self: Slow) -> None:
        for error in refused:
            raise error
        await opened(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Slow, "open", open_later)
        runtime = started(manager, "WAIT")
        send(runtime, 0, 1)
        wait_for(lambda: (status := runtime.connectors()[0]).payloads == 2 and status.connected)
    assert Slow.published == texts(0, 1)
    (status,) = runtime.connectors()
    assert (status.kind, status.type, status.connected, status.payloads) == ("sink", "slow", True, 2)


def test_a_payload_that_comes_while_the_connection_is_made_is_published(
    manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = event_loop.LoopUse.run

    def run_and_submit(use: event_loop.LoopUse, coroutine: Any) -> Any:
        result = run(use, coroutine)
        if coroutine.__name__ == "_open" and not Slow.published:
            run(use, asyncio.sleep(0))  # the queue was found empty
            Slow.last.submit("0", [Event(1000, (0,))])
        return result

    monkeypatch.setattr(event_loop.LoopUse, "run", run_and_submit)
    runtime = started(manager, "WAIT")
    wait_for(lambda: Slow.published == ["0"])
    runtime.shutdown()


def test_a_sender_that_waits_for_room_at_shutdown_reports_its_event(
    manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(async_sink, "DRAIN_SECONDS", 0.01)
    errors = InMemoryErrorStore()
    manager.set_error_store(errors)
    Slow.fails["0"] = [ConnectionResetError("gone")] * 1_000_000
    runtime = started(manager, "WAIT")
    sender = threading.Thread(target=send, args=(runtime, 0, 1, 2, 3))
    sender.start()
    wait_for(lambda: Slow.last.waiting == 3)
    runtime.shutdown()
    sender.join(WAIT)
    assert not sender.is_alive()
    assert sorted(entry.payload for entry in errors.load_error_entries("Out")) == texts(0, 1, 2, 3)


def test_the_status_counts_events_bytes_and_failures(manager: SiddhiManager) -> None:
    Slow.fails["1"] = [ValueError("odd")]
    runtime = started(manager)
    send(runtime, 0, 1, 22)
    wait_for(lambda: len(Slow.published) == 2 and runtime.connectors()[0].payloads == 2)
    (status,) = runtime.connectors()
    assert (status.stream, status.number, status.events, status.bytes, status.failures) == ("S", 1, 3, 3, 1)
    assert (status.waiting, status.capacity) == (0, 3)


def test_a_sender_whose_library_loses_a_cancellation_ends(
    manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(async_sink, "DRAIN_SECONDS", 0.01)
    monkeypatch.setattr(event_loop, "_CANCEL_AGAIN_SECONDS", 0.01)
    lost = []

    async def send_once(self: Slow, payload: str, options: Any) -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                lost.append(payload)
                if len(lost) > 1:
                    raise

    monkeypatch.setattr(Slow, "send", send_once)
    runtime = started(manager)
    send(runtime, 0, 1)
    runtime.shutdown()
    assert lost == texts(0, 0)
