"""Threads that move an app's time when no event does: timers in live mode, the heartbeat in playback."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from siddhi._core.context import AppContext

__all__ = ["Heartbeat", "TimerThread"]

logger = logging.getLogger("siddhi")


class TimerThread:
    """Fires an app's timers by the system clock. The thread starts with the first timer and ends with :meth:`stop`."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._changed = threading.Condition()
        self._signalled = False
        self._stopped = False
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """The earliest due time has changed."""
        with self._changed:
            self._signalled = True
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(
                    target=self._run, name=f"siddhi-timers-{self._context.name}", daemon=True
                )
                self._thread.start()
            self._changed.notify()

    def stop(self) -> None:
        """End the thread; returns when it has ended, unless called from it or from the app's processing."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread() and not self._context.lock.is_mine:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                due = None if self._context.playback else self._context.next_due
                delay = None if due is None else due / 1000 - time.time()
                if not self._stopped and not self._signalled and (delay is None or delay > 0):
                    self._changed.wait(delay)
                self._signalled = False
                if self._stopped:
                    return
            if not self._context.playback:
                _go_on_after(self._context, self._context.fire_due)


class Heartbeat:
    """Playback: moves the clock on by ``increment_ms`` whenever it stood still for ``idle_ms`` of system time."""

    def __init__(self, context: AppContext, idle_ms: int, increment_ms: int) -> None:
        self._context = context
        self._idle = idle_ms / 1000
        self._increment = increment_ms
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"siddhi-heartbeat-{context.name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; returns when it has ended, unless called from it or from the app's processing."""
        self._stopped.set()
        if self._thread is not threading.current_thread() and not self._context.lock.is_mine:
            self._thread.join()

    def _run(self) -> None:
        seen = self._context.now
        since = time.monotonic()
        # Looked at ten times per period: an event counts as activity at most a tenth of a period late.
        while not self._stopped.wait(self._idle / 10):
            now = self._context.now
            if now != seen:
                seen, since = now, time.monotonic()
            elif seen and time.monotonic() - since >= self._idle:
                _go_on_after(self._context, partial(self._context.advance_clock, seen + self._increment))
                seen, since = self._context.now, time.monotonic()


def _go_on_after(context: AppContext, step: Callable[[], object]) -> None:
    """Take a step that must not end its thread: nobody else moves the app's time."""
    try:
        step()
    except BaseException:
        logger.exception("app '%s': time goes on after:", context.name)
