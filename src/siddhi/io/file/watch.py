"""Notifications of changes in a folder, from the operating system through watchfiles."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

from watchfiles import watch

__all__ = ["Watch"]

_TIMEOUT_MS = 200  # between two notifications without a change
_LONGEST_STEP_MS = 50


class Watch:
    """Collects the paths that have changed in a folder and those in it, in a thread of its own. On the event loop only.

    Args:
        folder: the folder.
        interval: seconds for which changes are collected at most.

    Attributes:
        notified: set when there are changes, after an error, and from time to time without either.
    """

    def __init__(self, folder: str, interval: float) -> None:
        self.notified = asyncio.Event()
        self._folder = folder
        self._interval_ms = max(1, round(interval * 1000))
        self._changed: set[str] = set()
        self._failure: Exception | None = None
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="siddhi-watch", daemon=True)

    async def open(self) -> None:
        """Begin; every change after that is noticed.

        Raises:
            OSError: the folder can't be watched.
        """
        self._thread.start()
        await self.notified.wait()
        self._raise_failure()

    async def close(self) -> None:
        """Stop, and wait for the end of the thread."""
        self._stop.set()
        if self._thread.ident is not None:
            await asyncio.to_thread(self._thread.join)

    def take(self) -> set[str]:
        """Return the paths that have changed since the last call.

        Raises:
            OSError: the folder can't be watched any more.
        """
        self._raise_failure()
        self.notified.clear()
        changed, self._changed = self._changed, set()
        return changed

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise OSError(f"can't watch '{self._folder}': {self._failure}") from self._failure

    def _run(self) -> None:
        try:
            for changes in watch(
                self._folder,
                watch_filter=None,
                debounce=self._interval_ms,
                step=min(self._interval_ms, _LONGEST_STEP_MS),
                stop_event=self._stop,
                rust_timeout=_TIMEOUT_MS,
                yield_on_timeout=True,
                raise_interrupt=False,
            ):
                self._hand_over({path for _, path in changes}, None)
        except Exception as error:  # noqa: BLE001 - raised where the changes are taken
            self._hand_over(set(), error)
        else:
            if not self._stop.is_set():
                self._hand_over(set(), RuntimeError("the watch has ended"))

    def _hand_over(self, paths: set[str], failure: Exception | None) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._take_over, paths, failure)

    def _take_over(self, paths: set[str], failure: Exception | None) -> None:
        self._changed |= paths
        self._failure = self._failure or failure
        self.notified.set()
