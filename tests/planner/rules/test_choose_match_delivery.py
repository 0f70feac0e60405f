from __future__ import annotations

import pytest

from siddhi.planner.plan.nodes import JoinPlan, QueryPlan
from tests.kit.planning import planned

DEFINITIONS = """define stream S (k string, v int);
define stream R (k string, v int);
define function f[python] return int { return data[0] };
define aggregation A from S select k, sum(v) as s group by k aggregate every sec;
"""
JOIN = "from S#window.length(5) as a join R#window.length(5) as b on a.k == b.k"


def join_of(text: str) -> JoinPlan:
    (query,) = planned(f"{DEFINITIONS} {text}").executions
    assert isinstance(query, QueryPlan)
    assert isinstance(query.input, JoinPlan)
    return query.input


@pytest.mark.parametrize(
    ("select", "ends"),
    [
        ("select a.k as k", False),
        ("select a.k as k having k == 'x'", False),
        ("select a.k as k order by k", True),
        ("select a.k as k limit 1", True),
        ("select a.k as k offset 1", True),
        ("select a.k as k group by a.k", True),
        ("select count() as n", True),
    ],
)
def test_a_selection_of_whole_matches_needs_their_end(select: str, ends: bool) -> None:
    assert join_of(f"{JOIN} {select} insert into O;").ends_matches is ends


@pytest.mark.parametrize(
    ("text", "fills"),
    [
        (f"{JOIN} select a.k as k insert into O;", True),
        (f"{JOIN} and a.v < b.v select a.k as k insert into O;", True),
        (f"{JOIN} select a.k as k order by k insert into O;", False),
        (f"{JOIN} select f(a.v) as k insert into O;", False),
        (f"{JOIN} and f(a.v) == 1 select a.k as k insert into O;", False),
        ("from S[f(v) == 1] as a join R#window.length(5) as b on a.k == b.k select a.k as k insert into O;", False),
        ("from S#log() as a join R#window.length(5) as b on a.k == b.k select a.k as k insert into O;", False),
        (
            "from S as a join A as b on a.k == b.k within '2020-**-** **:**:**' per 'sec' select a.k as k insert into O;",
            False,
        ),
    ],
)
def test_matches_that_cannot_fail_fill_columns(text: str, fills: bool) -> None:
    assert join_of(text).fills_columns is fills
