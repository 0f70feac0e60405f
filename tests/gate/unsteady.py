"""A pytest plugin: with ``--again``, tests that fail are run once more after the run, each file in a process of its own.

A test that passes then is unsteady: the run ends as if it had passed, and its last lines name the test under ``unsteady:``
with the first failure. A test that fails again fails the run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict

import pytest

MOST_TESTS = 60
"""Where more fail, it is not for chance, and a second run would only take time."""


class Unsteady:
    """Collects the tests that fail, and runs them again when the session ends."""

    def __init__(self) -> None:
        self.failures: dict[str, str] = {}  # by the test's id: the last line of its first failure
        self.passed_again: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failures.setdefault(report.nodeid, _message(report))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus != pytest.ExitCode.TESTS_FAILED or not 0 < len(self.failures) <= MOST_TESTS:
            return
        of_file = defaultdict(list)
        for test in self.failures:
            of_file[test.partition("::")[0]].append(test)
        failed: set[str] = set()
        for tests in of_file.values():
            failed |= _failures_of(tests, session.config)
        self.passed_again = [test for test in self.failures if test not in failed]
        if not failed:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for test in self.passed_again:
            terminalreporter.write_line(f"unsteady: {test}: {self.failures[test]}")


def _message(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (crash.message if crash else str(report.longrepr)).strip().splitlines()
    return lines[0] if lines else report.outcome


def _failures_of(tests: list[str], config: pytest.Config) -> set[str]:
    """Run tests of one file in a new process; return those that did not pass."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    command = [sys.executable, "-m", "pytest", "-v", "-rA", "--no-header", "-p", "no:cacheprovider", "--tb=short"]
    outcome = subprocess.run(
        [*command, *tests],
        cwd=config.invocation_params.dir,
        env=environment | {"COLUMNS": "10000"},  # ids are not cut
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    print(outcome.stdout, outcome.stderr, sep="\n")
    passed = {line.removeprefix("PASSED ") for line in outcome.stdout.splitlines() if line.startswith("PASSED ")}
    wrong = {
        line.split(" ", 1)[1].split(" - ")[0]
        for line in outcome.stdout.splitlines()
        if line.startswith(("FAILED ", "ERROR "))
    }
    return {test for test in tests if test not in passed or test in wrong}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--again", action="store_true", help="run tests that fail once more, after the run")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--again") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Unsteady(), "unsteady")
