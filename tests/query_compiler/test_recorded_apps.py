"""The recorded apps compile as in Siddhi; those that Siddhi refuses while parsing are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from siddhi.errors import SiddhiAppError
from siddhi.query_compiler import parse, to_siddhiql

CASES = [
    json.loads(line)
    for path in sorted((Path(__file__).parents[1] / "conformance" / "cases").glob("*.jsonl"))
    for line in path.read_text(encoding="utf-8").splitlines()
]
REFUSED = [case for case in CASES if "error" in case["expect"]]
ACCEPTED = [case for case in CASES if "error" not in case["expect"]]


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case["id"])
def test_an_accepted_app_compiles_and_prints(case):
    app = parse(case["app"])
    assert parse(to_siddhiql(app)) == app


# A parser exception that names a known app comes from creation: a join of something undefined, for example.
WHILE_PARSING = ("SiddhiParserException", "SiddhiParserError", "NumberFormatException")


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in REFUSED
        if case["expect"]["error"]["class"].split(".")[-1] in WHILE_PARSING
        and not case["expect"]["error"]["message"].startswith("Error on ")
    ],
    ids=lambda case: case["id"],
)
def test_a_refused_app_has_an_error_with_a_location(case, monkeypatch):
    monkeypatch.delenv("NO_SUCH_VARIABLE_HERE", raising=False)
    with pytest.raises(SiddhiAppError) as caught:
        parse(case["app"])
    assert caught.value.line is not None
    assert caught.value.source is not None
