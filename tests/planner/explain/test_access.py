"""Explain shows how ``in`` finds rows."""

from __future__ import annotations

import pytest

from siddhi.planner.app import plan
from siddhi.planner.explain.app import explain
from siddhi.query_compiler import parse

APP = """define stream S (k string, v int);
@primaryKey('k') @index('v') define table T (k string, v int, w int);
"""


@pytest.mark.parametrize(
    ("condition", "access"),
    [
        ("T.k == k", "primary key k"),
        ("T.v == v", "index v"),
        ("T.v > v", "range of v"),
        ("T.w == v", "scan"),
    ],
)
@pytest.mark.parametrize(
    "query",
    [
        "from S[({}) in T] select k insert into O;",
        "from S select (({}) in T) as found insert into O;",
        "partition with (({}) in T as 'known' of S) begin from S select k insert into O; end;",
        "define aggregation G from S[({}) in T] select k, sum(v) as s group by k aggregate every sec;",
    ],
)
def test_explain_shows_the_access_of_in(query: str, condition: str, access: str) -> None:
    lines = explain(plan(parse(APP + query.format(condition)))).splitlines()
    assert [line.strip() for line in lines if " finds rows by " in line] == [
        f"({condition}) in T finds rows by {access}"
    ]
