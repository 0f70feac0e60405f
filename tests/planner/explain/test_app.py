from __future__ import annotations

import re
from pathlib import Path

import pytest

from siddhi.planner.app import plan
from siddhi.planner.explain.app import explain
from siddhi.query_compiler import parse, to_siddhiql
from tests.kit.planning import STREAM, planned

APPS = sorted((Path(__file__).parents[2] / "golden" / "plan").glob("*.siddhi"))


@pytest.mark.parametrize("path", APPS, ids=lambda path: path.stem)
def test_a_printed_app_has_the_same_plan(path: Path) -> None:
    app = parse(path.read_text(encoding="utf-8"))
    assert without_places(explain(plan(parse(to_siddhiql(app))))) == without_places(explain(plan(app)))


def without_places(text: str) -> str:
    return re.sub(r" \(line \d+, column \d+\)", "", text)


def test_a_random_name_is_not_shown() -> None:
    assert explain(planned(STREAM)) == explain(planned(STREAM))


def test_deprecated_extensions_are_shown_once() -> None:
    text = "from S#window.frequent(2) select i insert into {};"
    found = planned(STREAM + text.format("A") + text.format("B"))
    assert found.warnings == ("window 'frequent' is deprecated: use a grouped count instead",)
    assert explain(found).endswith("warning: window 'frequent' is deprecated: use a grouped count instead")
