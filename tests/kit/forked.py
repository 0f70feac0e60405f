"""Something done in a process of its own, which may not survive it."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable

import pytest

__all__ = ["in_child"]


def in_child(act: Callable[[], int]) -> int:
    """The exit status of a copy of this process that calls ``act`` and ends with what it gives, or with 1 where it raises; a
    signal that ended it, as a negative number.
    """
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork")
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads stay behind, and the child needs none
        child = os.fork()
    if child == 0:
        status = 1
        try:
            status = act()
        except BaseException:  # noqa: BLE001 - whatever it is, the parent is told by the status
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
