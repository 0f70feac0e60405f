"""Table access of a condition: primary key, index, range, union, or scan."""

from __future__ import annotations

import pytest

from siddhi.planner.explain.access import access_text
from siddhi.planner.on_demand import plan_on_demand
from siddhi.planner.plan.nodes import Plan
from siddhi.query_compiler import parse_on_demand_query
from tests.kit.planning import planned

DEFINITIONS = """
    @primaryKey('k') @index('s') @index('v') @index('d') @index('f')
    define table T (k int, s string, v int, d double, f float, l long, x int);
    @primaryKey('a', 'b') define table C (a string, b int, x int);
    define table N (x int);
    """


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planned(DEFINITIONS)


@pytest.mark.parametrize(
    ("query", "access", "left"),
    [
        ("from T on k == 1", "primary key k", 0),
        ("from T on 1 == k and x > 3", "primary key k", 1),
        ("from T on k == 1 and s == 'a'", "primary key k", 1),
        ("from T on k == 1L", "primary key k", 0),
        ("from T on k == 1.0", "primary key k", 0),
        ("from T on k == 1.0f", "scan", 1),
        ("from C on a == 'x' and b == 2", "primary key a, b", 0),
        ("from C on 2 == b and x == 1 and 'x' == a", "primary key a, b", 1),
        ("from C on a == 'x'", "scan", 1),
        ("from C on a == 'x' and b > 2", "scan", 2),
        ("from T on s == 'a'", "index s", 0),
        ("from T on s == 'a' and x == 2", "index s", 1),
        ("from T on s == 'a' and v > 2", "index s", 1),
        ("from T on s == 'a' and v == 2", "smallest of index s, index v", 2),
        ("from T on d == 2", "index d", 0),
        ("from T on f == 2.5", "index f", 0),
        ("from T on v > 2", "range of v", 0),
        ("from T on 2 > v and v >= 0 and d > 1.0", "range of v", 1),
        ("from T on k < 3", "range of k", 0),
        ("from T on v > 2.5", "range of v", 0),
        ("from T on s == 'a' or v == 2", "index s or index v", 1),
        ("from T on s == 'a' or v > 2 or k == 1", "index s or range of v or primary key k", 1),
        ("from T on (s == 'a' and x > 1) or k == 1", "index s or primary key k", 1),
        ("from T on s == 'a' or x == 2", "scan", 1),
        ("from T on (s == 'a' or x == 2) and d < 1.0", "range of d", 1),
        ("from T on s != 'a'", "scan", 1),
        ("from T on not (s == 'a')", "scan", 1),
        ("from T on v == x", "scan", 1),
        ("from T on v + 1 == 2", "scan", 1),
        ("from T on l == 1", "scan", 1),
        ("from N on x == 1", "scan", 1),
        ("from T", "scan", 0),
    ],
)
def test_the_access_of_a_condition(plan: Plan, query: str, access: str, left: int) -> None:
    found = plan_on_demand(parse_on_demand_query(query), plan)
    assert found.store is not None
    assert found.access is not None
    assert access_text(plan.tables[found.store], found.access) == access
    assert len(found.access.residual) == left
    assert found.access.row_free == ()


def test_row_free_predicates_are_evaluated_once(plan: Plan) -> None:
    found = plan_on_demand(parse_on_demand_query("from T on 1 > 2 and k == 1 and 'a' == 'b'"), plan)
    chosen = found.access
    assert chosen is not None
    assert (len(chosen.row_free), len(chosen.exact), len(chosen.residual), len(chosen.row_predicates)) == (2, 1, 0, 1)
