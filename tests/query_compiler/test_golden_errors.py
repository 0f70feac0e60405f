"""Texts that are refused, and the complete error: tests/golden/error/parse*/NAME.siddhi and NAME.error."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from siddhi.errors import SiddhiAppError
from siddhi.query_compiler import parse, parse_on_demand_query

GOLDEN = Path(__file__).parents[1] / "golden" / "error"
PARSERS = {
    "parse": parse,
    "parse_closed": partial(parse, environment=()),
    "parse_on_demand": parse_on_demand_query,
}
FILES = [path for folder in PARSERS for path in sorted((GOLDEN / folder).glob("*.siddhi"))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_error_of_an_invalid_text(path, golden, monkeypatch):
    monkeypatch.delenv("NO_SUCH_VARIABLE", raising=False)
    with pytest.raises(SiddhiAppError) as caught:
        PARSERS[path.parent.name](path.read_bytes().decode("utf-8"))
    golden(path.with_suffix(".error"), f"{type(caught.value).__name__}\n{caught.value}")


def test_every_golden_error_has_its_text():
    expected = {path.with_suffix(".siddhi") for folder in PARSERS for path in (GOLDEN / folder).glob("*.error")}
    assert expected == set(FILES)


def test_every_code_of_the_compiler_has_a_golden_error():
    sources = Path(__file__).parents[2] / "src" / "siddhi" / "query_compiler"
    used = {code for path in sources.rglob("*.py") for code in _codes(path.read_text(encoding="utf-8"))}
    shown = {code for path in GOLDEN.glob("parse*/*.error") for code in _codes(path.read_text(encoding="utf-8"))}
    assert used <= shown


def _codes(text: str) -> set[str]:
    return {
        text[place : place + 4]
        for place in range(len(text))
        if text[place] == "E" and text[place + 1 : place + 4].isdigit()
    }
