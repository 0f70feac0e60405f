"""Waiting for conditions that other threads and processes bring about."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["wait_until"]

WAIT_SECONDS = 30


def wait_until(condition: Callable[[], object], seconds: float = WAIT_SECONDS) -> None:
    """Wait until a condition holds; fail after some seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        time.sleep(0.005)
