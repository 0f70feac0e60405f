"""Threads that advance an app's clock without events: timers in live mode, the heartbeat in playback.

The live clock follows the system clock while that goes forward; it never goes back.

When the system clock is set forward, the app's clock follows: timers due by the new time run at once, in time order.

When the system clock is set back, the app's clock stays and goes on from there by the monotonic clock, at nine tenths of
its pace, until the system clock has caught up. So no timer waits for the repeated hour, no event is older than the one
before it, a period of nine seconds takes ten, and after a step of one hour both clocks agree again within ten hours. An app
that is restarted begins with the system clock. A step back of a second or more is logged.

Everything in an app uses this clock: timers, triggers, cron, purges, caches, ``currentTimeMillis()`` and the timestamps of
events that are sent without one. Reconnecting waits by the monotonic clock.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from siddhi._core.runtime.context import AppContext
from siddhi._core.stream.gate import hold

__all__ = ["LATEST_MS", "Heartbeat", "TimerThread"]

LATEST_MS = 2**62  # latest valid time of a clock

logger = logging.getLogger("siddhi")

_LONGEST_WAIT_S = 1.0  # the system clock may be set meanwhile, and no platform waits for 292 years
_LOOK_S = 0.05  # how soon the thread ends although it waits for readers
_STEP_MS = 1000  # a smaller step back is an adjustment (NTP)


class TimerThread:
    """Fires an app's timers by the live clock. The thread starts with the first timer and ends with :meth:`stop`."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._changed = threading.Condition()
        self._signalled = False
        self._stopped = False
        self._was_ahead = False
        self._wait: float | None = None
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Reconsider how long to wait: the earliest due time has changed."""
        with self._changed:
            self._signalled = True
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(
                    target=self._run, name=f"siddhi-timers-{self._context.name}", daemon=True
                )
                self._thread.start()
            self._changed.notify()

    def stop(self) -> None:
        """End the thread; wait for its end unless called from it or from the app's processing."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread() and not self._context.lock.is_mine:
            thread.join()

    def fire(self) -> float | None:
        """Fire the timers that are due.

        Returns:
            Seconds to wait before the next call; None: until the earliest due time changes.
        """
        context = self._context
        if context.playback:
            return None
        self._log_step_back(context.ahead)
        due = context.next_due
        if due is not None and due <= context.now:
            while not self._stopped and not hold(context, _LOOK_S):  # wait for readers that are behind, as senders do
                pass
            _go_on_after(context, context.fire_due)
            due = context.next_due
        return None if due is None else min(max(due - context.now, 0) / 1000, _LONGEST_WAIT_S)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._signalled = False
            self._wait = _LONGEST_WAIT_S
            _go_on_after(self._context, self._fire)
            with self._changed:
                if not self._stopped and not self._signalled and self._wait != 0:
                    self._changed.wait(self._wait)
                if self._stopped:
                    return

    def _fire(self) -> None:
        self._wait = self.fire()

    def _log_step_back(self, ahead: int) -> None:
        """Log a step back of the system clock once."""
        if ahead >= _STEP_MS and not self._was_ahead:
            logger.warning(
                "app '%s': the system clock was set back by %.1f s; the app's clock continues from its current time, a tenth "
                "slower, until the system clock has caught up; restart the app to follow the system clock at once",
                self._context.name,
                ahead / 1000,
            )
        self._was_ahead = ahead > 0 and (self._was_ahead or ahead >= _STEP_MS)


class Heartbeat:
    """Advances the playback clock by ``increment_ms`` whenever it stood still for ``idle_ms`` of system time."""

    def __init__(self, context: AppContext, idle_ms: int, increment_ms: int) -> None:
        self._context = context
        self._idle = idle_ms / 1000
        self._increment = increment_ms
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"siddhi-heartbeat-{context.name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; wait for its end unless called from it or from the app's processing."""
        self._stopped.set()
        if self._thread is not threading.current_thread() and not self._context.lock.is_mine:
            self._thread.join()

    def _run(self) -> None:
        seen = self._context.now
        since = time.monotonic()
        # Ten checks per period: an event counts as activity at most a tenth of a period late.
        while not self._stopped.wait(min(self._idle / 10, _LONGEST_WAIT_S)):
            now = self._context.now
            if now != seen:
                seen, since = now, time.monotonic()
            elif seen and time.monotonic() - since >= self._idle:
                _go_on_after(
                    self._context, partial(self._context.advance_clock, min(seen + self._increment, LATEST_MS))
                )
                seen, since = self._context.now, time.monotonic()


def _go_on_after(context: AppContext, step: Callable[[], object]) -> None:
    """Take a step whose errors must not end the thread: no other thread advances the app's clock."""
    try:
        step()
    except BaseException:
        context.timer_errors += 1
        logger.exception("app '%s': a timer failed; the clock goes on", context.name)
