"""EventStream: the events of one stream, for ``for`` and ``async for``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from siddhi._core.stream.reader_buffer import ReaderBuffer
from siddhi.errors import BufferOverflowError, DeadlockError
from siddhi.runtime.readers.backpressure import Backpressure, Reader, running_loop, waker

if TYPE_CHECKING:
    import asyncio

    from siddhi._core.runtime.context import AppContext

__all__ = ["POLICIES", "EventStream", "Policy"]

_Item = TypeVar("_Item")

Policy = Literal["wait", "drop_oldest", "raise"]

POLICIES: Final = ("wait", "drop_oldest", "raise")
"""What happens when the buffer is full, by number."""

_YIELD_EVERY = 256
"""Number of items after which an ``async for`` whose events never run out lets other tasks run."""

_NOTHING: Final[Any] = object()


class EventStream(Generic[_Item]):
    """The events that reach a stream of an app, in order: :meth:`SiddhiAppRuntime.stream` returns it.

    An iterator and an asynchronous iterator, for one reader at a time. It ends when the app is shut down, after the events
    that are in the buffer. Close it with ``close()``, ``aclose()`` or a ``with`` statement; it is closed as well when nothing
    refers to it any more, as after a ``break`` out of ``for event in app.stream(...)``.

    Attributes:
        name: name of the stream.
        timeout: seconds that iteration waits for the next event; then it ends, and can be begun again. 0: it takes what is
            there; None: it waits until the app is shut down.
    """

    def __init__(
        self,
        name: str,
        *,
        buffer: int,
        policy: Policy,
        timeout: float | None,
        context: Callable[[], AppContext],
        backpressure: Backpressure,
    ) -> None:
        self.name = name
        self.timeout = timeout
        self._context = context
        self._backpressure = backpressure
        self._buffer = ReaderBuffer(buffer, POLICIES.index(policy))
        self._reader = Reader(f"app.stream({name!r})", self._buffer, backpressure if policy == "wait" else None)
        self._is_awaited = False
        self._in_a_row = 0
        self._current_task: Callable[[], asyncio.Task[Any] | None] | None = None

    @property
    def reader(self) -> Reader:
        """The one who takes the events: it does not keep this object alive."""
        return self._reader

    @property
    def buffered(self) -> int:
        """Number of events in the buffer."""
        return len(self._buffer)

    @property
    def received(self) -> int:
        """Number of events that reached the stream since this object was made."""
        return self._buffer.received

    @property
    def lost(self) -> int:
        """Number of events that were lost because the buffer was full; always 0 with the policy ``wait``."""
        return self._buffer.lost

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._buffer.is_closed

    # --- iteration

    def __iter__(self) -> EventStream[_Item]:
        return self

    def __next__(self) -> _Item:
        item = self._take()
        if item is _NOTHING and not self._buffer.has_news():
            self._wait()
            item = self._take()
        if item is _NOTHING:
            raise StopIteration
        return item  # type: ignore[no-any-return]

    def __aiter__(self) -> EventStream[_Item]:
        return self

    async def __anext__(self) -> _Item:
        if self._current_task is None:
            import asyncio

            self._current_task = asyncio.current_task
        reader = self._reader
        if reader.task is not self._current_task() or not reader.has_begun:
            reader.runs_here()
        item = self._buffer.take(_NOTHING)
        if item is _NOTHING:
            self._in_a_row = 0
            if not self._buffer.has_news():
                await self._arrival()
            item = self._take()
            if item is _NOTHING:
                raise StopAsyncIteration
        else:
            self._in_a_row += 1
            if self._in_a_row == _YIELD_EVERY:
                import asyncio

                self._in_a_row = 0
                await asyncio.sleep(0)
        return item  # type: ignore[no-any-return]

    def _take(self) -> Any:
        """Return the next item, or _NOTHING.

        Raises:
            BufferOverflowError: events are missing here.
        """
        self._reader.runs_here()
        item = self._buffer.take(_NOTHING)
        if item is _NOTHING and (missing := self._buffer.take_gap()):
            raise BufferOverflowError(
                f"app.stream({self.name!r}) lost {missing} events, because its buffer of {self._buffer.capacity} was full; "
                "iteration can go on",
                missing,
            )
        if item is _NOTHING and self._reader.was_closed_since:
            why, self._reader.was_closed_since = self._reader.was_closed_since, ""
            raise BufferOverflowError(f"app.stream({self.name!r}) was closed, since {why}", self._reader.dropped)
        return item

    def _wait(self) -> None:
        """Wait in this thread until there is news, or the timeout is over.

        Raises:
            DeadlockError: nothing could arrive while this thread waits.
        """
        if self.timeout == 0:
            return
        if running_loop() is not None:
            raise DeadlockError(
                f"app.stream({self.name!r}) is empty, and waiting for an event would block the event loop of this thread; "
                "write 'async for', or pass timeout=0 to take what is there"
            )
        if self._context().lock.is_mine:
            raise DeadlockError(
                f"app.stream({self.name!r}) is empty, and a callback or function of the app waits for an event, while no "
                "event can arrive; read the stream in another thread, or pass timeout=0 to take what is there"
            )
        arrived = threading.Event()
        self._begin_waiting(arrived.set)
        try:
            if not self._buffer.has_news():
                arrived.wait(self.timeout)
        finally:
            self._end_waiting(arrived.set)

    async def _arrival(self) -> None:
        """Wait until there is news, or the timeout is over."""
        import asyncio

        if self.timeout == 0:
            return
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        wake = waker(loop, future)
        self._begin_waiting(wake)
        timer = None
        try:
            if self._buffer.has_news():
                return
            if self.timeout is not None:
                timer = loop.call_later(self.timeout, wake)
            await future
        finally:
            if timer is not None:
                timer.cancel()
            self._end_waiting(wake)

    def _begin_waiting(self, wake: Callable[[], object]) -> None:
        if self._is_awaited:
            raise RuntimeError(
                f"app.stream({self.name!r}) is read already: make one for each thread or task that reads"
            )
        self._is_awaited = True
        self._buffer.call_when_filled(wake)
        self._backpressure.begin_starving(self._reader)

    def _end_waiting(self, wake: Callable[[], object]) -> None:
        self._backpressure.end_starving(self._reader)
        self._buffer.forget(wake)
        self._is_awaited = False

    # --- the end

    def close(self) -> None:
        """Take no more events; those in the buffer are dropped. Iteration ends."""
        self._reader.close()

    async def aclose(self) -> None:
        """Close it, as :meth:`close` does."""
        self.close()

    def __enter__(self) -> EventStream[_Item]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> EventStream[_Item]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_reader"):
            self.close()

    def __repr__(self) -> str:
        condition = "closed" if self.is_closed else "ended" if self._buffer.is_ended else "open"
        return f"<EventStream '{self.name}' ({condition}, {self.buffered} events buffered)>"
