"""The event loop of all asynchronous connectors of the process. Its thread runs while a connector uses it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["LoopUse"]

_T = TypeVar("_T")

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
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # the wait was interrupted, unless the coroutine itself failed
            raise

    def release(self) -> None:
        """End the use; a second call has no effect."""
        if not self._released:
            self._released = True
            _release()


def _acquire() -> asyncio.AbstractEventLoop:
    global _users, _loop, _thread  # noqa: PLW0603 - one loop per process
    with _guard:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_run, args=(_loop,), name="siddhi-connectors", daemon=True)
            _thread.start()
        _users += 1
        return _loop


def _release() -> None:
    global _users, _loop, _thread  # noqa: PLW0603 - as above
    with _guard:
        _users -= 1
        if _users or _loop is None or _thread is None:
            return
        loop, thread = _loop, _thread
        _loop = _thread = None
    loop.call_soon_threadsafe(loop.stop)
    if threading.current_thread() is not thread:
        thread.join()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
