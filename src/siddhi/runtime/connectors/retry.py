"""Schedule of reconnects."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

__all__ = ["PAUSES", "Backoff", "RetryScheduler", "ThreadedRetries"]

PAUSES = (5, 10, 15, 30, 60, 60, 120, 300)
"""Seconds before the first retry, the second, ...; the last value repeats."""


class Backoff:
    """The growing pauses between attempts; a success resets them."""

    def __init__(self) -> None:
        self._failures = 0

    def next(self) -> int:
        """Return the seconds until the next attempt."""
        pause = PAUSES[min(self._failures, len(PAUSES) - 1)]
        self._failures += 1
        return pause

    def reset(self) -> None:
        """Start from the shortest pause: an attempt succeeded."""
        self._failures = 0


class RetryScheduler(Protocol):
    """Runs attempts later, and waits between attempts. Tests pass one that does not wait."""

    def after(self, seconds: float, attempt: Callable[[], None]) -> Callable[[], None]:
        """Call ``attempt()`` after some seconds, on another thread; return a function that cancels it."""

    def wait(self, seconds: float, stopped: threading.Event) -> bool:
        """Wait for some seconds or until ``stopped`` is set; return whether it is set."""


class ThreadedRetries:
    """Waits by the system clock and runs each attempt on a thread of its own."""

    def after(self, seconds: float, attempt: Callable[[], None]) -> Callable[[], None]:
        timer = threading.Timer(seconds, attempt)
        timer.name = "siddhi-retry"
        timer.daemon = True
        timer.start()
        return timer.cancel

    def wait(self, seconds: float, stopped: threading.Event) -> bool:
        return stopped.wait(seconds)
