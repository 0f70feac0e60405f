"""``@async`` streams: the ways in, the buffer, and the workers that deliver."""

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

__all__ = ["AsyncInputHandler", "AsyncStream", "drain"]

logger = logging.getLogger("siddhi")

DRAIN_SECONDS = 10.0
"""How long a shutdown waits for what the buffers hold to be delivered."""


class AsyncStream:
    """A stream whose senders do not wait for its receivers.

    Args:
        context: the app's.
        junction: where receivers subscribe and workers deliver.
        settings: of the annotation.

    Attributes:
        entry: where the app's own queries send.
        buffer: between the entries and ``junction``.
    """

    def __init__(self, context: AppContext, junction: StreamJunction, settings: AsyncSettings) -> None:
        self._context = context
        # Senders from outside have a lock of their own: a subscriber that takes its time must not hold them up.
        self._gate = AppContext(context.name)
        self._repeats = Repeats()
        self._workers = [
            threading.Thread(target=self._work, name=f"siddhi-{context.name}-{junction.id}-{i}", daemon=True)
            for i in range(settings.workers)
        ]
        self.buffer = AsyncBuffer(context, junction, settings.buffer_size, settings.batch_size_max)
        self.entry = _entry(context, junction, AsyncEntry(self.buffer, False, None))
        lock = self._gate.lock
        self._stamped = InputHandler(self._gate, _entry(self._gate, junction, AsyncEntry(self.buffer, True, lock)))
        self._unstamped = InputHandler(self._gate, _entry(self._gate, junction, AsyncEntry(self.buffer, False, lock)))

    def new_input_handler(self) -> AsyncInputHandler:
        """A way in for everybody else."""
        return AsyncInputHandler(self._stamped, self._unstamped)

    def start(self) -> None:
        """Take events and start the workers."""
        self._gate.set_running(True)
        for worker in self._workers:
            worker.start()

    def close(self) -> None:
        """Take no more events from outside."""
        self._gate.set_running(False)

    def end(self) -> None:
        """Let the workers end. What is left in the buffer is theirs, or :func:`drain`'s."""
        self.buffer.stop()

    def join(self) -> None:
        """Return when the workers have ended; at once, if called from the app's own processing."""
        for worker in self._workers:
            if worker.is_alive() and not self._context.lock.is_mine:
                worker.join()

    def deliver_some(self) -> None:
        """Deliver one chunk, if there is something to deliver."""
        try:
            self.buffer.deliver_some()
        except Exception as error:  # noqa: BLE001 - as in a worker
            self._log(error)

    def _work(self) -> None:
        while True:
            try:
                self.buffer.work()
                return
            except BaseException as error:  # noqa: BLE001 - whatever a callback raises, the next event is delivered
                self._log(error)

    def _log(self, error: BaseException) -> None:
        # The app's exception handler failed, or something that is not an Exception was raised: nobody is left to tell.
        place = f"app '{self._context.name}', @async stream '{self.entry.id}'"
        if (note := self._repeats.note(f"{place}: {type(error).__name__}")) is not None:
            logger.error("%s goes on after:%s", place, note, exc_info=error)


def drain(context: AppContext, streams: Sequence[AsyncStream]) -> None:
    """Deliver what the buffers of an app hold. Streams may feed each other."""
    deadline = time.monotonic() + DRAIN_SECONDS
    while _hold_events(context, streams):
        for stream in streams:
            stream.deliver_some()
        if time.monotonic() >= deadline:
            left = sum(len(stream.buffer) for stream in streams)
            logger.warning("%d events of @async streams were not delivered before the app was shut down", left)
            return


def _hold_events(context: AppContext, streams: Sequence[AsyncStream]) -> bool:
    with context.lock:  # no worker is between taking events out and delivering them
        return any(len(stream.buffer) for stream in streams)


class AsyncInputHandler:
    """Sends events into an ``@async`` stream; they are delivered by the stream's workers.

    Methods return as soon as the events are in the buffer, and wait while it is full. In playback the app's clock moves
    when an event is delivered.
    """

    def __init__(self, stamped: InputHandler, unstamped: InputHandler) -> None:
        self._stamped = stamped
        self._unstamped = unstamped

    def rebind(self, other: AsyncInputHandler) -> None:
        """Send where another handler of a stream of these attributes sends."""
        self._stamped, self._unstamped = other._stamped, other._unstamped

    @property
    def stream(self) -> str:
        """Name of the stream."""
        return self._stamped.stream

    def send(self, row: Sequence[Any] | Mapping[str, Any] | Event, timestamp: int | None = None) -> None:
        """Send one event; see :meth:`InputHandler.send`.

        Raises:
            EventError: the row does not fit the stream (arity, type or range); nothing has happened.
            NotRunningError: the app is not running, or was shut down while the event waited for room.
        """
        if timestamp is None and not isinstance(row, Event):
            self._unstamped.send(row)
        else:
            self._stamped.send(row, timestamp)

    def send_events(self, events: Iterable[Event]) -> None:
        """Send several events; see :meth:`InputHandler.send_events`. Workers group them as they find them.

        Raises:
            EventError: one of the rows does not fit the stream, or there are none; nothing has happened.
            NotRunningError: the app is not running, or was shut down while they waited for room; those that found room
                are taken.
        """
        self._stamped.send_events(events)

    def send_batch(self, data: object, timestamp: object = None) -> None:
        """Send the rows of a table; see :meth:`InputHandler.send_batch`.

        Raises:
            EventError: a column is missing or does not fit its attribute; nothing has happened.
            NotRunningError: the app is not running, or was shut down while rows waited for room; those before are taken.
        """
        self._stamped.send_batch(data, timestamp)


def _entry(context: AppContext, junction: StreamJunction, receiver: AsyncEntry) -> StreamJunction:
    entry = StreamJunction(context, junction.id, junction.layout, junction.pool)
    entry.subscribe(receiver)
    return entry
