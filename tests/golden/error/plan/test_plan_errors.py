"""Apps that planning refuses, each against its message. The folder decides: every app here must be refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from siddhi.errors import SiddhiAppError, SiddhiParserError
from siddhi.planner import problems
from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from tests.conftest import Golden

APPS = sorted(Path(__file__).parent.glob("*.siddhi"))


def refusal(app: Path) -> SiddhiAppError:
    with pytest.raises(SiddhiAppError) as caught:
        plan(parse(app.read_text(encoding="utf-8")))
    return caught.value


@pytest.mark.parametrize("app", APPS, ids=lambda path: path.stem)
def test_the_message_equals_the_golden_file(app: Path, golden: Golden) -> None:
    error = refusal(app)
    assert not isinstance(error, SiddhiParserError), "the parser's errors have their own folder"
    assert error.span is not None
    golden(app.with_suffix(".error"), f"{type(error).__name__}\n{error}")


def test_every_code_has_a_golden_file() -> None:
    codes = set(re.findall(r"\bE[23]\d\d\b", problems.__doc__ or ""))
    beside = (Path(__file__).parents[1] / "plan_on_demand").glob("*.error")
    shown = {path.read_text(encoding="utf-8")[1:5] for path in beside}
    assert codes == shown | {refusal(app).code for app in APPS}
