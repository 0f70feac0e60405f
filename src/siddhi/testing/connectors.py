"""Checks that every source and sink of a transport has to pass, as classes of tests.

    class TestMail(SourceSuite):
        options = "type = 'mail', host = 'localhost'"

        def send(self, payloads):
            for payload in payloads:
                self.server.deliver(payload)

pytest collects the methods ``test_...`` of a subclass; they need nothing of pytest. The other end of the connection is a real
server, or a part of the test that speaks its protocol. See docs/connectors.md.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import ClassVar, Literal

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.connectors.status import ConnectorStatus

__all__ = ["SinkSuite", "SourceSuite", "wait_until"]

_RETRY = "retry.initial = '20 millisec', retry.max = '200 millisec'"


def wait_until(condition: Callable[[], object], what: str, seconds: float = 30.0) -> None:
    """Wait until a condition holds.

    Args:
        condition: the condition.
        what: its description, for the message.
        seconds: the longest wait.

    Raises:
        AssertionError: it does not hold in time.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds:g} s not yet: {what}")
        time.sleep(0.005)


class _Suite:
    """What both suites share.

    Attributes:
        options: options of the annotation, with ``type``.
        mapper: its ``@map``.
        attribute_type: the type of the attribute ``n`` of the stream, for a transport without integers.
    """

    options: str
    mapper: str = "@map(type = 'json')"
    attribute_type: ClassVar[str] = "int"

    def manager(self) -> SiddhiManager:
        """Return a manager for one test, with the extension registered."""
        return SiddhiManager()

    def payload(self, number: int) -> str | bytes:
        """Return the payload of an event with one attribute, ``n``."""
        return json.dumps({"event": {"n": number}}, separators=(",", ":"))

    def size(self, number: int) -> int:
        """Return the bytes that the status counts for :meth:`payload`; 0 if what is mapped is neither a text nor bytes."""
        return len(self.payload(number))

    @contextmanager
    def _managed(self) -> Iterator[SiddhiManager]:
        before = set(threading.enumerate())
        manager = self.manager()
        try:
            yield manager
        finally:
            manager.shutdown()
        wait_until(
            lambda: not [one for one in threading.enumerate() if one not in before and one.name.startswith("siddhi")],
            "the threads of the app have ended",
        )


class SourceSuite(_Suite):
    """Checks of a source. A subclass sets :attr:`options` and implements :meth:`send`.

    Attributes:
        delivery: what the source promises if its connection is lost.
        is_durable: whether messages after the last saved state are received again after a restore.
        is_reconnecting: whether the source makes a lost connection again by itself, so that its status counts it; without, it
            is a server, or its client library connects unseen.
        has_buffer: whether the option ``buffer.payloads`` bounds what it accepts.
        is_ordered: whether messages arrive in the order in which they were sent.
        count: number of messages of a test, more than 6.
    """

    delivery: ClassVar[Literal["at most once", "at least once"]] = "at most once"
    is_durable: ClassVar[bool] = False
    is_reconnecting: ClassVar[bool] = False
    has_buffer: ClassVar[bool] = True
    is_ordered: ClassVar[bool] = True
    count: ClassVar[int] = 50

    # --- to be implemented

    def send(self, payloads: Sequence[str | bytes]) -> None:
        """Send messages to the source, in this order. It may wait for the source; the app is running."""
        raise NotImplementedError

    def break_connection(self) -> None:
        """Break the connection of the source, such as by a restart of the server; the server is back afterwards."""
        raise NotImplementedError

    # --- checks

    def test_events_arrive_in_order(self) -> None:
        with self._managed() as manager:
            runtime, arrived = self._started(manager)
            self._send(range(self.count))
            self._wait_for(arrived, range(self.count))
            assert sorted(arrived) == list(range(self.count))
            (status,) = runtime.connectors()
            wait_until(lambda: self._status(runtime).payloads == self.count, "all payloads are counted")
            size = sum(self.size(number) for number in range(self.count))
            status = self._status(runtime)
            assert (status.connected, status.events, status.failures, status.bytes) == (True, self.count, 0, size)

    def test_an_app_can_be_started_again(self) -> None:
        with self._managed() as manager:
            runtime, arrived = self._started(manager)
            for start in range(3):
                if start:
                    runtime.start()
                self._send(range(start * 10, start * 10 + 10))
                self._wait_for(arrived, range(start * 10 + 10))
                runtime.shutdown()

    def test_a_paused_source_loses_nothing(self) -> None:
        with self._managed() as manager:
            runtime, arrived = self._started(manager)
            self._send(range(5))
            self._wait_for(arrived, range(5))
            (source,) = runtime.sources["S"]
            source.pause()
            sender = self._in_thread(range(5, 15))
            sender.join(0.2)
            assert sorted(arrived) == list(range(5))
            assert self._status(runtime).paused
            source.resume()
            self._wait_for(arrived, range(15))
            sender.join(30)

    def test_a_payload_that_can_not_be_mapped_stops_nothing(self) -> None:
        malformed = self.malformed()
        if malformed is None:
            return
        with self._managed() as manager:
            runtime, arrived = self._started(manager)
            self._send(range(3))
            self._wait_for(arrived, range(3))
            self.send([malformed])
            self._send(range(3, 6))
            self._wait_for(arrived, range(6))
            assert self._status(runtime).failures == 1

    def malformed(self) -> str | bytes | None:
        """Return a payload that the mapper rejects; None: the transport has none."""
        return '{"event": {"n": '

    def test_a_slow_app_fills_only_the_buffer(self) -> None:
        if not self.has_buffer:
            return
        with self._managed() as manager:
            gate = threading.Event()
            runtime, arrived = self._started(manager, "buffer.payloads = '5'", wait=gate.wait)
            sender = self._in_thread(range(self.count))
            try:
                wait_until(lambda: self._status(runtime).waiting or arrived, "the first payload has arrived")
                sender.join(0.2)
                status = self._status(runtime)
                assert status.capacity == 5
                assert status.waiting is not None
                assert status.waiting <= 5
                assert status.payloads <= 6
            finally:
                gate.set()
            self._wait_for(arrived, range(self.count))
            sender.join(30)

    def test_a_lost_connection_is_made_again(self) -> None:
        if type(self).break_connection is SourceSuite.break_connection:
            return
        with self._managed() as manager:
            runtime, arrived = self._started(manager)
            sent = 0
            for _ in range(3):
                self._send(range(sent, sent + 10))
                sent += 10
                self._wait_for(arrived, range(sent))
                before = self._status(runtime).reconnects
                self.break_connection()
                wait_until(
                    lambda before=before: self._is_connected_again(runtime, before),  # type: ignore[misc]
                    "it is connected again",
                )
            if self.delivery == "at most once":
                while self.count > len(arrived) and sent < 10_000 and (sent - 1) not in arrived:
                    self._send(range(sent, sent + 1))
                    sent += 1
                    time.sleep(0.01)
                assert len(arrived) == len(set(arrived)), "a message arrived twice"
            else:
                self._send(range(sent, sent + 10))
                self._wait_for(arrived, range(sent + 10))
            wait_until(lambda: self._status(runtime).connected, "it is connected")

    def test_a_restore_loses_nothing(self) -> None:
        if not self.is_durable:
            return
        store = InMemoryPersistenceStore()
        with self._managed() as manager:
            manager.set_persistence_store(store)
            runtime, arrived = self._started(manager)
            self._send(range(10))
            self._wait_for(arrived, range(10))
            runtime.persist()
            self._send(range(10, 20))
            self._wait_for(arrived, range(20))
            runtime.shutdown()  # as a crash: without saving
        with self._managed() as manager:
            manager.set_persistence_store(store)
            runtime, again = self._created(manager)
            runtime.restore_last_revision()
            runtime.start()
            self._wait_for(again, range(10, 20))
            self._send(range(20, 25))
            self._wait_for(again, range(10, 25))
            assert not set(again) & set(range(10)), "a message of the saved state arrived again"

    # --- parts

    def _created(
        self, manager: SiddhiManager, more: str = "", wait: Callable[[], object] = lambda: None
    ) -> tuple[SiddhiAppRuntime, list[int]]:
        options = ", ".join(text for text in (self.options, more, _RETRY) if text)
        app = f"@app:name('Suite') @source({options}, {self.mapper}) define stream S (n {self.attribute_type});"
        runtime = manager.create_siddhi_app_runtime(app)
        arrived: list[int] = []

        def take(events: list[Event]) -> None:
            wait()
            arrived.extend(event.data[0] for event in events)

        runtime.add_callback("S", take)
        return runtime, arrived

    def _started(
        self, manager: SiddhiManager, more: str = "", wait: Callable[[], object] = lambda: None
    ) -> tuple[SiddhiAppRuntime, list[int]]:
        runtime, arrived = self._created(manager, more, wait)
        runtime.start()
        wait_until(lambda: self._status(runtime).connected, "the source is connected")
        return runtime, arrived

    def _send(self, numbers: Sequence[int]) -> None:
        self.send([self.payload(number) for number in numbers])

    def _in_thread(self, numbers: Sequence[int]) -> threading.Thread:
        thread = threading.Thread(target=self._send, args=(numbers,), name="suite-sender", daemon=True)
        thread.start()
        return thread

    def _wait_for(self, arrived: list[int], numbers: Sequence[int]) -> None:
        wanted = set(numbers)
        try:
            wait_until(lambda: wanted <= set(arrived), f"messages {numbers[0]} to {numbers[-1]} have arrived")
        except AssertionError as error:
            raise AssertionError(f"{error}; missing: {sorted(wanted - set(arrived))}") from None
        if self.is_ordered and (self.delivery == "at most once" or len(arrived) == len(wanted)):
            assert [number for number in arrived if number in wanted] == sorted(wanted), (
                "not in the order they were sent"
            )

    def _is_connected_again(self, runtime: SiddhiAppRuntime, reconnects: int) -> bool:
        status = self._status(runtime)
        return status.connected and (not self.is_reconnecting or status.reconnects > reconnects)

    def _status(self, runtime: SiddhiAppRuntime) -> ConnectorStatus:
        return runtime.connectors()[0]


class SinkSuite(_Suite):
    """Checks of a sink. A subclass sets :attr:`options` and implements :meth:`received`.

    Attributes:
        is_queued: whether it publishes beside the app, as an :class:`~siddhi.io.AsyncSink`.
        is_confirmed: whether a payload counts as published only when the server has it; without, a lost connection may lose
            payloads.
        count: number of payloads of a test.
    """

    is_queued: ClassVar[bool] = True
    is_confirmed: ClassVar[bool] = False
    count: ClassVar[int] = 50

    # --- to be implemented

    def received(self) -> list[str | bytes]:
        """Return all payloads that arrived at the server so far, in their order."""
        raise NotImplementedError

    def stop_server(self) -> None:
        """Make the server unreachable."""
        raise NotImplementedError

    def start_server(self) -> None:
        """Make it reachable again, with the payloads that it had received."""
        raise NotImplementedError

    def app_started(self) -> None:
        """Called after each start of the app: to connect a client, if the sink is a server."""

    # --- checks

    def test_payloads_arrive_in_order(self) -> None:
        with self._managed() as manager:
            runtime, _ = self._started(manager)
            start = len(self.received())
            self._emit(runtime, range(self.count))
            self._wait_for(start, range(self.count))
            assert self._numbers(start) == list(range(self.count))
            wait_until(lambda: self._status(runtime).payloads == self.count, "all payloads are counted")
            size = sum(self.size(number) for number in range(self.count))
            status = self._status(runtime)
            assert (status.connected, status.events, status.failures, status.bytes) == (True, self.count, 0, size)

    def test_an_app_can_be_started_again(self) -> None:
        with self._managed() as manager:
            runtime, _ = self._started(manager)
            start = len(self.received())
            for number in range(3):
                if number:
                    self._start(runtime)
                    wait_until(lambda: self._status(runtime).connected, "the sink is connected")
                self._emit(runtime, [number])
                self._wait_for(start, range(number + 1))
                runtime.shutdown()

    def test_a_shutdown_publishes_what_is_queued(self) -> None:
        with self._managed() as manager:
            runtime, _ = self._started(manager)
            start = len(self.received())
            self._emit(runtime, range(self.count))
            runtime.shutdown()
            self._wait_for(start, range(self.count))

    def test_what_can_not_be_published_goes_to_the_fault_stream(self) -> None:
        if type(self).stop_server is SinkSuite.stop_server:
            return
        with self._managed() as manager:
            runtime, reported = self._started(manager, on_error="STREAM")
            start = len(self.received())
            self._emit(runtime, range(5))
            self._wait_for(start, range(5))
            self.stop_server()
            numbers = count(5)
            last = 5

            def are_reported() -> bool:
                nonlocal last
                last = next(numbers)
                self._emit(runtime, [last])
                return len(reported) >= 3

            try:
                wait_until(are_reported, "payloads are reported although the server is down")
            finally:
                self.start_server()
            wait_until(lambda: self._status(runtime).connected, "the sink is connected again")
            self._emit(runtime, [1000])
            self._wait_for(start, [1000])
            if self.is_confirmed:
                wait_until(
                    lambda: set(range(last + 1)) <= set(reported) | set(self._numbers(start)),
                    "each payload has arrived or was reported",
                )

    def test_a_waiting_sink_loses_nothing(self) -> None:
        if type(self).stop_server is SinkSuite.stop_server or not self.is_confirmed:
            return
        with self._managed() as manager:
            runtime, _ = self._started(manager, on_error="WAIT")
            start = len(self.received())
            for turn in range(3):
                self._emit(runtime, range(turn * 20, turn * 20 + 10))
                self.stop_server()
                sender = threading.Thread(
                    target=self._emit,
                    args=(runtime, range(turn * 20 + 10, turn * 20 + 20)),
                    name="suite-sender",
                    daemon=True,
                )
                sender.start()
                sender.join(0.1)
                self.start_server()
                sender.join(60)
                assert not sender.is_alive()
            self._wait_for(start, range(60))

    def test_a_snapshot_holds_what_is_queued(self) -> None:
        if type(self).stop_server is SinkSuite.stop_server or not (self.is_confirmed and self.is_queued):
            return
        store = InMemoryPersistenceStore()
        with self._managed() as manager:
            manager.set_persistence_store(store)
            runtime, _ = self._started(manager, on_error="WAIT")
            start = len(self.received())
            self.stop_server()
            try:
                self._emit(runtime, range(5))
                runtime.persist()
            finally:
                self.start_server()
        with self._managed() as manager:
            manager.set_persistence_store(store)
            runtime, _ = self._created(manager, "WAIT")
            runtime.restore_last_revision()
            self._start(runtime)
            self._wait_for(start, range(5))

    # --- parts

    def number_of(self, payload: str | bytes) -> int:
        """Return the number in a payload."""
        number: int = json.loads(payload)["event"]["n"]
        return number

    def _created(self, manager: SiddhiManager, on_error: str = "LOG") -> tuple[SiddhiAppRuntime, list[int]]:
        app = (
            f"@app:name('Suite') @OnError(action = 'STREAM') "
            f"@sink({self.options}, on.error = '{on_error}', {_RETRY}, {self.mapper}) define stream S (n {self.attribute_type});"
        )
        runtime = manager.create_siddhi_app_runtime(app)
        reported: list[int] = []
        runtime.add_callback("!S", lambda events: reported.extend(event.data[0] for event in events))
        return runtime, reported

    def _started(self, manager: SiddhiManager, on_error: str = "LOG") -> tuple[SiddhiAppRuntime, list[int]]:
        runtime, reported = self._created(manager, on_error)
        self._start(runtime)
        wait_until(lambda: self._status(runtime).connected, "the sink is connected")
        return runtime, reported

    def _start(self, runtime: SiddhiAppRuntime) -> None:
        runtime.start()
        self.app_started()

    def _emit(self, runtime: SiddhiAppRuntime, numbers: Sequence[int]) -> None:
        handler = runtime.input_handler("S")
        for number in numbers:
            handler.send((number,))

    def _numbers(self, start: int) -> list[int]:
        return [self.number_of(payload) for payload in self.received()[start:]]

    def _wait_for(self, start: int, numbers: Sequence[int]) -> None:
        wanted = set(numbers)
        wait_until(lambda: wanted <= set(self._numbers(start)), f"payloads {numbers[0]} to {numbers[-1]} have arrived")

    def _status(self, runtime: SiddhiAppRuntime) -> ConnectorStatus:
        return runtime.connectors()[0]
