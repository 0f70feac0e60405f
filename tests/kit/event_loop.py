"""An event loop in a thread of its own, for the other end of a connection."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["Loop", "looping"]

WAIT = 30
_T = TypeVar("_T")


class Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="test-loop", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(WAIT)

    def start(self, coroutine: Coroutine[Any, Any, object]) -> None:
        """Run a coroutine beside the test; it is cancelled at the end."""
        asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def close(self) -> None:
        async def cancel() -> None:
            await asyncio.sleep(0)  # a task cancelled before its first step would not close its connection
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        self.run(cancel())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(WAIT)


@contextmanager
def looping() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()
