"""Base of sources that are coroutines on the event loop of the connectors."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Literal, cast

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.connector import ConnectorContext
from siddhi.io.event_loop import LoopUse, end_tasks
from siddhi.io.options import OptionHolder
from siddhi.io.source import Source, SourceEventListener

__all__ = ["AsyncSource", "ReplayableSource"]

logger = logging.getLogger("siddhi")

AckMode = Literal["received", "processed", "checkpoint"]
Given = tuple[object, Sequence[object] | None, object] | tuple[object, Sequence[object] | None, object, int | None]

DRAIN_SECONDS = 10.0
"""Maximum time that a disconnect waits for the accepted payloads to be processed."""
_MOST_AT_ONCE = 256
"""Number of payloads after which other sources of the app take their turn."""


class _Connection:
    """One connection of a source: counts its payloads that are not processed yet, and acknowledges those that are.

    Args:
        size: number of payloads that may wait.
        acknowledge: acknowledges the payloads up to a position.
        at_once: whether payloads are acknowledged as soon as they are processed.
    """

    def __init__(self, size: int, acknowledge: Callable[[object], Awaitable[None]], *, at_once: bool) -> None:
        self.use = LoopUse()
        self.is_closing = False  # no more payloads are accepted
        self.is_disconnecting = False
        self.position: object = None  # of the last processed payload
        self._free = size
        self._freed = asyncio.Event()
        self._acknowledge = acknowledge
        self._at_once = at_once
        self._unacknowledged: object = None  # the position up to which payloads are to be acknowledged
        self._acknowledging: asyncio.Task[None] | None = None
        self.failed = asyncio.Event()
        self.failure: Exception | None = None

    def try_accept(self) -> bool:
        """Count one more payload if it can be accepted now. On the event loop only."""
        if not self._free or self.is_closing:
            return False
        self._free -= 1
        return True

    async def room(self) -> None:
        """Wait until one more payload can be accepted; while closing, none can. On the event loop only."""
        while not self._free or self.is_closing:
            self._freed.clear()
            await self._freed.wait()

    async def accept(self) -> None:
        """Wait until one more payload can be accepted, and count it. On the event loop only."""
        await self.room()
        self._free -= 1

    async def accept_some(self, wanted: int) -> int:
        """Wait until at least one more payload can be accepted; count as many as there is room for, and return their number."""
        await self.accept()
        more = min(wanted - 1, self._free)
        self._free -= more
        return 1 + more

    def finish(self, done: Sequence[tuple[_Delivery, bool]]) -> None:
        """Forget payloads, processed or not, and notify those who wait for them. In any thread."""
        with suppress(RuntimeError):  # the loop is closed: no task waits
            self.use.loop.call_soon_threadsafe(self._finish, done)

    def _finish(self, done: Sequence[tuple[_Delivery, bool]]) -> None:
        self._free += len(done)
        self._freed.set()
        for delivery, succeeded in done:
            if delivery.processed is not None and not delivery.processed.done():
                delivery.processed.set_result(succeeded)
        if self._at_once and self.position is not None:
            self.acknowledge(self.position)

    def acknowledge(self, position: object) -> None:
        """Acknowledge the payloads up to a position, after those before. On the event loop only."""
        self._unacknowledged = position
        if self._acknowledging is None and self.failure is None:
            self._acknowledging = asyncio.get_running_loop().create_task(self._run_acknowledge())

    async def _run_acknowledge(self) -> None:
        try:
            while (position := self._unacknowledged) is not None:
                self._unacknowledged = None
                await self._acknowledge(position)
        except Exception as error:  # noqa: BLE001 - the connection is lost
            self.failure = error
            self.failed.set()
        finally:
            self._acknowledging = None

    def resume(self, position: object) -> None:
        """Acknowledge the payloads up to a position, which were processed before this connection was made, as the others."""
        self.position = position
        if self._at_once:
            self.acknowledge(position)

    def forget_position(self) -> None:
        """Acknowledge nothing that was processed until now: the source begins again at an earlier position."""
        self.position = self._unacknowledged = None

    async def acknowledged(self) -> bool:
        """Wait until nothing is being acknowledged. After a limit, end the acknowledgement, and return False."""
        task = self._acknowledging
        if task is None:
            return True
        _, pending = await asyncio.wait({task}, timeout=DRAIN_SECONDS)
        await end_tasks(pending)
        return not pending


@dataclass(slots=True, eq=False)
class _Delivery:
    """A payload on its way into the app."""

    connection: _Connection
    payload: object
    properties: Sequence[object] | None
    position: object
    timestamp: int | None = None
    processed: asyncio.Future[bool] | None = None


class AsyncSource(Source):
    """A source that receives in a coroutine.

    The app processes the payloads in a thread of its own, in their order; the event loop goes on meanwhile. At most
    ``buffer_size`` payloads wait: then :meth:`put` and :meth:`deliver` wait, and the source stops reading.

    Subclasses implement :meth:`open`, :meth:`receive` and :meth:`close`, and call ``super().init`` in their ``init``.

    Attributes:
        ack_modes: values of the option ``ack``, which sets :attr:`acknowledges`; the first one is the default.
        is_finite: whether the source has ended when :meth:`receive` returns, see :attr:`has_ended`; without, it stays connected.
        buffer_size: number of payloads that may wait; the option ``buffer.payloads`` sets it.
        has_message_time: whether messages have a time, so that there is the option ``event.time``.
        is_message_time: whether the option says that this is the timestamp of the events; pass it to :meth:`put` then.
        acknowledges: when :meth:`acknowledge` is called: ``received``: never, the source acknowledges by itself;
            ``processed``: after payloads were processed; ``checkpoint``: after ``persist`` saved a state that has processed
            them.
        listener: receiver of the payloads.
        context: the app and the stream.
    """

    ack_modes: ClassVar[tuple[AckMode, ...]] = ("received",)
    is_finite: bool = False
    has_message_time: ClassVar[bool] = False
    buffer_size: int = 1000
    is_message_time: bool = False
    acknowledges: AckMode = "received"
    listener: SourceEventListener
    context: ConnectorContext

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        self.listener = listener
        self.context = context
        self.buffer_size = options.integer("buffer.payloads", self.buffer_size, least=1)
        by_name: dict[str, AckMode] = {mode: mode for mode in self.ack_modes}
        self.acknowledges = by_name[options.choice("ack", self.ack_modes, self.ack_modes[0])]
        if self.has_message_time:
            self.is_message_time = options.choice("event.time", ("arrival", "message"), "arrival") == "message"
        self._waiting: deque[_Delivery] = deque()
        self._changed = threading.Condition()
        self._scheduled = False
        self._running = False
        self._received_all = False
        self._thread: int | None = None  # the thread that is processing payloads
        self._connection: _Connection | None = None
        self._task: asyncio.Task[None] | None = None

    # --- to be implemented

    async def open(self) -> None:
        """Connect.

        Raises:
            ConnectionUnavailableError, OSError: it can't be reached now; the app retries. After any other exception the app
                does not start.
        """

    async def receive(self) -> None:
        """Receive payloads, and :meth:`put` or :meth:`deliver` each, until the task is cancelled.

        Raises:
            Exception: the connection is lost; the app reconnects.
        """

    async def close(self) -> None:
        """Undo :meth:`open`; also called after a failed one."""

    async def acknowledge(self, position: object) -> None:
        """Acknowledge all payloads up to a position that was passed to :meth:`put` or :meth:`deliver` since :meth:`open`.

        Positions may be left out: the last one of several is enough.

        Raises:
            Exception: the connection is lost; the app reconnects.
        """

    # --- for subclasses

    async def put(
        self,
        payload: object,
        properties: Sequence[object] | None = None,
        position: object = None,
        timestamp: int | None = None,
    ) -> None:
        """Hand a payload to the app, as soon as there is room.

        Args:
            payload: the payload.
            properties: its transport properties, in the order of the names passed to ``init``.
            position: see :meth:`acknowledge` and :class:`ReplayableSource`.
            timestamp: of those events to which the mapper gives none, ms since the epoch; None: the app's time.
        """
        connection = self._connected()
        if not connection.try_accept():
            await connection.accept()
        self._accept(_Delivery(connection, payload, properties, position, timestamp))

    async def put_many(self, payloads: Sequence[Given]) -> None:
        """Hand several payloads to the app, in their order, as soon as there is room: faster than one :meth:`put` for each.

        Args:
            payloads: payload, transport properties and position of each, as for :meth:`put`; the timestamp may follow.
        """
        connection, done = self._connected(), 0
        while done < len(payloads):
            accepted = await connection.accept_some(len(payloads) - done)
            deliveries = [_Delivery(connection, *given) for given in payloads[done : done + accepted]]
            done += accepted
            with self._changed:
                self._waiting.extend(deliveries)
                self._schedule()

    async def deliver(
        self, payload: object, properties: Sequence[object] | None = None, position: object = None
    ) -> bool:
        """Hand a payload to the app, and wait until it is processed; arguments as for :meth:`put`.

        Returns:
            Whether its events were processed. False: it can't be mapped, or the source was disconnected before.
        """
        return await (await self.submit(payload, properties, position))

    async def submit(
        self,
        payload: object,
        properties: Sequence[object] | None = None,
        position: object = None,
        timestamp: int | None = None,
    ) -> asyncio.Future[bool]:
        """Hand a payload to the app, as soon as there is room; arguments as for :meth:`put`.

        Returns:
            The future result of :meth:`deliver`. In :meth:`acknowledge` it is there.
        """
        connection = self._connected()
        if not connection.try_accept():
            await connection.accept()
        processed: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._accept(_Delivery(connection, payload, properties, position, timestamp, processed))
        return processed

    def offer(
        self, payload: object, properties: Sequence[object] | None = None, position: object = None
    ) -> asyncio.Future[bool] | None:
        """Hand a payload to the app, if there is room now; arguments as for :meth:`put`. On the event loop only.

        Returns:
            What :meth:`deliver` returns, once it is processed. None: there is no room, or the source is being disconnected.
        """
        connection = self._connection
        if connection is None or not connection.try_accept():
            return None
        processed: asyncio.Future[bool] = connection.use.loop.create_future()
        with self._changed:
            self._waiting.append(_Delivery(connection, payload, properties, position, processed=processed))
            self._schedule()
        return processed

    async def room(self) -> None:
        """Wait until :meth:`offer` has room; it has if it is called at once. While the source is disconnected, it has none."""
        await self._connected().room()

    def _connected(self) -> _Connection:
        if self._connection is None:
            raise ConnectionUnavailableError("the source is not connected")
        return self._connection

    def _accept(self, delivery: _Delivery) -> None:
        with self._changed:
            self._waiting.append(delivery)
            if not self._scheduled:
                self._schedule()

    def _schedule(self) -> None:
        if self._waiting and not self._scheduled and not self.is_paused:
            self._scheduled = True
            self.context.run_in_worker(self._process_waiting)

    def _process_waiting(self) -> None:
        """Process payloads that wait, in the thread of the app; let the other connectors of the app run after some."""
        done: list[tuple[_Delivery, bool]] = []
        with self._changed:
            self._running = True
        try:
            while len(done) < _MOST_AT_ONCE and (delivery := self._begin()) is not None:
                succeeded = False
                try:
                    succeeded = self.listener.on_event(delivery.payload, delivery.properties, delivery.timestamp)
                    self._processed(delivery)
                finally:
                    done.append((delivery, succeeded))
                    self._thread = None
                    if self.is_paused:  # pause() may wait for the end of this payload
                        with self._changed:
                            self._changed.notify_all()
        finally:
            for connection, group in groupby(done, key=lambda one: one[0].connection):
                connection.finish(list(group))
            with self._changed:
                self._running = self._scheduled = False
                self._schedule()
                self._changed.notify_all()

    def _begin(self) -> _Delivery | None:
        """Return the next payload to process; None: the source is paused, or none waits."""
        with self._changed:
            if self.is_paused or not self._waiting:
                return None
            self._thread = threading.get_ident()
            return self._waiting.popleft()

    def _processed(self, delivery: _Delivery) -> None:
        """Record that a payload is processed."""
        if delivery.position is not None:
            delivery.connection.position = delivery.position

    def _drop_waiting(self) -> int:
        with self._changed:
            dropped = [(delivery, False) for delivery in self._waiting]
            self._waiting.clear()
        for connection, group in groupby(dropped, key=lambda one: one[0].connection):
            connection.finish(list(group))
        return len(dropped)

    @property
    def has_ended(self) -> bool:
        with self._changed:
            return self._received_all and not self._waiting and not self._running

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def capacity(self) -> int:
        return self.buffer_size

    # --- called by the app

    def connect(self) -> None:
        connection = _Connection(self.buffer_size, self.acknowledge, at_once=self.acknowledges == "processed")
        self._connection = connection
        try:
            connection.use.run(self._open())
        except BaseException as error:
            with self._changed:
                self._connection = None
            connection.use.release()
            if isinstance(error, OSError):
                raise ConnectionUnavailableError(f"{type(error).__name__}: {error}") from error
            raise

    async def _open(self) -> None:
        try:
            await self.open()
        except BaseException:
            await self.close()
            raise
        self._task = asyncio.get_running_loop().create_task(self._receive())

    async def _receive(self) -> None:
        connection = self._connected()
        self._received_all = False
        tasks = [asyncio.ensure_future(self.receive()), asyncio.ensure_future(connection.failed.wait())]
        try:
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await end_tasks(tasks)
                received = None if tasks[0].cancelled() else tasks[0].exception()
            if connection.failure is not None:
                raise connection.failure
            if isinstance(received, Exception):
                raise received
            self._received_all = self.is_finite and not tasks[0].cancelled()
        except Exception as error:  # noqa: BLE001 - every failure of a connection leads to the next attempt
            if not isinstance(error, ConnectionUnavailableError):
                error = ConnectionUnavailableError(f"{type(error).__name__}: {error}")
            # Reconnecting blocks its thread, and can end the event loop.
            threading.Thread(target=self.callback.on_error, args=(error,), name="siddhi-reconnect", daemon=True).start()

    def disconnect(self) -> None:
        """Stop receiving, let the accepted payloads be processed, and close the connection."""
        with self._changed:
            connection = self._connection
            if connection is None or connection.is_disconnecting:
                return
            connection.is_disconnecting = True
            use = LoopUse()  # an attempt to connect that fails meanwhile ends its own use
        try:
            self.drain()
            if not connection.use.run(connection.acknowledged()):
                logger.error(
                    "app '%s', source of stream '%s': an acknowledgement did not end within %g s, and is cancelled",
                    self.context.app,
                    self.context.stream,
                    DRAIN_SECONDS,
                )
            if dropped := self._drop_waiting():
                logger.error(
                    "app '%s', source of stream '%s': %d payloads were not processed before it was disconnected",
                    self.context.app,
                    self.context.stream,
                    dropped,
                )
            connection.use.run(self.close())
        finally:
            self._connection = None
            connection.use.release()
            use.release()

    def drain(self) -> None:
        with self._changed:
            connection = self._connection
            if connection is None or connection.is_closing:
                return
            connection.is_closing = True
        connection.use.run(self._stop_receiving())
        self._process_rest()

    async def _stop_receiving(self) -> None:
        task, self._task = self._task, None
        if task is not None and not task.done():
            await end_tasks((task,))

    def _process_rest(self) -> None:
        if self.context.is_processing():
            return  # the payloads wait for this thread
        with self._changed:
            self._changed.wait_for(
                lambda: not self._running and (self.is_paused or not self._waiting), timeout=DRAIN_SECONDS
            )

    def checkpoint(self) -> Callable[[], None] | None:
        connection = self._connection
        if self.acknowledges != "checkpoint" or connection is None or connection.position is None:
            return None
        position = connection.position

        def saved() -> None:
            if connection is self._connection:  # otherwise they are received again
                with suppress(RuntimeError):  # the loop is closed
                    connection.use.loop.call_soon_threadsafe(connection.acknowledge, position)

        return saved

    def pause(self) -> None:
        """Process no payload until :meth:`resume`; wait for the end of the current one."""
        with self._changed:
            self.is_paused = True
            if self._thread not in (None, threading.get_ident()) and not self.context.is_processing():
                self._changed.wait_for(lambda: self._thread is None)

    def resume(self) -> None:
        with self._changed:
            self.is_paused = False
            self._schedule()


class ReplayableSource(AsyncSource):
    """A source that can receive again from a position, such as an offset: positions are part of snapshots.

    Subclasses pass positions to :meth:`put` and :meth:`deliver`, receive from :attr:`position` on in :meth:`open`, and may
    implement :meth:`seek`.

    Attributes:
        position: position of the last processed payload, made of numbers, texts, lists and dicts; None: none.
    """

    position: object = None

    async def _open(self) -> None:
        await super()._open()
        if self.acknowledges != "received" and (position := self.processed_position()) is not None:
            self._connected().resume(position)

    def processed_position(self) -> object:
        """Return up to where payloads were processed when a connection is made: they may not be acknowledged yet.

        The default returns :attr:`position`. None: none was processed.
        """
        return self.position

    async def seek(self) -> None:
        """Receive from :attr:`position` on: it was restored while the source is connected. The default connects again."""
        await self.close()
        await self.open()

    def _processed(self, delivery: _Delivery) -> None:
        super()._processed(delivery)
        if delivery.position is not None:
            self.advance(delivery.position)

    def advance(self, position: object) -> None:
        """Record that a payload is processed, in the app's thread. The default sets :attr:`position`.

        A source whose messages come from several places, such as partitions, collects their positions here instead.
        """
        self.position = position

    def snapshot(self) -> object:
        return [self.position]  # also without a position: then a restore receives from the start

    def restore(self, state: object) -> None:
        """Set the position; payloads that wait are dropped, since they are received again."""
        (self.position,) = cast("list[object]", state)
        if (connection := self._connection) is not None:
            connection.use.run(self._seek(connection))

    async def _seek(self, connection: _Connection) -> None:
        await self._stop_receiving()
        self._drop_waiting()
        connection.forget_position()
        await self.seek()
        self._task = asyncio.get_running_loop().create_task(self._receive())
