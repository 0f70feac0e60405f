"""Run a function in a forked process, which may crash."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable

import pytest

__all__ = ["in_child"]


def in_child(act: Callable[[], int]) -> int:
    """Fork, call ``act`` in the child, and return the child's exit status.

    The status is the result of ``act``, 1 if it raises, or the negative number of the signal that killed the child.
    """
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork")
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child has no other threads, and needs none
        child = os.fork()
    if child == 0:
        status = 1
        try:
            status = act()
        except BaseException:  # noqa: BLE001 - the status reports any error to the parent
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
