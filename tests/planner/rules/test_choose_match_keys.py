"""Keys of pattern states: the equalities by which an index finds partial matches."""

from __future__ import annotations

import pytest

from siddhi.planner.app import plan
from siddhi.planner.plan.nodes import QueryPlan
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.rules.choose_match_keys import choose_match_keys
from siddhi.query_compiler import parse

STREAMS = "define stream A (k string, v int); define stream B (k string, v int); "


def keys(pattern: str) -> list[int]:
    """Return the number of keys per slot."""
    (query,) = plan(parse(f"{STREAMS} from {pattern} select b.v as v insert into O;")).executions
    assert isinstance(query, QueryPlan)
    assert isinstance(query.input, PatternPlan)
    return [len(slot.keys) for slot in query.input.slots]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("every a=A -> b=B[k == a.k]", [0, 1]),
        ("every a=A -> b=B[k == a.k and v == a.v]", [0, 2]),
        ("every a=A -> b=B[k == 'x']", [0, 0]),
        ("every a=A -> b=B[v > a.v]", [0, 0]),
        ("every a=A<1:2> -> b=B[k == a[0].k]", [0, 0]),
        ("every a=A, b=B[k == a.k]", [0, 0]),
    ],
)
def test_equalities_with_fixed_events_of_patterns_are_keys(pattern: str, expected: list[int]) -> None:
    assert keys(pattern) == expected


def test_the_rule_returns_a_plan_with_keys_unchanged() -> None:
    found = plan(parse(f"{STREAMS} from every a=A -> b=B[k == a.k] select b.v as v insert into O;"))
    assert choose_match_keys(found) is found
