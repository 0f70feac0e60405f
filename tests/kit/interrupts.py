"""Ctrl-C that comes while no Python runs that could hear it at once."""

from __future__ import annotations

import _thread
import functools
import operator
import signal
from collections import defaultdict
from collections.abc import Callable
from typing import Any


def interrupt() -> Callable[[], int]:
    """What has SIGINT come to the main thread, once, and is C throughout: no Python runs that could hear it at once."""
    return functools.partial(operator.countOf, map(_thread.interrupt_main, [signal.SIGINT]), None)


def on_batch(action: Callable[[], object]) -> Callable[[Any], object]:
    """A batch callback that does something, and is C throughout."""
    return defaultdict(action).__getitem__
