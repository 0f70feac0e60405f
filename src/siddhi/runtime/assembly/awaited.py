"""AwaitedCalls: the calls of a coroutine function that is a stream function of a query."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from siddhi._core.stream.gate import hold
from siddhi._core.stream.reader_buffer import ReaderBuffer
from siddhi.repeats import Repeats
from siddhi.runtime.readers.backpressure import Backpressure, Reader

if TYPE_CHECKING:
    import asyncio

    from siddhi._core.awaiting.function import AwaitedFunction
    from siddhi._core.runtime.context import AppContext
    from siddhi.extension.metadata import Awaiting
    from siddhi.io.event_loop import LoopUse

__all__ = ["AwaitedCalls"]

logger = logging.getLogger("siddhi")

_LOOK_S = 0.05
"""How often a thread that waits for readers looks whether it is to end."""


class _Call:
    """One call. ``done``: it has ended, with an answer or an error."""

    __slots__ = ("answer", "arguments", "done", "error", "is_expired", "task")

    def __init__(self, arguments: Sequence[object]) -> None:
        self.arguments = arguments
        self.done = False
        self.answer: object = None
        self.error: Exception | None = None
        self.is_expired = False
        self.task: asyncio.Task[None] | None = None


class _CallReader(Reader):
    """Stands for the calls at the gate of the app: senders wait while too many events wait for their results.

    What sends on behalf of a call does not wait for it, and neither does the thread that passes the results on.
    """

    advice = "its calls have not returned"

    def runs_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Note the loop of the calls."""
        self.task, self.loop, self.has_begun = self, loop, True

    def runs_here(self) -> None:
        """Note that the running code makes a call or passes on its result."""
        loop = self.loop
        super().runs_here()
        self.task, self.loop = self, loop


class AwaitedCalls:
    """Runs a coroutine function on the event loop of the connectors, and has the results passed on in order.

    Args:
        function: the function.
        name: its name in queries, for messages.
        awaiting: how many calls run beside each other, how long one may take, and how many events wait.
        context: context of the app.

    Attributes:
        operator: holds the events; set once it is built.
    """

    operator: AwaitedFunction

    def __init__(
        self, function: Callable[..., Awaitable[object]], name: str, awaiting: Awaiting, context: AppContext
    ) -> None:
        self._function = function
        self._name = name
        self._awaiting = awaiting
        self._context = context
        self._buffer = ReaderBuffer(awaiting.buffer, 0)
        self._reader: _CallReader | None = None
        self._waiting: deque[_Call] = deque()  # calls that have not begun; only the loop takes them out, except clear()
        self._running: set[asyncio.Task[None]] = set()
        self._use: LoopUse | None = None
        self._is_woken = False
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()
        self._is_stopping = False
        self._repeats = Repeats()

    def __len__(self) -> int:
        """Return the number of events that wait for results."""
        return len(self._buffer)

    # --- called by the operator, under the app's lock

    def call(self, arguments: Sequence[object]) -> _Call:
        """Return a call that has not begun."""
        return _Call(arguments)

    def begin(self, call: _Call) -> None:
        """Let a call begin when fewer than ``concurrency`` others run."""
        self._buffer.add_call((call,))
        self._waiting.append(call)
        self._wake_loop()

    def wait(self, call: _Call) -> None:
        """Wait until a call has ended, the oldest one of those that have not."""
        if not call.done:
            assert self._use is not None
            self._use.run(self._ended(call))

    def end(self, call: _Call) -> None:  # noqa: ARG002 - they end in order
        """Note that the event of the oldest call goes on."""
        self._buffer.take_call()

    def drop(self, call: _Call) -> None:
        """Forget the oldest call: its event is gone."""
        self.end(call)
        call.done = True
        if call.task is not None and self._use is not None:
            self._use.loop.call_soon_threadsafe(call.task.cancel)

    # --- on the event loop

    def _wake_loop(self) -> None:
        if self._use is not None and not self._is_woken:
            self._is_woken = True
            self._use.loop.call_soon_threadsafe(self._start_calls)

    def _start_calls(self) -> None:
        self._is_woken = False
        while self._waiting and len(self._running) < self._awaiting.concurrency and self._use is not None:
            try:
                call = self._waiting.popleft()
            except IndexError:  # cancelled meanwhile
                return
            if not call.done:
                call.task = self._use.loop.create_task(self._run(call), name=f"siddhi {self._name}")
                self._running.add(call.task)

    async def _run(self, call: _Call) -> None:
        import asyncio

        assert self._reader is not None
        assert call.task is not None
        self._reader.runs_here()
        limit, timer = self._awaiting.timeout, None
        if limit is not None:
            timer = asyncio.get_running_loop().call_later(limit, self._expire, call)
        answer: object = None
        failure: Exception | None = None
        try:
            answer = await self._function(*call.arguments)
        except asyncio.CancelledError:
            failure = self._timed_out() if call.is_expired else self._cancelled("it cancelled itself")
        except Exception as error:  # noqa: BLE001 - goes to the error handling of the stream
            failure = error
        except (SystemExit, KeyboardInterrupt) as error:  # would end the event loop, which others use
            failure = RuntimeError(f"the call of '{self._name}' raised {type(error).__name__}")
            failure.__cause__ = error
        finally:
            if timer is not None:
                timer.cancel()
            if not call.done:  # else it was cancelled
                call.answer, call.error, call.done = answer, failure, True
            self._running.discard(call.task)
            self._start_calls()
            if not self._context.playback:
                with self._changed:
                    self._changed.notify_all()

    def _expire(self, call: _Call) -> None:
        assert call.task is not None
        call.is_expired = True
        call.task.cancel()

    def _timed_out(self) -> TimeoutError:
        return TimeoutError(f"the call of '{self._name}' took longer than {self._awaiting.timeout:g} s")

    def _cancelled(self, why: str) -> RuntimeError:
        return RuntimeError(f"the call of '{self._name}' was cancelled: {why}")

    async def _ended(self, call: _Call) -> None:
        self._start_calls()
        if not call.done:
            assert call.task is not None  # no older one runs, so it has begun
            await call.task

    # --- life cycle

    def open(self, backpressure: Backpressure) -> None:
        """Let senders wait while more events than the buffer holds wait for results."""
        if self._reader is None:
            self._reader = _CallReader(f"the calls of '{self._name}'", self._buffer, backpressure)

    def start(self) -> None:
        """Begin the calls: the app starts."""
        if self._thread is not None:
            return
        # Imported with the first app that awaits: the module loads asyncio.
        from siddhi.io.event_loop import LoopUse

        assert self._reader is not None
        self._use = LoopUse()
        self._reader.runs_on(self._use.loop)
        self._thread = threading.Thread(
            target=self._pass_on, name=f"siddhi-{self._context.name}-{self._name}", daemon=True
        )
        self._thread.start()
        if self._waiting:
            self._wake_loop()

    def move_to(self, operator: AwaitedFunction) -> None:
        """Pass the results on to an operator that has taken the place of the former one, and has loaded its state."""
        operator.adopt(self.operator, self)
        self.operator = operator

    def drain(self, deadline: int) -> None:
        """Wait until the calls begun so far have ended and their events went on, until a time of the monotonic clock (ns).

        Without effect in a callback or function of the app, for which the events would have to wait.
        """
        target = self._buffer.received
        if self._context.lock.is_mine:
            return
        with self._changed:
            self._changed.wait_for(
                lambda: self._buffer.taken >= target, max(0, deadline - time.monotonic_ns()) / 1_000_000_000
            )

    def cancel(self, why: str) -> None:
        """Cancel the calls that have not ended; their events go to the error handling. The caller holds the app's lock.

        Args:
            why: for the error.
        """
        cancelled = 0
        self._waiting.clear()
        for call in self.operator.pending_calls():
            if call.done:
                continue
            call.error, call.done = self._cancelled(why), True
            cancelled += 1
            if self._use is not None and call.task is not None:
                self._use.loop.call_soon_threadsafe(call.task.cancel)
        self._deliver()
        if cancelled:
            logger.warning(
                "app '%s': %d calls of '%s' were cancelled: %s", self._context.name, cancelled, self._name, why
            )

    def stop(self) -> None:
        """Cancel the calls that are left, as :meth:`cancel` does, and end the thread."""
        with self._context.lock:
            self.cancel("the app was shut down")
            use, self._use = self._use, None
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        if self._thread is not None and not self._context.lock.is_mine:
            self._thread.join()
        if self._reader is not None:
            self._reader.close()
        if use is not None:
            use.release()

    # --- the thread that passes results on

    def _stops(self) -> bool:
        return self._is_stopping

    def _pass_on(self) -> None:
        assert self._reader is not None
        self._reader.runs_here()
        while True:
            with self._changed:
                while not self._is_stopping and not self.operator.is_ready:
                    self._changed.wait()
                if self._is_stopping:
                    return
            while not hold(self._context, _LOOK_S) and not self._stops():
                pass  # readers of the output are behind
            with self._context.lock:
                self._deliver()
            with self._changed:
                self._changed.notify_all()

    def _deliver(self) -> None:
        while self.operator.is_ready:
            try:
                self.operator.deliver()
            except BaseException as error:
                # The app's exception handler failed, or the error is not an Exception: it can only be logged.
                label = f"app '{self._context.name}', calls of '{self._name}'"
                if (note := self._repeats.note(f"{label}: {type(error).__name__}")) is not None:
                    logger.error("%s: passing a result on failed; the next one follows%s", label, note, exc_info=error)
