"""Periodic persistence: saves the state of apps at an interval."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siddhi.runtime.app import SiddhiAppRuntime

__all__ = ["PeriodicPersistence"]

logger = logging.getLogger("siddhi")


class PeriodicPersistence:
    """A thread that saves the state of every running app at an interval.

    Args:
        runtimes: returns the apps.
        interval_ms: time from the end of one round to the beginning of the next, by the system clock.
        pause: waits for the seconds, or until :meth:`stop`, and returns whether it was stopped; None: by the system clock.
    """

    def __init__(
        self,
        runtimes: Callable[[], Iterable[SiddhiAppRuntime]],
        interval_ms: int,
        pause: Callable[[float], bool] | None = None,
    ) -> None:
        self._runtimes = runtimes
        self._interval = min(interval_ms / 1000, threading.TIMEOUT_MAX)
        self._ended = threading.Event()
        self._pause = self._ended.wait if pause is None else pause
        self._thread = threading.Thread(target=self._run, name="siddhi-persistence", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; wait for its end unless called from it or from the processing of an app."""
        self._ended.set()
        at_work = any(runtime.is_processing_here for runtime in self._runtimes())
        if self._thread is not threading.current_thread() and not at_work:
            self._thread.join()

    def _run(self) -> None:
        while not self._pause(self._interval) and not self._ended.is_set():
            for runtime in self._runtimes():
                if not runtime.is_running:
                    continue
                try:
                    runtime.persist()
                except Exception:
                    logger.exception("the state of app '%s' could not be saved", runtime.name)
