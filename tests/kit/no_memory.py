"""Fail a chosen memory allocation, each time in a separate process, as it may crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from tests.kit.forked import in_child

__all__ = ["each_allocation_failing"]

Given = TypeVar("Given")

_CAME_THROUGH = 17
"""Exit status if no error was raised."""
_ENOUGH = 8
"""Number of successive attempts without an error after which no further allocation is assumed."""


def each_allocation_failing(
    prepare: Callable[[], Given], act: Callable[[Given], object], check: Callable[[Given, bool], object]
) -> int:
    """Call ``act`` with its first allocation failing, then its second, ... until it succeeds; return how often it failed.

    Args:
        prepare: creates the argument of the others; no allocation fails.
        act: the function under test; it may raise MemoryError.
        check: asserts the state afterwards; no allocation fails. It gets whether ``act`` succeeded.
    """
    testcapi = pytest.importorskip("_testcapi")
    failed = granted = silent = 0

    def attempt() -> int:
        given, done = prepare(), False
        testcapi.set_nomemory(granted, granted + 1)
        try:
            act(given)
            done = True
        except MemoryError:
            pass
        finally:
            testcapi.remove_mem_hooks()
        check(given, done)
        return _CAME_THROUGH if done else 0

    while silent < _ENOUGH:
        status = in_child(attempt)
        assert status in (0, _CAME_THROUGH), f"allocation {granted} failed: ended with {status}, see the output"
        silent = silent + 1 if status == _CAME_THROUGH else 0
        failed += silent == 0
        granted += 1
    return failed
