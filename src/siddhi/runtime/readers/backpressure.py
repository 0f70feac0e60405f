"""Back-pressure: senders wait while readers of the output are behind.

A sender from outside waits before it takes the app's lock, a coroutine without blocking its loop. It never waits for itself:

- What sends on behalf of a reader (the body of ``async for``, an asynchronous callback, and what these call, also in a thread
  of ``asyncio.to_thread``) does not wait for that reader, whose buffer grows instead. A context variable carries of which
  buffers the running code is the reader.
- Two readers that send and wait for one another would wait forever: the second one goes on.
- A reader that waits for an event of one stream takes none of another one meanwhile: no sender waits for that one.
- What made a reader may be the one that will read: it does not wait for it before it has begun. A task lets other tasks run.
- A thread whose event loop runs the reader can't wait: :class:`DeadlockError`. A coroutine can.

No sender waits unnoticed for a reader that takes nothing for a second: one whose task or thread has ended is closed with an error
in the log; of one that may go on there is a warning. Coroutines that wait are woken in their order, as many as there is room.
"""

from __future__ import annotations

import itertools
import logging
import sys
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING
from weakref import WeakSet

from siddhi._core.runtime.lock import waits_for_me
from siddhi._core.stream.gate import Gate, OwnLoopError
from siddhi._core.stream.reader_buffer import ReaderBuffer
from siddhi.errors import DeadlockError, LimitExceededError

if TYPE_CHECKING:
    import asyncio

    from siddhi._core.runtime.context import AppContext

__all__ = ["Backpressure", "Reader", "running_loop", "running_task"]

logger = logging.getLogger("siddhi")

_MOST_GROWTH = 1_000_000
"""Number of events beyond its capacity to which a buffer grows whose reader sends."""

_LOOK_S = 1.0
"""How long a reader takes nothing before a sender that waits looks why, and how often such a sender looks."""

_numbers = itertools.count(1)
_open: set[int] = set()
"""Numbers of the readers that are not closed."""

_reading: ContextVar[frozenset[int]] = ContextVar("siddhi_reading", default=frozenset())
"""Numbers of the readers on whose behalf the running code runs."""


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs in this thread, or None."""
    asyncio = sys.modules.get("asyncio")
    return None if asyncio is None else asyncio._get_running_loop()


def running_task() -> object:
    """Return what runs here: the task of the loop of this thread, else the number of the thread."""
    loop = running_loop()
    if loop is not None:
        import asyncio

        task = asyncio.current_task(loop)
        if task is not None:
            return task
    return threading.get_ident()


class Reader:
    """Who takes the events of a buffer.

    Args:
        label: for messages, such as ``app.stream('Alerts')``.
        buffer: the buffer.
        gate: where senders wait while the buffer is full; None: nowhere.

    Attributes:
        has_begun: whether it took an event.
        was_closed_since: why it was closed while senders waited for it; empty: it was not.
        dropped: how many events were in its buffer then.
        survives: whether it goes on when the app starts again after a shutdown.
        advice: what to do if it takes nothing.
    """

    survives = False
    advice = "read it, close it where you stop reading ('with', 'async with', close()), or choose a policy that does not wait"

    def __init__(self, label: str, buffer: ReaderBuffer, gate: Backpressure | None) -> None:
        self.label = label
        self.buffer = buffer
        self.number = next(_numbers)
        self.task: object = running_task()
        self.loop: asyncio.AbstractEventLoop | None = running_loop()
        self._gate = gate
        self.has_begun = False
        self.was_closed_since, self.dropped = "", 0
        self._thread: threading.Thread | None = None
        self._is_late = self.loop is None
        self._taken = -1  # events taken when it was last looked at, and since when there are as many
        self._since = 0.0
        self._is_reported = False
        _open.add(self.number)
        if gate is not None:
            gate.add(self)

    def runs_here(self) -> None:
        """Note that the running code takes an event."""
        reading = _reading.get()
        if self.number not in reading:
            _reading.set(frozenset(reading & _open) | {self.number})
        self.task, self.loop, self.has_begun = running_task(), running_loop(), True
        self._thread = threading.current_thread() if self.loop is None else None

    def is_here(self) -> bool:
        """Return whether the running code runs on behalf of this reader, so that it must not wait for it."""
        return self.number in _reading.get() or (self._is_late and self.is_unread_here())

    def is_unread_here(self) -> bool:
        """Return whether nothing was taken yet, and the running thread or task made the reader: perhaps it is to take."""
        return not self.has_begun and self.task == running_task()

    def is_late(self) -> None:
        """Note that other tasks could have begun to take: the one which made the reader does not wait for it."""
        self._is_late = True

    def end_of_task(self) -> tuple[str, BaseException | None] | None:
        """Return how that which took the events has ended, and its exception; None: it may go on."""
        task, asyncio = self.task, sys.modules.get("asyncio")
        if self._thread is not None and isinstance(task, int):
            return None if self._thread.is_alive() else (f"its thread {self._thread.name!r} has ended", None)
        if asyncio is None or not isinstance(task, asyncio.Task) or not self.has_begun:
            return None
        name = f"its task {task.get_name()!r}"
        if not task.done():
            return (f"the event loop of {name} is closed", None) if task.get_loop().is_closed() else None
        if getattr(getattr(task.get_coro(), "cr_code", None), "co_name", "") == "__anext__":
            return None  # a task for one event, such as wait_for(anext(stream), 1) makes
        if task.cancelled():
            return f"{name} was cancelled", None
        error = task.exception()
        return (f"{name} has ended", None) if error is None else (f"{name} failed with {error!r}", error)

    def look(self) -> Callable[[], None] | None:
        """Close it if it has taken nothing for a second and can't go on; return what logs that it takes nothing."""
        now = time.monotonic()
        if self.buffer.taken != self._taken:
            self._taken, self._since = self.buffer.taken, now
        if now - self._since < _LOOK_S or self.buffer.is_closed:
            return None
        held, ended = len(self.buffer), self.end_of_task()
        if ended is not None:
            why, error = ended
            self.was_closed_since = f"{why}, while senders waited for it; {held} events in its buffer are lost"
            self.dropped = held
            self.close()
            message = "%s was closed, since %s. Close a stream where you stop reading it: see docs/asyncio.md"
            return lambda: logger.error(message, self.label, self.was_closed_since, exc_info=error)
        if self._is_reported:
            return None
        self._is_reported = True
        message = (
            "senders wait for %s, which has taken nothing for a second, while %d events are in its buffer of %d: %s"
        )
        return lambda: logger.warning(message, self.label, held, self.buffer.capacity, self.advice)

    @property
    def thread(self) -> int | None:
        """The thread that takes the events, or whose event loop does; None: not known."""
        if self.loop is not None:
            return getattr(self.loop, "_thread_id", None)  # other event loops than those of asyncio do not tell
        return self.task if self.has_begun and isinstance(self.task, int) else None

    @property
    def is_starving(self) -> bool:
        """Whether there is nothing to take."""
        return not self.buffer.has_news()

    def join(self, seconds: float) -> None:
        """Wait until a callback has handled all events; an iterator is read by somebody else."""

    def finish(self) -> None:
        """Take what is in the buffer, to which nothing is added any more."""
        if self._gate is not None:
            self._gate.remove(self)
        self.buffer.end()

    def close(self) -> None:
        """Take no more events."""
        if self._gate is not None:
            self._gate.remove(self)
        self.buffer.close()
        self.task = None
        _open.discard(self.number)


class _Sleeper:
    """A coroutine that waits to send."""

    is_woken = False
    wake: Callable[[], None]

    def new_future(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
        """Return what it waits for: :meth:`wake` sets it."""
        future: asyncio.Future[None] = loop.create_future()
        self.wake, self.is_woken = waker(loop, future), False
        return future


class Backpressure(Gate):
    """The gate of an app.

    Args:
        context: of the app's operators.
    """

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._readers: list[Reader] = []
        self._changed = threading.Condition()
        # Coroutines that wait, in their order, by event loop and by the readers on whose behalf they send.
        self._sleepers: dict[tuple[asyncio.AbstractEventLoop, frozenset[int]], OrderedDict[_Sleeper, None]] = {}
        self._watched: WeakSet[asyncio.AbstractEventLoop] = WeakSet()  # loops with a timer that looks at readers
        self._senders: Counter[int] = Counter()  # how many senders wait on behalf of a reader
        self._starving: list[Reader] = []  # those that wait for an event
        self._is_lifted = False

    def add(self, reader: Reader) -> None:
        """Hold senders back while the buffer of a reader is full."""
        if not self._readers and not self._is_lifted:
            self.guard(self._context)
        self._readers.append(reader)
        reader.buffer.set_gate(self)

    def remove(self, reader: Reader) -> None:
        """Ignore a reader from now on."""
        if reader in self._readers:
            reader.buffer.set_gate(None)
            self._readers.remove(reader)
            if not self._readers:
                self.release()
            self.notify()

    def move(self, context: AppContext) -> None:
        """Hold back the senders of the operators that take the place of the former ones."""
        self._context = context
        if self._readers and not self._is_lifted:
            self.guard(context)

    def lift(self) -> None:
        """Hold no sender back until :meth:`lower`: the app is being shut down."""
        self._is_lifted = True
        self.release()
        self.notify()

    def lower(self) -> None:
        """Hold senders back again."""
        self._is_lifted = False
        if self._readers:
            self.guard(self._context)

    # --- senders

    def blocking(self) -> list[Reader]:
        """Return the readers for which a sender that runs here has to wait."""
        full = self._full()
        return self._waited_for(full, [reader for reader in full if reader.is_here()]) if full else full

    def _full(self) -> list[Reader]:
        self.set_shut(False)  # first: a buffer that is filled meanwhile shuts the gate again
        full = [] if self._is_lifted else [reader for reader in self._readers if reader.buffer.is_full]
        if full:
            self.set_shut(True)
        return full

    def _waited_for(self, full: list[Reader], own: list[Reader]) -> list[Reader]:
        """Return those for which a sender on behalf of *own* has to wait."""
        return [
            reader
            for reader in full
            if reader not in own
            and not any(one.task is reader.task for one in self._starving if one is not reader and one.is_starving)
            and not (own and self._senders[reader.number])
        ]

    def is_shut_for_me(self) -> bool:
        found = self.blocking()
        if not found:
            self._check_growth()
            return False
        loop = running_loop()
        if loop is not None:
            for reader in found:
                if reader.loop is loop:
                    raise OwnLoopError(
                        f"deadlock: the buffer of {reader.label} is full ({len(reader.buffer)} events), and its reader runs "
                        "on the event loop of this thread, which a send would block until there is room; nothing was sent. "
                        "Write 'await handler.send_async(...)', or choose a policy that does not wait; see docs/asyncio.md"
                    )
        return True

    def wait(self, seconds: float | None) -> bool:
        end = None if seconds is None else time.monotonic() + seconds
        with self._waiting():
            while True:
                self._look()
                left = _LOOK_S if end is None else max(0.0, min(_LOOK_S, end - time.monotonic()))
                with self._changed:
                    if self._changed.wait_for(lambda: not self.blocking(), left):
                        return True
                if end is None:
                    self._refuse_deadlock()
                elif time.monotonic() >= end:
                    return False

    def _look(self) -> None:
        """Look at the readers for which senders wait: none of them holds senders back unnoticed."""
        with self._changed:
            reports = [reader.look() for reader in self._waited_for(self._full(), [])]
        for report in filter(None, reports):
            report()

    def _refuse_deadlock(self) -> None:
        """Raise if the thread that runs a reader waits for this thread.

        Raises:
            DeadlockError: it does, without a time limit.
        """
        for reader in self.blocking():
            thread = reader.thread
            if thread is not None and waits_for_me(thread):
                raise DeadlockError(
                    f"deadlock: the buffer of {reader.label} is full ({len(reader.buffer)} events), and the thread that runs its "
                    f"reader waits for thread {threading.current_thread().name!r}, which sends; nothing was sent. Let the reader "
                    "go on without waiting for threads that send; see docs/asyncio.md"
                )

    async def room(self) -> None:
        """Wait, without blocking the loop, until a sender that runs here need not wait."""
        import asyncio

        while self.is_shut:
            blocking = self.blocking()
            unread = [reader for reader in blocking if reader.is_unread_here()]
            if not blocking or unread:
                if self.is_shut:
                    await asyncio.sleep(0)  # what shall read may be a task that has not run yet
                if not blocking:
                    return
                for reader in unread:
                    reader.is_late()
            else:
                await self._turn(asyncio.get_running_loop())

    async def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait, behind those that came before, until there is room."""
        key, sleeper = (loop, _reading.get()), _Sleeper()
        with self._waiting():
            with self._changed:
                self._sleepers.setdefault(key, OrderedDict())[sleeper] = None
            if loop not in self._watched:
                self._watch(loop)
            try:
                while True:
                    future = sleeper.new_future(loop)
                    if not self.blocking():  # a reader may have made room before it could wake this sender
                        return
                    await future
            finally:
                with self._changed:
                    queue = self._sleepers[key]
                    del queue[sleeper]
                    if not queue:
                        del self._sleepers[key]
                    elif not next(iter(queue)).is_woken:
                        self._wake(key)

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look at the readers now, and again while coroutines wait on the loop."""
        self._look()
        if any(one is loop for one, _ in [*self._sleepers]):
            self._watched.add(loop)
            loop.call_later(_LOOK_S, self._watch, loop)
        else:
            self._watched.discard(loop)

    def _wake(self, key: tuple[asyncio.AbstractEventLoop, frozenset[int]]) -> None:
        """Wake as many coroutines of a queue as there is room for, one event each; each wakes the next if room is left."""
        loop, reading = key
        full = self._full()
        if loop.is_closed() or self._waited_for(full, [reader for reader in full if reader.number in reading]):
            return
        rooms = (one.buffer.capacity - len(one.buffer) for one in self._readers if one not in full)
        for sleeper in [*itertools.islice(self._sleepers[key], max(1, min(rooms, default=1)))]:
            if not sleeper.is_woken:
                sleeper.is_woken = True
                sleeper.wake()

    def notify(self) -> None:
        with self._changed:
            self._changed.notify_all()
            for key in [*self._sleepers]:
                self._wake(key)

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        reading = _reading.get()
        with self._changed:
            self._senders.update(reading)
        try:
            yield
        finally:
            with self._changed:
                self._senders.subtract(reading)
                for number in reading:
                    if not self._senders[number]:
                        del self._senders[number]

    def _check_growth(self) -> None:
        for reader in self._readers:
            if len(reader.buffer) >= reader.buffer.capacity + _MOST_GROWTH:
                raise LimitExceededError(
                    f"the buffer of {reader.label} holds {len(reader.buffer)} events, {reader.buffer.capacity} are its bound: "
                    "its reader sends more events than it takes; the event was refused"
                )

    # --- readers

    def begin_starving(self, reader: Reader) -> None:
        """Note that a reader waits for an event: no sender must wait for other streams that it reads."""
        self._starving.append(reader)
        if self.is_shut:
            self.notify()

    def end_starving(self, reader: Reader) -> None:
        """Note that it waits no longer."""
        self._starving.remove(reader)


def waker(loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]) -> Callable[[], None]:
    """Return a function that ends the waiting for a future, in whatever thread it is called."""

    def finish() -> None:
        if not future.done():
            future.set_result(None)

    def wake() -> None:
        if running_loop() is loop:
            finish()
        elif not loop.is_closed():
            try:
                loop.call_soon_threadsafe(finish)
            except RuntimeError:
                if not loop.is_closed():
                    raise

    return wake
