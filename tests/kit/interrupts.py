"""Ctrl-C while only C code runs, which does not handle it at once."""

from __future__ import annotations

import _thread
import functools
import operator
import signal
from collections import defaultdict
from collections.abc import Callable
from typing import Any


def interrupt() -> Callable[[], int]:
    """Return a C function that sends SIGINT to the main thread, once; no Python code runs that handles it at once."""
    return functools.partial(operator.countOf, map(_thread.interrupt_main, [signal.SIGINT]), None)


def on_batch(action: Callable[[], object]) -> Callable[[Any], object]:
    """Return a batch callback that calls ``action`` without a Python frame of its own."""
    return defaultdict(action).__getitem__
