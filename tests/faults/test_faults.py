"""The quick form of ``nox -s faults``: some of the calls and allocations fail, always the same ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.shim import unavailable

pytest.importorskip("sqlalchemy")
pytest.importorskip("_testcapi", reason="makes allocations fail; a part of CPython that some systems leave out")

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(unavailable() is not None, reason=unavailable() or "")
@pytest.mark.parametrize(("kind", "every"), [("files", 47), ("memory", 499), ("clock", 20)])
def test_a_failed_call_is_an_error_and_nothing_is_half_done(kind: str, every: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", kind, "--every", str(every)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 failures, " in done.stdout


UNDER_SHIM = """
from tests.faults.shim import restart_under_shim
restart_under_shim()
files._SCENARIOS = {"save to files": files._persist("files")}
"""
PLANTED = {
    "ticks that are lost": ("clock", 60, "clock.APP = clock.APP.replace('every 1 hour', 'every 2 hour')", "0 ticks in"),
    "ticks that fire twice": (
        "clock",
        60,
        "clock.APP = clock.APP.replace('every 1 hour', 'every 30 min')",
        "2 ticks in",
    ),
    "a file that is not synced to the disk": (
        "files",
        1000,
        f"import os\n{UNDER_SHIM}os.fsync = lambda descriptor: None",
        "not synced to the disk",
    ),
    "an fsync whose error is swallowed": (
        "files",
        1,
        f"""
import os
{UNDER_SHIM}
def fsync(descriptor, real=os.fsync):
    with contextlib.suppress(OSError):
        real(descriptor)
os.fsync = fsync
files.FAULTS = files.FAULTS[:1]
""",
        "fsync failed, and no error",
    ),
    "an allocation behind the first one, before the 500th": (
        "memory",
        499,
        """
import os
def act(runtime):
    for number in range(150):
        try:
            bytearray(number)
        except MemoryError:
            if number < 2:
                raise
            os._exit(9)
memory.APPS = dict(list(memory.APPS.items())[:1])
memory.STEPS = {"send": act}
""",
        "it ends with 9",
    ),
}


@pytest.mark.skipif(unavailable() is not None, reason=unavailable() or "")
@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str) -> None:
    kind, every, plant, what = PLANTED[bug]
    script = f"""
import contextlib
from tests.faults import {kind}
from tests.faults.report import EnoughError, Report
{plant}
with contextlib.suppress(EnoughError):
    {kind}.run(Report(), {every})
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert what in done.stdout, done.stdout + done.stderr
