"""AsyncCallback: an ``async def`` callback, which runs on the event loop on which it was attached."""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from siddhi._core.record.user_event import Event
from siddhi._core.stream.reader_buffer import ReaderBuffer
from siddhi.runtime.readers.backpressure import Backpressure, Reader, running_loop, waker

if TYPE_CHECKING:
    import asyncio

    from siddhi._core.record.row_maker import TypedRowMaker

__all__ = ["AsyncCallback", "EventsOfType"]

logger = logging.getLogger("siddhi")


class EventsOfType(list[Event]):
    """Events for which a call of an asynchronous callback gets objects of a class, made when its turn has come."""

    __slots__ = ("_maker",)

    def __init__(self, events: list[Event], maker: TypedRowMaker[Any]) -> None:
        super().__init__(events)
        self._maker = maker

    def rows(self) -> list[Any]:
        """Return the objects; exceptions of their constructors are raised."""
        return self._maker.rows_of(self)


class AsyncCallback(Reader):
    """Calls of a coroutine function, one after the other, in the order in which the app would have called it.

    Args:
        function: the coroutine function.
        origin: what it is called for, such as ``callback of 'Alerts'``.
        buffer: number of events whose calls wait, beyond which senders wait.
        backpressure: the gate of the app.
        report: gets an exception of the function, the origin and the events.
    """

    survives = True
    advice = "its call has not returned"

    def __init__(
        self,
        function: Callable[..., Awaitable[object]],
        origin: str,
        *,
        buffer: int,
        backpressure: Backpressure,
        report: Callable[[Exception, str, list[Event]], object],
    ) -> None:
        super().__init__(f"the asynchronous {origin}", ReaderBuffer(buffer, 0), backpressure)
        loop = running_loop()
        assert loop is not None
        self.task = self  # it takes events in a task of its own
        self._function = function
        self._origin = origin
        self._loop: asyncio.AbstractEventLoop = loop
        self._report = report
        self._task: asyncio.Task[None] | None = None
        self._is_calling = False
        self._joining: list[threading.Event] = []
        self.buffer.call_when_filled(self._begin)

    def call(self, *arguments: Any) -> None:
        """Note a call; the function that is attached to the app.

        Raises:
            RuntimeError: the event loop of the function is closed.
        """
        if self._loop.is_closed():
            raise RuntimeError(
                f"the event loop on which the asynchronous {self._origin} runs is closed: shut the app down before the loop "
                "ends ('async with app'), or detach the callback"
            )
        self.buffer.add_call(*arguments)

    def _begin(self) -> None:
        """Start the task that calls the function."""
        if running_loop() is self._loop:
            self._start()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._start)

    def _start(self) -> None:
        if not self.buffer.has_calls:
            if not self.buffer.is_closed:
                self.buffer.call_when_filled(self._begin)
        elif self._task is None or self._task.done():
            self._task = self._loop.create_task(self._run(), name=f"siddhi {self._origin}")

    async def _run(self) -> None:
        from asyncio import CancelledError

        buffer = self.buffer
        self.runs_here()
        try:
            while True:
                self._is_calling = True
                while (arguments := buffer.take_call()) is not None:
                    try:
                        await self._function(*map(_given, arguments))
                    except CancelledError as error:
                        cancelled = RuntimeError(f"a call of the asynchronous {self._origin} was cancelled")
                        cancelled.__cause__ = error
                        self._handle(cancelled, arguments)
                        if self._is_cancelled():
                            raise
                    except Exception as error:  # noqa: BLE001 - as those of other callbacks
                        self._handle(error, arguments)
                self._rest()
                if buffer.is_ended or buffer.is_closed:
                    return
                future: asyncio.Future[None] = self._loop.create_future()
                wake = waker(self._loop, future)
                buffer.call_when_filled(wake)
                try:
                    if not buffer.has_news():
                        await future
                finally:
                    buffer.forget(wake)
        finally:
            self._rest()
            if not buffer.is_closed:
                buffer.call_when_filled(self._begin)

    def _is_cancelled(self) -> bool:
        """Return whether the task itself is to end, and not only one for which a call waited; Python 3.10 can't tell."""
        return self._task is None or not hasattr(self._task, "cancelling") or self._task.cancelling() > 0

    def _rest(self) -> None:
        """Note that all calls have returned."""
        self._is_calling = False
        joining, self._joining = self._joining, []
        for rests in joining:
            rests.set()

    def _handle(self, error: Exception, arguments: tuple[Any, ...]) -> None:
        events = [event for one in arguments if isinstance(one, list) for event in one if isinstance(event, Event)]
        try:
            self._report(error, self._origin, events)
        except Exception:
            logger.exception("%s: the exception handler failed", self._origin)

    # --- the end

    def end_of_task(self) -> tuple[str, BaseException | None] | None:
        """Return what ends the calls: that of the loop. A task that was cancelled is followed by another one."""
        if self._loop.is_closed():
            return "its event loop is closed", None
        self._begin()
        return None

    def join(self, seconds: float) -> None:
        """Wait until all calls have returned, unless they need this thread or their loop does not run."""
        if self.is_here() or running_loop() is self._loop or not self._loop.is_running():
            return
        rests = threading.Event()
        self._loop.call_soon_threadsafe(self._note, rests)
        rests.wait(max(0.0, seconds))

    def _note(self, rests: threading.Event) -> None:
        if self._is_calling or self.buffer.has_calls:
            self._joining.append(rests)
            if self.buffer.has_calls:
                self._start()  # if its task was cancelled; no effect if it runs
        else:
            rests.set()


def _given(argument: object) -> object:
    """Return what the function gets for an argument of its call."""
    return argument.rows() if type(argument) is EventsOfType else argument
