"""When a lost connection is tried again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

__all__ = ["PAUSES", "Backoff", "RetryScheduler", "ThreadedRetries"]

PAUSES = (5, 10, 15, 30, 60, 60, 120, 300)
"""Seconds before the first attempt, the second, ...; the last one is for all that follow."""


class Backoff:
    """The pauses between attempts: growing, from the start again after a success."""

    def __init__(self) -> None:
        self._failures = 0

    def next(self) -> int:
        """Seconds until the next attempt."""
        pause = PAUSES[min(self._failures, len(PAUSES) - 1)]
        self._failures += 1
        return pause

    def reset(self) -> None:
        """An attempt succeeded."""
        self._failures = 0


class RetryScheduler(Protocol):
    """Runs attempts later, and lets those wait who must. Tests give one that needs no time."""

    def after(self, seconds: float, attempt: Callable[[], None]) -> Callable[[], None]:
        """Call ``attempt()`` in some seconds, on another thread; returns what calls it off."""

    def wait(self, seconds: float, stopped: threading.Event) -> bool:
        """Return in some seconds, or as soon as ``stopped`` is set; says whether it is."""


class ThreadedRetries:
    """By the system's clock, each attempt on a thread of its own."""

    def after(self, seconds: float, attempt: Callable[[], None]) -> Callable[[], None]:
        timer = threading.Timer(seconds, attempt)
        timer.name = "siddhi-retry"
        timer.daemon = True
        timer.start()
        return timer.cancel

    def wait(self, seconds: float, stopped: threading.Event) -> bool:
        return stopped.wait(seconds)
