"""Recorded traces of Siddhi 5.1.33: the app of every case has the same outputs here."""

from __future__ import annotations

import pytest

from tests.conformance.compare import difference
from tests.conformance.play import CASES, Case, load_cases, play

# One file per group. The files hold the cases of what the engine runs: a case that fails is a fault, never an exception.
ALL = [case for path in sorted(CASES.glob("*.jsonl")) for case in load_cases(path)]


@pytest.mark.parametrize("case", ALL, ids=lambda case: case["id"])
def test_outputs_equal_the_recorded_ones(case: Case) -> None:
    found = difference(case, play(case))
    if found is not None:
        pytest.fail(f"{case.get('note', case['id'])}\n{case['app']}\n{found}", pytrace=False)


def test_case_ids_are_unique() -> None:
    assert len({case["id"] for case in ALL}) == len(ALL)
