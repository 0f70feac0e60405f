"""Ctrl-C as a request that is handled between two batches, so that it does not interrupt the engine."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, FunctionType
from typing import cast

_CALENDARS = ("siddhi.planner.bind.cron", "calendar")  # modules that the engine calls for the times of cron texts


class Interrupt:
    """While installed, the first Ctrl-C is only recorded; a second one, or one while waiting for input, raises at once.

    A Ctrl-C that the engine handles between two timers or two blocks of a batch also raises at once: no Python runs above
    the function that called the engine, and no operation is incomplete.

    Args:
        callers: functions that call the engine and may be interrupted there.
    """

    def __init__(self, *callers: Callable[..., object]) -> None:
        self.pressed = False
        self._waiting = False
        self._callers = {cast(FunctionType, caller).__code__ for caller in callers}

    @contextmanager
    def installed(self) -> Iterator[Interrupt]:
        """Handle Ctrl-C until the block ends; do nothing in threads other than the main one."""
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
        """Let Ctrl-C raise at once in the block, which may wait for input.

        Raise KeyboardInterrupt at once if Ctrl-C was pressed since the last ``check``: it must not wait for more input.
        """
        self._waiting = True  # before the check, so that no request falls between the two
        try:
            self.check()
            yield
        finally:
            self._waiting = False

    def check(self) -> None:
        """Raise KeyboardInterrupt once if Ctrl-C was pressed."""
        if self.pressed:
            self.pressed = False
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - signature of a signal handler
        while frame is not None and frame.f_globals.get("__name__") in _CALENDARS:
            frame = frame.f_back
        if self.pressed or self._waiting or (frame is not None and frame.f_code in self._callers):
            raise KeyboardInterrupt
        self.pressed = True
