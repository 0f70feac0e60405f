"""The quick form of ``nox -s fuzz``: the first cases of each kind, always the same; and the driver finds what it is for."""

from __future__ import annotations

import datetime as dt
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
COUNTS = {"grammar": 1000, "rows": 1000, "columns": 200, "snapshots": 500, "times": 200}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in forked processes")


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", COUNTS)
def test_the_first_cases_have_no_findings(kind: str) -> None:
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
            "raised without a handler",
        ),
        ("raise SystemExit", "SystemExit"),
    ],
)
def test_a_crash_or_hang_is_a_finding_and_the_next_case_continues(attempt: str, what: str) -> None:
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


PLANTED = {
    "a restore that refuses the app's own state": (
        "times",
        """
from siddhi import SiddhiAppRuntime
from siddhi.errors import CannotRestoreStateError
def refuse(self, state):
    raise CannotRestoreStateError("never")
SiddhiAppRuntime.restore = refuse
""",
        "CannotRestoreStateError: never",
    ),
    "an app that is refused": (
        "times",
        "kind.PARTS[:] = ['from S#window.bouncing({span}) select k insert into O;']",
        "unknown window 'bouncing'",
    ),
    "columns of one row that change": (
        "rows",
        """
from siddhi import SiddhiAppRuntime
real = SiddhiAppRuntime.input_handler
class Changing:
    def __init__(self, handler):
        self.handler = handler
    def __getattr__(self, name):
        return getattr(self.handler, name)
    def send_batch(self, data, **more):
        if isinstance(data, dict):
            data = {name: [v ^ 1 if type(v) is int and abs(v) < 99 else v for v in values] if type(values) is list
                    else values for name, values in data.items()}
        return self.handler.send_batch(data, **more)
SiddhiAppRuntime.input_handler = lambda self, stream: Changing(real(self, stream))
""",
        "came out as",
    ),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str) -> None:
    kind, plant, what = PLANTED[bug]
    script = f"import tests.fuzz.{kind} as kind\nfrom tests.fuzz.driver import run\n{plant}\n"
    done = python("-c", f"{script}print(*run({kind!r}, kind.attempt, seed=1, count=24).findings)")
    assert what in done.stdout, done.stdout + done.stderr


ALIKE = [
    ("double", math.nan, math.nan),
    ("float", 0.1, float(np.float32(0.1))),
    ("long", 2**63 - 1, 2**63 - 1),
    ("string", b"a", "a"),
    ("long", dt.date(2020, 1, 1), 1_577_836_800_000),
    ("long", dt.datetime(2020, 1, 1, 1, tzinfo=dt.timezone.utc), 1_577_840_400_000),
]
DIFFERENT = [
    ("double", math.nan, None),
    ("double", 0.1, float(np.float32(0.1))),
    ("long", 2**63 - 1, 2**63 - 513),
    ("int", 16_777_217, 16_777_216),
    ("int", 1, 1.0),
    ("bool", True, 1),
    ("string", "1", 1),
    ("long", dt.date(2020, 1, 1), 0),
]


@pytest.mark.parametrize(("alike", "cases"), [(True, ALIKE), (False, DIFFERENT)])
def test_values_of_columns_are_compared_by_the_type_of_the_attribute(alike: bool, cases: list[Any]) -> None:
    columns = pytest.importorskip("tests.fuzz.columns", reason="makes columns of pyarrow")
    assert [columns._alike(*case) for case in cases] == [alike] * len(cases)
