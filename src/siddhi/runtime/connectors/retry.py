"""Schedule of reconnects."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from siddhi.io.options import OptionHolder

__all__ = ["JITTER", "PAUSES", "Backoff", "RetryPolicy", "RetryScheduler", "ThreadedRetries"]

PAUSES = (5, 10, 15, 30, 60, 60, 120, 300)
"""Seconds before the first retry, the second, ...; the last value repeats."""


JITTER = 0.1
"""Share by which a pause varies at random, so that many clients of a server do not return at the same moment."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The pauses of one connector, from its options ``retry.*``.

    Attributes:
        initial: seconds before the second attempt; None: the pauses are :data:`PAUSES`.
        multiplier: factor from one pause to the next.
        most: longest pause in seconds; None: that of :data:`PAUSES`.
        jitter: share by which pauses vary at random.
        limit: number of attempts after which no more are made; None: there is no limit.
    """

    initial: float | None = None
    multiplier: float = 2.0
    most: float | None = None
    jitter: float = JITTER
    limit: int | None = None

    @classmethod
    def of(cls, options: OptionHolder) -> RetryPolicy:
        """Read the options.

        Raises:
            SiddhiAppCreationError: one is invalid.
        """
        jitter = options.number("retry.jitter", JITTER)
        if jitter > 1:
            raise options.invalid("retry.jitter", "a number from 0 to 1")
        return cls(
            options.duration("retry.initial") if "retry.initial" in options else None,
            options.number("retry.multiplier", 2.0, least=1.0),
            options.duration("retry.max") if "retry.max" in options else None,
            jitter,
            options.integer("retry.limit", least=1) if "retry.limit" in options else None,
        )

    @property
    def is_default(self) -> bool:
        """Whether no option sets a pause."""
        return self.initial is None and self.most is None

    def pause(self, failures: int) -> float | None:
        """Return the seconds before the next attempt, without jitter; None: there is none.

        Args:
            failures: number of failed attempts, from 1.
        """
        if self.limit is not None and failures >= self.limit:
            return None
        if self.initial is None:
            pause: float = PAUSES[min(failures, len(PAUSES)) - 1]
            return pause if self.most is None else min(pause, self.most)
        most = max(PAUSES[-1], self.initial) if self.most is None else self.most
        try:
            return min(self.initial * self.multiplier ** (failures - 1), most)
        except OverflowError:
            return most

    def spread(self, pause: float) -> float:
        """Return a pause with jitter."""
        return pause * (1 + random.uniform(-self.jitter, self.jitter))  # noqa: S311 - no secret


class Backoff:
    """The growing pauses between attempts; a success resets them."""

    def __init__(self, policy: RetryPolicy | None = None) -> None:
        self.policy = policy or RetryPolicy()
        self._failures = 0

    def next(self) -> float | None:
        """Return the seconds until the next attempt; None: no more attempts are made."""
        self._failures += 1
        return self.policy.pause(self._failures)

    def reset(self) -> None:
        """Start from the shortest pause: an attempt succeeded."""
        self._failures = 0


class RetryScheduler(Protocol):
    """Runs attempts later, and waits between attempts. Tests pass one that does not wait."""

    def after(self, seconds: float, attempt: Callable[[], None], jitter: float = 0.0) -> Callable[[], None]:
        """Call ``attempt()`` on another thread after some seconds, which vary by a share; return a function that cancels it."""

    def wait(self, seconds: float, stopped: threading.Event) -> bool:
        """Wait for some seconds or until ``stopped`` is set; return whether it is set."""


class ThreadedRetries:
    """Waits by the system clock and runs each attempt on a thread of its own."""

    def after(self, seconds: float, attempt: Callable[[], None], jitter: float = 0.0) -> Callable[[], None]:
        timer = threading.Timer(RetryPolicy(jitter=jitter).spread(seconds), attempt)
        timer.name = "siddhi-retry"
        timer.daemon = True
        timer.start()
        return timer.cancel

    def wait(self, seconds: float, stopped: threading.Event) -> bool:
        return stopped.wait(seconds)
