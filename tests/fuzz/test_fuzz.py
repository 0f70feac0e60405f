"""The quick form of ``nox -s fuzz``: the first cases of each kind, always the same; and the driver finds what it is for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COUNTS = {"grammar": 1000, "rows": 1000, "columns": 200, "snapshots": 500, "times": 200}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in forked processes")


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", COUNTS)
def test_the_first_cases_find_nothing(kind: str) -> None:
    done = python("-m", "tests.fuzz", kind, "--seed", "1", "--count", str(COUNTS[kind]))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{kind}: {COUNTS[kind]} tries (seeds 1 to {COUNTS[kind]}), 0 failures" in done.stdout


@pytest.mark.parametrize(
    ("attempt", "what"),
    [
        ("raise ValueError('wrong')", "ValueError: wrong"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "the process ended with -11"),
        ("os._exit(0)", "the process ended with 0"),
        ("signal.pause()", "hangs for 5 s"),
        ("bytearray(1 << 40)", "MemoryError"),
        ("KEPT.extend(bytearray(1 << 27) for _ in range(3))", "MemoryError"),
        (
            "thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join()",
            "raised where nobody sees it",
        ),
        ("raise SystemExit", "SystemExit"),
    ],
)
def test_whatever_happens_is_a_finding_and_the_next_case_goes_on(attempt: str, what: str) -> None:
    script = f"""
import os, signal, threading
from tests.fuzz.driver import run
KEPT = []
def attempt(chance):
    if chance.random() == SECOND:
        {attempt}
import random
SECOND = random.Random("any 2").random()
outcome = run("any", attempt, seed=1, count=4, patience_s=5, memory=1 << 28)
print(outcome.tries, [finding.seed for finding in outcome.findings], outcome.findings[0].what)
"""
    done = python("-c", script)
    assert done.stdout.startswith("4 [2] "), done.stdout + done.stderr
    assert what in done.stdout
