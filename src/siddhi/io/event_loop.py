"""The event loop of all asynchronous connectors of the process. Its thread runs while a connector uses it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

__all__ = ["LoopUse", "end_tasks"]

_T = TypeVar("_T")

_MOST_ROUNDS = 20
"""How often the tasks that are left at the end are cancelled: those of libraries lose cancellations, and start other tasks."""
_CANCEL_SECONDS = 0.5

_CANCEL_AGAIN_SECONDS = 0.5

_guard = threading.Lock()
_users = 0
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None


class LoopUse:
    """One use of the event loop. The first use starts its thread, the end of the last one stops it."""

    def __init__(self) -> None:
        self.loop = _acquire()
        self._released = False

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the loop, and wait for its result. Not to be called on the loop itself.

        Raises:
            Exception: whatever the coroutine raises.
        """
        if threading.current_thread() is _thread:
            coroutine.close()
            raise RuntimeError("a connector waits on the event loop for the event loop: use a coroutine instead")
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        except RuntimeError:  # the use was released meanwhile, by an attempt to connect that failed
            coroutine.close()
            raise
        try:
            return future.result()
        except BaseException:
            future.cancel()  # the wait was interrupted, unless the coroutine itself failed
            raise

    def release(self) -> None:
        """End the use; a second call has no effect."""
        if not self._released:
            self._released = True
            _release(self.loop)


async def end_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and wait until all have ended; their exceptions are not raised.

    A task can swallow a cancellation, as ``asyncio.wait_for`` does before Python 3.12 if its result comes at the same moment; so
    those that go on are cancelled again.
    """
    ended = tuple(tasks)
    pending = {task for task in ended if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=_CANCEL_AGAIN_SECONDS)
    for task in ended:
        if not task.cancelled():
            task.exception()  # read, or it is logged


def _acquire() -> asyncio.AbstractEventLoop:
    global _users, _loop, _thread  # noqa: PLW0603 - one loop per process
    with _guard:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_run, args=(_loop,), name="siddhi-connectors", daemon=True)
            _thread.start()
        _users += 1
        return _loop


def _release(used: asyncio.AbstractEventLoop) -> None:
    global _users, _loop, _thread  # noqa: PLW0603 - as above
    with _guard:
        if used is not _loop:  # it belongs to the process from which this one was forked
            return
        _users -= 1
        if _users or _thread is None:
            return
        loop, thread = _loop, _thread
        _loop = _thread = None
    loop.call_soon_threadsafe(loop.stop)
    if threading.current_thread() is not thread:
        thread.join()


def _forget() -> None:
    """Begin anew in a forked process, which has no thread of the loop: what connects there would never return."""
    global _guard, _users, _loop, _thread
    _guard, _users, _loop, _thread = threading.Lock(), 0, None, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        for _ in range(_MOST_ROUNDS):
            # A task that is cancelled before its first step would not close the connection it was given.
            loop.run_until_complete(asyncio.sleep(0))
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            if not tasks:
                break
            done, _ = loop.run_until_complete(asyncio.wait(tasks, timeout=_CANCEL_SECONDS))
            for task in done:
                if not task.cancelled():
                    task.exception()  # read, or it is logged
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
