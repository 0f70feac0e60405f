"""Memory that ends at a chosen allocation: each try in a process of its own, since it may not survive."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from tests.kit.forked import in_child

__all__ = ["each_allocation_failing"]

Given = TypeVar("Given")

_CAME_THROUGH = 17
"""Exit status: nothing was raised."""
_ENOUGH = 8
"""Allocations in a row that may fail, or are never made, without a word: then it is taken that none is left."""


def each_allocation_failing(
    prepare: Callable[[], Given], act: Callable[[Given], object], check: Callable[[Given, bool], object]
) -> int:
    """Do something with its first allocation failing, then its second, ... until it works; how often it failed.

    Args:
        prepare: makes what the others are given, with all the memory there is.
        act: does it; it may raise MemoryError.
        check: asserts what holds then, with all the memory there is; it is told whether ``act`` came through.
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
