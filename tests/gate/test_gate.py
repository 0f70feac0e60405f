"""How a run of the tests deals with tests that fail by chance, that fail always, and that hang."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HANGS = """
import threading

def waits_without_end():
    threading.Event().wait()

def test_hangs():
    threading.Thread(target=waits_without_end, daemon=True).start()
    threading.Event().wait()

def test_behind():
    pass
"""
FAILS_ONCE = """
from pathlib import Path

def test_fails_once():
    ran = Path(__file__).with_name("ran")
    first = not ran.exists()
    ran.touch()
    assert not first, "by chance"
"""


def run(folder: Path, *options: str, **tests: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(
        'pytest_plugins = ["tests.gate.time_limit", "tests.gate.unsteady"]\n', encoding="utf-8"
    )
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    for name, text in tests.items():
        (folder / f"test_{name}.py").write_text(text, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT), "CI": "true"},
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )


def test_a_test_that_passes_when_it_runs_again_is_listed_as_unsteady(tmp_path: Path) -> None:
    outcome = run(tmp_path, "--again", once=FAILS_ONCE)
    assert outcome.returncode == 0, outcome.stdout
    assert "unsteady: test_once.py::test_fails_once: AssertionError: by chance" in outcome.stdout.splitlines()


def test_a_test_that_fails_twice_fails_the_run(tmp_path: Path) -> None:
    always = "import pytest\n@pytest.mark.parametrize('x', ['a b', '[:]'])\ndef test_fails(x):\n    assert x == 1, 'always'\n"
    outcome = run(tmp_path, "--again", always=always, once=FAILS_ONCE)
    assert outcome.returncode == 1
    assert [line for line in outcome.stdout.splitlines() if line.startswith("unsteady: ")] == [
        "unsteady: test_once.py::test_fails_once: AssertionError: by chance"
    ]
    assert "FAILED test_always.py::test_fails[[:]] - AssertionError: always" in outcome.stdout


def test_a_failing_fixture_is_no_pass(tmp_path: Path) -> None:
    teardown = "import pytest\n@pytest.fixture\ndef f():\n    yield\n    assert False\ndef test_it(f):\n    pass\n"
    outcome = run(tmp_path, "--again", teardown=teardown)
    assert outcome.returncode == 1
    assert "unsteady: " not in outcome.stdout


def test_without_the_option_a_failure_is_a_failure(tmp_path: Path) -> None:
    assert run(tmp_path, once=FAILS_ONCE).returncode == 1


def test_a_test_that_hangs_ends_with_the_stacks_of_all_threads(tmp_path: Path) -> None:
    outcome = run(tmp_path, "-n", "1", "--limit=1", hangs=HANGS)
    assert outcome.returncode == 1
    printed = outcome.stdout + outcome.stderr
    assert "in waits_without_end" in printed
    assert "in test_hangs" in printed
    assert "FAILED test_hangs.py::test_hangs" in printed
    assert "1 failed, 1 passed" in printed
