"""``@async`` streams: input handlers, buffer, and the workers that deliver."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from siddhi._core.record.user_event import Event
from siddhi._core.runtime.context import AppContext
from siddhi._core.stream.async_buffer import AsyncBuffer, AsyncEntry
from siddhi._core.stream.input import InputHandler
from siddhi._core.stream.junction import StreamJunction
from siddhi.planner.plan.nodes import AsyncSettings
from siddhi.repeats import Repeats

__all__ = ["AsyncInputHandler", "AsyncStream", "close", "drain"]

logger = logging.getLogger("siddhi")

DRAIN_SECONDS = 10.0
"""How long a shutdown waits for buffered events to be delivered."""


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
        return AsyncInputHandler(self._stamped, self._unstamped)

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

    def __init__(self, stamped: InputHandler, unstamped: InputHandler) -> None:
        self._stamped = stamped
        self._unstamped = unstamped

    def rebind(self, other: AsyncInputHandler) -> None:
        """Send into the stream of another handler, which must have the same attributes."""
        self._stamped, self._unstamped = other._stamped, other._unstamped

    @property
    def stream(self) -> str:
        """Name of the stream."""
        return self._stamped.stream

    def send(self, row: Sequence[Any] | Mapping[str, Any] | Event, timestamp: int | None = None) -> None:
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


def _entry(context: AppContext, junction: StreamJunction, receiver: AsyncEntry) -> StreamJunction:
    entry = StreamJunction(context, junction.id, junction.layout, junction.pool)
    entry.subscribe(receiver)
    return entry
