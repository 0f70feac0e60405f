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
def test_what_fails_is_an_error_and_nothing_is_half_done(kind: str, every: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", kind, "--every", str(every)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 failures, " in done.stdout
