"""Times of polls: an interval, or a cron expression; waits with a limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder

__all__ = ["Schedule", "wait_until"]

_LONGEST_SLEEP_S = 60.0  # then the system clock is read again: it may have been set


class Schedule:
    """Waits between polls.

    Args:
        interval: seconds between two polls.
        next_after: returns the time of the next poll, in ms since 1970 of the system clock, instead of the interval.
    """

    def __init__(self, interval: float, next_after: Callable[[int], int | None] | None = None) -> None:
        self._interval = interval
        self._next_after = next_after

    @classmethod
    def read(cls, options: OptionHolder, context: ConnectorContext, interval: float) -> Schedule:
        """Return the schedule of the option ``cron.expression``, or of an interval in seconds without it.

        Raises:
            SiddhiAppCreationError: the cron expression is invalid.
        """
        text = options.optional("cron.expression")
        if text is None:
            return cls(interval)
        try:
            return cls(interval, context.cron(text))
        except ValueError as error:
            raise options.invalid("cron.expression", f"a cron expression of Quartz: {error.args[0]}") from None

    @property
    def is_cron(self) -> bool:
        """Whether it is a cron expression."""
        return self._next_after is not None

    async def wait(self) -> None:
        """Wait until the next poll; indefinitely if a cron expression has no more times."""
        if self._next_after is None:
            await asyncio.sleep(self._interval)
            return
        due = self._next_after(int(time.time() * 1000))
        if due is None:
            await asyncio.Event().wait()
            return
        while (left := due / 1000 - time.time()) > 0:  # noqa: ASYNC110 - the clock is polled, no condition
            await asyncio.sleep(min(left, _LONGEST_SLEEP_S))


async def wait_until(event: asyncio.Event, seconds: float) -> bool:
    """Wait until an event is set, at most for some seconds; return whether it was set.

    Unlike :func:`asyncio.wait_for`, which loses a cancellation at the moment when the event is set (before Python 3.12).
    """
    is_late = False

    def end() -> None:
        nonlocal is_late
        is_late = not event.is_set()
        event.set()

    timer = asyncio.get_running_loop().call_later(seconds, end)
    try:
        await event.wait()
    finally:
        timer.cancel()
    return not is_late
