"""What every test may use: hypothesis profiles, the ``--accept`` option and the ``golden`` comparison."""

from __future__ import annotations

import difflib
import gc
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import HealthCheck, settings

# Cron texts mean local time, and some zones were minutes and seconds apart in 1970, where many tests live.
os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):
    time.tzset()

# How long an example takes, or its making, says nothing about the rule under test, and depends on the machine.
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", settings.get_profile("any"), max_examples=30)
# The same examples in every run of CI: new ones are for `thorough`, where a person can look at what they find.
settings.register_profile("ci", settings.get_profile("any"), max_examples=25, derandomize=True)
settings.register_profile("few", settings.get_profile("ci"), max_examples=5)  # where each takes long: under sanitizers
settings.register_profile("thorough", settings.get_profile("any"), max_examples=5_000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


pytest_plugins = ["tests.gate.time_limit", "tests.gate.unsteady"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="rewrite golden files that differ; review the diff as code")


def pytest_collection_finish() -> None:
    """Take the tests themselves out of the garbage collector: a collection in a test would visit all twenty thousand."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After each file, take what is left of it out of the garbage collector: tests of leaks collect thousands of times."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


_NEVER_SKIPPED_IN_CI = {"faults", "fuzz", "grpc", "websocket"}
"""Folders whose tests CI is there for: a compiler or a package that is missing fails them."""


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport, path: Path) -> None:
    if report.skipped and os.environ.get("SIDDHI_CI") and path.parent.name in _NEVER_SKIPPED_IN_CI:
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI (SIDDHI_CI) does not allow here: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip(report, item.path)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report, collector.path)
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """With ``-n``: a file stays in one process, for its fixtures; files come in their order, so that short ones are last."""
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)


class Golden(Protocol):
    """Compares text with a golden file."""

    def __call__(self, path: Path, actual: str) -> None: ...


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """``golden(path, actual)`` fails with a diff where ``actual`` is not what ``path`` holds; --accept rewrites it."""

    def compare(path: Path, actual: str) -> None:
        actual = actual.rstrip("\n") + "\n"
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        if actual == expected:
            return
        if request.config.getoption("--accept"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8")
            return
        diff = difflib.unified_diff(expected.splitlines(), actual.splitlines(), str(path), "actual", lineterm="")
        pytest.fail("\n".join([*diff, "(run again with --accept to take the new text)"]), pytrace=False)

    return compare
