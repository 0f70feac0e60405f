"""Base of sinks that are coroutines on the event loop of the connectors."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any

from siddhi.errors import ConnectionUnavailableError, NotRunningError
from siddhi.event import Event
from siddhi.io.connector import ConnectorContext
from siddhi.io.event_loop import LoopUse
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.sink import Sink

__all__ = ["AsyncSink"]

DRAIN_SECONDS = 10.0
"""Maximum time that a shutdown waits for the queued payloads to be published."""


@dataclass(slots=True, eq=False)
class _Entry:
    """A payload on its way out."""

    payload: object
    events: Sequence[Event]


class AsyncSink(Sink):
    """A sink that publishes in a coroutine.

    The app puts payloads into a queue and goes on; the event loop publishes them in their order, or ``concurrency`` at a time.
    If the queue is full, the app waits. A payload that can't be published is handled by ``on.error`` as for any other sink;
    the payloads after it wait meanwhile. Payloads that are not published yet are part of snapshots, so that none is lost by a
    restore; some may be published twice.

    Subclasses implement :meth:`open`, :meth:`send` and :meth:`close`, and call ``super().init`` in their ``init``.

    Attributes:
        queue_size: number of payloads that may wait.
        concurrency: number of payloads that are published at the same time; with more than one, in no particular order.
        context: the app and the stream.
    """

    queue_size: int = 1000
    concurrency: int = 1
    context: ConnectorContext

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        self.context = context
        self._queue: deque[_Entry] = deque()
        self._sending: list[_Entry] = []
        self._failures: deque[tuple[_Entry, Exception, asyncio.Future[None]]] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._use: LoopUse | None = None
        self._senders: list[asyncio.Task[None]] = []
        self._filled = asyncio.Event()
        self._sent: Callable[[], None] = lambda: None
        self._failed: Callable[[Exception, object, Sequence[Event]], None] = lambda *_: None
        self._lock: AbstractContextManager[Any] = threading.RLock()

    # --- to be implemented

    async def open(self) -> None:
        """Connect.

        Raises:
            ConnectionUnavailableError, OSError: it can't be reached now; the app retries. After any other exception the app
                does not start.
        """

    async def send(self, payload: Any, options: DynamicOptions) -> None:
        """Publish a payload; return when it is published.

        Args:
            payload: a payload of the mapper.
            options: pass this to ``Option.value`` of dynamic options.

        Raises:
            ConnectionUnavailableError, OSError: the connection is lost. The app reconnects and sends the payload again; if
                that fails, ``on.error`` decides.
        """
        raise NotImplementedError

    async def close(self) -> None:
        """Undo :meth:`open`; also called after a failed one."""

    # --- called by the app

    def attach(
        self,
        sent: Callable[[], None],
        failed: Callable[[Exception, object, Sequence[Event]], None],
        lock: AbstractContextManager[Any],
    ) -> Callable[[object, Sequence[Event]], None]:
        self._sent, self._failed, self._lock = sent, failed, lock
        return self.submit

    def submit(self, payload: object, events: Sequence[Event]) -> None:
        """Put a payload into the queue; wait while it is full. Called with the app's lock held."""
        with self._changed:
            while len(self._queue) + len(self._sending) >= self.queue_size and not self._closing:
                if not self._failures:
                    self._changed.wait()
                    continue
                # Handling a failure needs the app's lock, which this thread holds.
                failure = self._failures.popleft()
                self._changed.release()
                try:
                    self._handle(*failure)
                finally:
                    self._changed.acquire()
            self._queue.append(_Entry(payload, tuple(events)))
            self._wake()

    def publish(self, payload: object, options: DynamicOptions) -> None:
        """Publish a payload, and wait for it."""
        use = self._use
        if use is None:
            raise ConnectionUnavailableError("the sink is not connected")
        use.run(self._send(payload, options))

    async def _send(self, payload: object, options: DynamicOptions) -> None:
        try:
            await self.send(payload, options)
        except OSError as error:
            raise ConnectionUnavailableError(f"{type(error).__name__}: {error}") from error

    def connect(self) -> None:
        if self._use is not None:
            self._use.run(self.close())
        use = self._use or LoopUse()
        try:
            use.run(self._open())
        except BaseException as error:
            if self._use is None:
                use.release()
            if isinstance(error, OSError):
                raise ConnectionUnavailableError(f"{type(error).__name__}: {error}") from error
            raise
        self._use = use

    async def _open(self) -> None:
        try:
            await self.open()
        except BaseException:
            await self.close()
            raise
        if not self._senders:
            loop = asyncio.get_running_loop()
            self._filled = asyncio.Event()
            if self._queue:
                self._filled.set()
            self._senders = [loop.create_task(self._publish_queue()) for _ in range(self.concurrency)]

    async def _publish_queue(self) -> None:
        while True:
            with self._changed:
                entry = self._queue.popleft() if self._queue else None
                if entry is not None:
                    self._sending.append(entry)
                else:
                    self._filled.clear()
            if entry is None:
                await self._filled.wait()
                continue
            try:
                await self._send(entry.payload, DynamicOptions(entry.events[0]))
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 - on.error decides
                await self._fail(entry, error)
            else:
                self._sent()
            with self._changed:
                self._sending.remove(entry)
                self._changed.notify_all()

    async def _fail(self, entry: _Entry, error: Exception) -> None:
        handled = asyncio.get_running_loop().create_future()
        with self._changed:
            self._failures.append((entry, error, handled))
            self._changed.notify_all()
        self.context.run_in_worker(self._handle_failures)
        await handled

    def _handle_failures(self) -> None:
        # Take the lock before a failure: a thread that holds the lock and waits for room handles failures, too.
        with self._lock:
            while True:
                with self._changed:
                    if not self._failures:
                        return
                    failure = self._failures.popleft()
                self._handle(*failure)

    def _handle(self, entry: _Entry, error: Exception, handled: asyncio.Future[None]) -> None:
        try:
            self._failed(error, entry.payload, entry.events)
        finally:
            with suppress(RuntimeError):  # the loop is closed: no task waits
                handled.get_loop().call_soon_threadsafe(_finish, handled)

    def _wake(self) -> None:
        use = self._use
        if use is not None and not self._filled.is_set():
            with suppress(RuntimeError):
                use.loop.call_soon_threadsafe(self._filled.set)

    def disconnect(self) -> None:
        """Close the connection. Payloads that are not published yet are handled by ``on.error``."""
        with self._changed:
            use, self._use = self._use, None
            self._closing = True
            self._changed.notify_all()
        if use is not None:
            try:
                use.run(self._stop_senders())
                use.run(self.close())
            finally:
                use.release()
        with self._changed:
            left = [*self._sending, *self._queue]
            self._sending.clear()
            self._queue.clear()
        for entry in left:
            self._failed(NotRunningError("the app was shut down before it was published"), entry.payload, entry.events)
        self._closing = False

    def flush(self) -> None:
        deadline = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < deadline:
            self._handle_failures()
            with self._changed:
                if not (self._queue or self._sending):
                    return
                self._changed.wait_for(
                    lambda: self._failures or not (self._queue or self._sending), deadline - time.monotonic()
                )

    async def _stop_senders(self) -> None:
        senders, self._senders = self._senders, []
        for sender in senders:
            sender.cancel()
        await asyncio.gather(*senders, return_exceptions=True)

    # --- snapshots: the payloads that are not published yet

    def snapshot(self) -> object:
        with self._changed:
            return [
                [entry.payload, [[event.timestamp, list(event.data)] for event in entry.events]]
                for entry in (*self._sending, *self._queue)
            ]

    def restore(self, state: Any) -> None:
        entries = [_Entry(payload, [Event(time, tuple(data)) for time, data in events]) for payload, events in state]
        with self._changed:
            self._queue.clear()
            self._queue.extend(entries)
            self._wake()


def _finish(handled: asyncio.Future[None]) -> None:
    if not handled.done():
        handled.set_result(None)
