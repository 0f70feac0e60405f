"""Memory that ends at a chosen allocation: each try in a process of its own, since it may not survive."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import TypeVar

import pytest

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
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork")
    failed = granted = silent = 0
    while silent < _ENOUGH:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                given = prepare()
                done = False
                testcapi.set_nomemory(granted, granted + 1)
                try:
                    act(given)
                    done = True
                except MemoryError:
                    pass
                finally:
                    testcapi.remove_mem_hooks()
                check(given, done)
                status = _CAME_THROUGH if done else 0
            except BaseException:  # noqa: BLE001 - whatever it is, the parent is told by the status
                traceback.print_exc()
            finally:
                os._exit(status)
        _, ended = os.waitpid(child, 0)
        assert not os.WIFSIGNALED(ended), f"allocation {granted} failed: ended by signal {os.WTERMSIG(ended)}"
        assert os.WEXITSTATUS(ended) in (0, _CAME_THROUGH), f"allocation {granted} failed: see the output"
        silent = silent + 1 if os.WEXITSTATUS(ended) == _CAME_THROUGH else 0
        failed += silent == 0
        granted += 1
    return failed
