"""``@async`` streams: input handlers, buffer, and the workers that deliver."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from siddhi._core.record.user_event import Event
from siddhi._core.runtime.context import AppContext
from siddhi._core.stream.async_buffer import AsyncBuffer, AsyncEntry
from siddhi._core.stream.gate import OwnLoopError
from siddhi._core.stream.input import InputHandler, RowInput
from siddhi._core.stream.junction import StreamJunction
from siddhi.planner.plan.nodes import AsyncSettings
from siddhi.repeats import Repeats

if TYPE_CHECKING:
    from siddhi._core.record.user_event import _Row, _Time

__all__ = ["AsyncInputHandler", "AsyncStream", "close", "drain"]

logger = logging.getLogger("siddhi")

DRAIN_SECONDS = 10.0
"""How long a shutdown waits for buffered events to be delivered."""

_LOOK_S = 0.001
"""How often a coroutine looks whether there is space in the buffer."""


class AsyncStream:
    """A stream whose senders do not wait for its receivers.

    Args:
        context: the app's context.
        junction: the junction to which workers deliver.
        settings: settings of the annotation.

    Attributes:
        entry: the junction into which the app's own queries insert.
        buffer: the buffer between ``entry`` and ``junction``.
    """

    def __init__(self, context: AppContext, junction: StreamJunction, settings: AsyncSettings) -> None:
        self._context = context
        # Senders from outside have a lock of their own: a slow subscriber must not block them.
        self._input_context = AppContext(context.name)
        self._repeats = Repeats()
        self._batch = settings.batch_size_max
        self._workers = [
            threading.Thread(target=self._work, name=f"siddhi-{context.name}-{junction.id}-{i}", daemon=True)
            for i in range(settings.workers)
        ]
        self.buffer = AsyncBuffer(context, junction, settings.buffer_size, settings.batch_size_max)
        self.entry = _entry(context, junction, AsyncEntry(self.buffer, False, None))
        lock = self._input_context.lock
        self._stamped = InputHandler(
            self._input_context, _entry(self._input_context, junction, AsyncEntry(self.buffer, True, lock))
        )
        self._unstamped = InputHandler(
            self._input_context, _entry(self._input_context, junction, AsyncEntry(self.buffer, False, lock))
        )

    def new_input_handler(self) -> AsyncInputHandler:
        """Make an input handler for senders outside the app."""
        return AsyncInputHandler(self._stamped, self._unstamped, self.buffer)

    def leave_to(self, successor: AsyncStream | None) -> None:
        """End the workers, and give the buffered events and late senders to the stream that replaces this one.

        The caller holds the app's lock, and calls :meth:`join` when it has released it.

        Args:
            successor: has the same attributes; None: there is none, events that are still buffered are dropped.
        """
        if successor is not None:
            self.buffer.hand_over(successor.buffer)
            return
        self._input_context.set_running(False)
        self.buffer.stop()
        if dropped := len(self.buffer):
            self.buffer.deliver_until(1)
            logger.warning(
                "app '%s': %d events in the buffer of @async stream '%s' were dropped: the stream was reset or removed",
                self._context.name,
                dropped,
                self.entry.id,
            )

    def deliver_to(self, junction: StreamJunction) -> None:
        """End the workers, and deliver the buffered events to a stream without a buffer; refuse late senders.

        The caller holds the app's lock, and calls :meth:`join` when it has released it.
        """
        self._input_context.set_running(False)
        rest = AsyncBuffer(self._context, junction, self.buffer.capacity, self._batch)
        rest.stop()
        self.buffer.hand_over(rest)
        while len(rest):
            try:
                rest.deliver_some()
            except Exception as error:  # noqa: BLE001 - handled as in a worker
                self._log(error)

    def start(self) -> None:
        """Accept events and start the workers."""
        self._input_context.set_running(True)
        for worker in self._workers:
            worker.start()

    def close(self, deadline: int) -> None:
        """Accept no more events from outside, and deliver none after ``deadline`` (:func:`time.monotonic_ns`)."""
        self._input_context.set_running(False)
        self.buffer.deliver_until(deadline)

    def end(self) -> None:
        """Tell the workers to end; they or :func:`drain` deliver the remaining events."""
        self.buffer.stop()

    def join(self) -> None:
        """Wait for the end of the workers, unless called from the app's own processing."""
        for worker in self._workers:
            if worker.is_alive() and not self._context.lock.is_mine:
                worker.join()

    def deliver_chunk(self) -> None:
        """Deliver one chunk if the buffer is not empty."""
        try:
            self.buffer.deliver_some()
        except Exception as error:  # noqa: BLE001 - handled as in a worker
            self._log(error)

    def _work(self) -> None:
        while True:
            try:
                self.buffer.work()
                return
            except BaseException as error:  # noqa: BLE001 - after any error the next event is delivered
                self._log(error)

    def _log(self, error: BaseException) -> None:
        # The app's exception handler failed, or the error is not an Exception: it can only be logged.
        label = f"app '{self._context.name}', @async stream '{self.entry.id}'"
        if (note := self._repeats.note(f"{label}: {type(error).__name__}")) is not None:
            logger.error("%s: a worker failed; it goes on with the next event%s", label, note, exc_info=error)


def close(streams: Iterable[AsyncStream]) -> int:
    """Accept no more events from outside. Return the deadline of delivering (:func:`time.monotonic_ns`)."""
    deadline = time.monotonic_ns() + int(DRAIN_SECONDS * 1_000_000_000)
    for stream in streams:
        stream.close(deadline)
    return deadline


def drain(context: AppContext, streams: Sequence[AsyncStream], deadline: int) -> None:
    """Deliver the buffered events of an app until the deadline: streams may feed each other without end."""
    while _has_events(context, streams) and time.monotonic_ns() < deadline:
        for stream in streams:
            stream.deliver_chunk()


def _has_events(context: AppContext, streams: Sequence[AsyncStream]) -> bool:
    with context.lock:  # no worker is between taking events from the buffer and delivering them
        return any(len(stream.buffer) for stream in streams)


class AsyncInputHandler:
    """Sends events into an ``@async`` stream, whose workers deliver them.

    Methods return as soon as the events are in the buffer, and block while it is full. In playback the app's clock advances
    when an event is delivered.
    """

    def __init__(self, stamped: InputHandler, unstamped: InputHandler, buffer: AsyncBuffer) -> None:
        self._stamped = stamped
        self._unstamped = unstamped
        self._buffer = buffer

    def rebind(self, other: AsyncInputHandler) -> None:
        """Send into the stream of another handler, which must have the same attributes."""
        self._stamped, self._unstamped, self._buffer = other._stamped, other._unstamped, other._buffer

    def send_directly(self, handler: InputHandler) -> None:
        """Send into a stream that has no buffer any more."""
        self._stamped = self._unstamped = handler

    @property
    def stream(self) -> str:
        """Name of the stream."""
        return self._stamped.stream

    def row_input(self, context: AppContext) -> RowInput:
        """Make a sender of rows with the time of the app, for a source."""
        return RowInput(self._stamped, context)

    def send(self, row: _Row | Event, timestamp: _Time | None = None) -> None:
        """Send one event; see :meth:`InputHandler.send`.

        Raises:
            EventError: the row does not match the stream (arity, type or range); nothing was sent.
            NotRunningError: the app is not running, or was shut down while the event waited for space in the buffer.
        """
        if timestamp is None and not isinstance(row, Event):
            self._unstamped.send(row)
        else:
            self._stamped.send(row, timestamp)

    def send_events(self, events: Iterable[Event]) -> None:
        """Send several events; see :meth:`InputHandler.send_events`. Workers may deliver them in other chunks.

        Raises:
            EventError: a row does not match the stream, or there are no events; nothing was sent.
            NotRunningError: the app is not running, or was shut down while events waited for space in the buffer; those
                before are accepted.
        """
        self._stamped.send_events(events)

    def send_batch(self, data: object, timestamp: object = None) -> None:
        """Send the rows of a table; see :meth:`InputHandler.send_batch`.

        Raises:
            EventError: a column is missing or does not match its attribute; nothing was sent.
            NotRunningError: the app is not running, or was shut down while rows waited for space in the buffer; those before
                are accepted.
        """
        self._stamped.send_batch(data, timestamp)

    async def send_async(self, row: _Row | Event, timestamp: _Time | None = None) -> None:
        """Send one event as :meth:`send` does; wait for space in the buffer without blocking the event loop."""
        import asyncio

        while True:
            if self._stamped is self._unstamped:
                return await self._stamped.send_async(row, timestamp)  # the stream has no buffer any more
            if len(self._buffer) < self._buffer.capacity:
                try:
                    return self.send(row, timestamp)
                except OwnLoopError:
                    pass  # another thread has filled the buffer meanwhile
            await asyncio.sleep(_LOOK_S)

    async def send_events_async(self, events: Iterable[Event]) -> None:
        """Send several events as :meth:`send_events` does, in another thread: it may wait for space in the buffer."""
        import asyncio

        await asyncio.to_thread(self.send_events, events)

    async def send_batch_async(self, data: object, timestamp: object = None) -> None:
        """Send the rows of a table as :meth:`send_batch` does, in another thread: it may wait for space in the buffer."""
        import asyncio

        await asyncio.to_thread(self.send_batch, data, timestamp)


def _entry(context: AppContext, junction: StreamJunction, receiver: AsyncEntry) -> StreamJunction:
    entry = StreamJunction(context, junction.id, junction.layout, junction.pool)
    entry.subscribe(receiver)
    return entry
