"""A pytest plugin: a test that takes too long ends its process, with the stacks of all threads on standard error.

With ``-n`` another process takes its place, the test has failed, and the run goes on. The watchdog is a thread of
:mod:`faulthandler` that needs no lock of the interpreter: it also ends a test that hangs in compiled code.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Generator

import pytest

LIMIT_S = 60
SPARK_FACTOR = 3
"""Tests on Spark start a JVM and Python workers, and may take this many times as long."""
STDERR: pytest.StashKey[int] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--limit", type=float, default=LIMIT_S, help="seconds that a test may take, 0: any (default: 60)")


def pytest_configure(config: pytest.Config) -> None:
    # Before tests capture the stream.
    config.stash[STDERR] = os.dup(sys.__stderr__.fileno()) if sys.__stderr__ else os.open(os.devnull, os.O_WRONLY)


def pytest_unconfigure(config: pytest.Config) -> None:
    os.close(config.stash[STDERR])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    limit = item.config.getoption("--limit") * (SPARK_FACTOR if item.get_closest_marker("spark") else 1)
    if limit:
        faulthandler.dump_traceback_later(limit, exit=True, file=item.config.stash[STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
