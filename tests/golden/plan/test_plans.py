"""Plans as text: every app here against the plan beside it. ``pytest tests/golden --accept`` rewrites the plans."""

from __future__ import annotations

from pathlib import Path

import pytest

from siddhi.planner.app import plan
from siddhi.planner.explain.app import explain
from siddhi.query_compiler import parse
from tests.conftest import Golden

APPS = sorted(Path(__file__).parent.glob("*.siddhi"))


@pytest.mark.parametrize("app", APPS, ids=lambda path: path.stem)
def test_the_plan_equals_the_golden_file(app: Path, golden: Golden) -> None:
    golden(app.with_suffix(".plan"), explain(plan(parse(app.read_text(encoding="utf-8")))))


def test_every_golden_file_has_an_app() -> None:
    assert [path.stem for path in sorted(Path(__file__).parent.glob("*.plan"))] == [path.stem for path in APPS]
