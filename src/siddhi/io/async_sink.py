"""Base of sinks that are coroutines on the event loop of the connectors."""

from __future__ import annotations

import asyncio
import threading
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from siddhi.errors import ConnectionUnavailableError, NotRunningError
from siddhi.event import Event
from siddhi.io.connector import ConnectorContext
from siddhi.io.event_loop import LoopUse, end_tasks
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.sink import PublishingCallback, Sink

__all__ = ["AsyncSink", "Entry"]

DRAIN_SECONDS = 10.0
"""Maximum time that a shutdown waits for the queued payloads to be published."""


@dataclass(slots=True, eq=False)
class Entry:
    """A payload on its way out."""

    payload: object
    events: Sequence[Event]
    epoch: int = 0
    number: int = 0
    has_failed: bool = False  # on.error has it


class AsyncSink(Sink):
    """A sink that publishes in a coroutine.

    The app puts payloads into a queue and goes on; the event loop publishes them in their order, or ``concurrency`` at a time.
    If the queue is full, the app waits. If a connection is lost, the sink connects again and publishes the payload once more;
    then ``on.error`` decides. With ``WAIT`` and ``RETRY`` the sink goes on trying, while the payloads after it wait and the
    app goes on. Payloads that are not published yet are part of snapshots, so that none is lost by a restore; some may be
    published twice.

    Subclasses implement :meth:`open`, :meth:`send` and :meth:`close`, and call ``super().init`` in their ``init``.

    Attributes:
        queue_size: number of payloads that may wait; the option ``buffer.payloads`` sets it.
        concurrency: number of payloads that are published at the same time; with more than one, in no particular order.
        context: the app and the stream.
        epoch: a number that each payload gets; see :class:`~siddhi.io.transactional_sink.TransactionalSink`.
    """

    epoch: int = 0
    queue_size: int = 1000
    concurrency: int = 1
    context: ConnectorContext

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        self.context = context
        self.queue_size = options.integer("buffer.payloads", self.queue_size, least=1)
        self._queue: deque[Entry] = deque()
        self._last_number = 0  # of the last payload
        self._sending: list[Entry] = []
        self._failures: deque[tuple[Entry, Exception, asyncio.Future[None]]] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._use: LoopUse | None = None
        self._senders: list[asyncio.Task[None]] = []
        self._filled = asyncio.Event()
        self._app: PublishingCallback | None = None
        self._reconnecting = asyncio.Lock()
        self._connections = 0  # number of connections made
        self._released_at: float | None = None  # when the shutdown began, by the monotonic clock

    # --- to be implemented

    async def open(self) -> None:
        """Connect.

        Raises:
            ConnectionUnavailableError, OSError: it can't be reached now; the app retries. After any other exception the app
                does not start.
        """

    @abstractmethod
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

    def attach(self, callback: PublishingCallback) -> Callable[[object, Sequence[Event]], None] | None:
        self._app = callback
        return self.submit

    def submit(self, payload: object, events: Sequence[Event]) -> None:
        """Put a payload into the queue; wait while it is full. Called with the app's lock held."""
        with self._changed:
            while len(self._queue) + len(self._sending) >= self.queue_size and not self._closing:
                # At shutdown this thread, which holds the app's lock, must not wait longer than a drain.
                left = None if self._released_at is None else self._released_at + DRAIN_SECONDS - time.monotonic()
                if left is not None and left <= 0:
                    raise NotRunningError("the app was shut down while the queue of the sink was full")
                if not self._failures:
                    self._changed.wait(left)
                    continue
                # Handling a failure needs the app's lock, which this thread holds.
                failure = self._failures.popleft()
                self._changed.release()
                try:
                    self._handle(*failure)
                finally:
                    self._changed.acquire()
            if self._closing:
                raise NotRunningError("the app was shut down before it was published")
            self._last_number += 1
            self._queue.append(Entry(payload, tuple(events), self.epoch, self._last_number))
            self._wake()

    def publish(self, payload: object, options: DynamicOptions) -> None:
        """Publish a payload, and wait for it."""
        use = self._use
        if use is None:
            raise ConnectionUnavailableError("the sink is not connected")
        # The number counts once it is published: another attempt has the same.
        use.run(self._send(payload, replace(options, number=self._last_number + 1)))
        self._last_number += 1

    async def _send(self, payload: object, options: DynamicOptions) -> None:
        try:
            await self.send(payload, options)
        except OSError as error:
            raise ConnectionUnavailableError(f"{type(error).__name__}: {error}") from error

    def connect(self) -> None:
        self._closing = False
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
        with self._changed:
            self._wake()  # for what came while the connection was being made

    async def _open(self) -> None:
        try:
            await self.open()
        except BaseException:
            await self.close()
            raise
        self._connections += 1
        if not self._senders:
            loop = asyncio.get_running_loop()
            self._filled = asyncio.Event()
            self._reconnecting = asyncio.Lock()
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
            await self._admit(entry)
            is_published = await self._publish(entry)
            with self._changed:
                self._sending.remove(entry)
                self._settle(entry, is_published=is_published)
                self._changed.notify_all()

    async def _admit(self, entry: Entry) -> None:
        """Wait until a payload can be published."""

    def _settle(self, entry: Entry, *, is_published: bool) -> None:
        """Note that a payload is published, or its failure is handled; called with the queue's condition held."""

    async def _publish(self, entry: Entry) -> bool:
        """Publish a payload, or have its failure handled. Return whether it is published."""
        app = self._app
        assert app is not None
        failures, is_lost, connection = 0, False, 0
        while True:
            if self._closing:
                raise asyncio.CancelledError  # the library that sends has swallowed it
            try:
                if is_lost:
                    await self._reconnect(connection)
                    is_lost = False
                connection = self._connections
                await self._send(entry.payload, DynamicOptions(entry.events[0], number=entry.number))
            except Exception as error:  # noqa: BLE001 - on.error decides
                failures += 1
                # Any error of an attempt to connect leaves it lost: there is nothing to send through.
                is_lost = is_lost or isinstance(error, ConnectionUnavailableError)
                pause = app.pause(error, failures)
                if pause is None:
                    await self._fail(entry, error)
                    return False
                await asyncio.sleep(pause)
            else:
                app.sent(entry.payload)
                return True

    async def _reconnect(self, connection: int) -> None:
        """Connect again, unless another payload has done so since the connection of this number."""
        app = self._app
        assert app is not None
        async with self._reconnecting:
            if self._connections != connection:
                return
            if not app.begin_connecting():
                raise ConnectionUnavailableError("an attempt to connect is in progress")
            try:
                await self.close()
                await self._open()
            except BaseException as error:
                app.end_connecting(error)
                if isinstance(error, OSError):
                    raise ConnectionUnavailableError(f"{type(error).__name__}: {error}") from error
                raise
            app.end_connecting(None)

    async def _fail(self, entry: Entry, error: Exception) -> None:
        handled = asyncio.get_running_loop().create_future()
        with self._changed:
            self._failures.append((entry, error, handled))
            self._changed.notify_all()
        self.context.run_in_worker(self._handle_failures)
        await handled

    def _handle_failures(self) -> None:
        # Take the lock before a failure: a thread that holds the lock and waits for room handles failures, too.
        app = self._app
        if app is None:
            return
        with app.lock:
            while True:
                with self._changed:
                    if not self._failures:
                        return
                    failure = self._failures.popleft()
                self._handle(*failure)

    def _handle(self, entry: Entry, error: Exception, handled: asyncio.Future[None]) -> None:
        try:
            assert self._app is not None
            if self._claim(entry):
                self._app.failed(error, entry.payload, entry.events)
        finally:
            with suppress(RuntimeError):  # the loop is closed: no task waits
                handled.get_loop().call_soon_threadsafe(_finish, handled)

    def _claim(self, entry: Entry) -> bool:
        """Return whether a failure is still to be handled: a shutdown finds payloads whose failure is being handled, too."""
        with self._changed:
            had_failed, entry.has_failed = entry.has_failed, True
        return not had_failed

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
            assert self._app is not None
            error = NotRunningError("the app was shut down before it was published")
            if self._claim(entry):
                self._app.failed(error, entry.payload, entry.events)

    @property
    def waiting(self) -> int:
        return len(self._queue) + len(self._sending)

    @property
    def capacity(self) -> int:
        return self.queue_size

    def release(self) -> None:
        with self._changed:
            self._released_at = time.monotonic()
            self._changed.notify_all()

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
        await end_tasks(self._senders)  # not emptied yet: a sender that connects meanwhile must not start new ones
        self._senders = []

    # --- snapshots: the payloads that are not published yet

    def snapshot(self) -> object:
        with self._changed:
            return [
                [entry.payload, [[event.timestamp, list(event.data)] for event in entry.events]]
                for entry in (*self._sending, *self._queue)
            ]

    def restore(self, state: Any) -> None:
        entries = [Entry(payload, [Event(time, tuple(data)) for time, data in events]) for payload, events in state]
        with self._changed:
            for entry in entries:
                self._last_number += 1
                entry.number = self._last_number
            self._queue.clear()
            self._queue.extend(entries)
            self._wake()


def _finish(handled: asyncio.Future[None]) -> None:
    if not handled.done():
        handled.set_result(None)
