"""Recorded traces of Siddhi 5.1.33: the app of every case does here what it did there."""

from __future__ import annotations

import pytest

from tests.conformance.compare import difference
from tests.conformance.play import CASES, Case, load_cases, play

# One file per group. The files hold the cases of what the engine runs: a case that fails is a fault, never an exception.
ALL = [case for path in sorted(CASES.glob("*.jsonl")) for case in load_cases(path)]


@pytest.mark.parametrize("case", ALL, ids=lambda case: case["id"])
def test_the_engine_does_what_was_recorded(case: Case) -> None:
    found = difference(case, play(case))
    if found is not None:
        pytest.fail(f"{case.get('note', case['id'])}\n{case['app']}\n{found}", pytrace=False)


def test_every_case_is_there_once() -> None:
    assert len({case["id"] for case in ALL}) == len(ALL)
