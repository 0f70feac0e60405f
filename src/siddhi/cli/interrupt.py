"""Ctrl-C as a request that is heard between two batches, so that nothing is torn apart in the engine."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, FunctionType
from typing import cast

_CALENDARS = ("siddhi.planner.bind.cron", "calendar")  # modules of which the engine asks the times of cron texts


class Interrupt:
    """While installed, the first Ctrl-C only asks; a second one, or one while input is awaited, raises at once.

    So does one that the engine hears between two timers or two blocks of a batch, where nothing of it is half done: then
    no Python runs above the function that called it.

    Args:
        callers: functions that call the engine and leave nothing half done.
    """

    def __init__(self, *callers: Callable[..., object]) -> None:
        self.asked = False
        self._waiting = False
        self._callers = {cast(FunctionType, caller).__code__ for caller in callers}

    @contextmanager
    def installed(self) -> Iterator[Interrupt]:
        """Handle Ctrl-C here until the block ends (in threads other than the main one, leave it alone)."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        previous = signal.signal(signal.SIGINT, self._handle)
        try:
            yield self
        finally:
            signal.signal(signal.SIGINT, previous)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Mark a stretch that may block and holds nothing half done.

        Raises KeyboardInterrupt at once if it was asked for before: a request that came after the last ``check`` must
        not wait for more input.
        """
        self._waiting = True  # before the check, so that no request falls between the two
        try:
            self.check()
            yield
        finally:
            self._waiting = False

    def check(self) -> None:
        """Raise KeyboardInterrupt if one was asked for, once."""
        if self.asked:
            self.asked = False
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signature of a handler
        while frame is not None and frame.f_globals.get("__name__") in _CALENDARS:
            frame = frame.f_back
        if self.asked or self._waiting or (frame is not None and frame.f_code in self._callers):
            raise KeyboardInterrupt
        self.asked = True
