from __future__ import annotations

import pytest

from siddhi.planner.on_demand import plan_on_demand
from siddhi.planner.plan.access import IndexLookup, KeyLookup
from siddhi.planner.plan.nodes import QueryPlan, TableChangePlan
from siddhi.query_compiler import parse_on_demand_query
from tests.kit.planning import planned

DEFINITIONS = """define stream S (k int, v int, d double);
@primaryKey('k') define table T (k int, v int);
@primaryKey('d') define table D (d double, v int);
@primaryKey('a', 'b') define table C (a int, b int, v int);
define table N (k int, v int);
"""


def change_of(text: str) -> TableChangePlan:
    (query,) = planned(f"{DEFINITIONS} from S select {text};").executions
    assert isinstance(query, QueryPlan)
    assert query.output.change is not None
    return query.output.change


def assigned(change: TableChangePlan) -> list[int]:
    return [set_.position for set_ in change.assigned]


@pytest.mark.parametrize(
    ("text", "as_event"),
    [("k delete T on T.k == k", True), ("k delete T on T.k == k and T.v < eventTimestamp()", False)],
)
def test_a_condition_reads_the_row_as_event_unless_it_reads_the_time(text: str, as_event: bool) -> None:
    assert change_of(text).row_is_current is as_event


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("k, v update T set T.k = k, T.v = v on T.k == k", [1]),
        ("k, v update T set T.k = k, T.v = v on T.k == k and T.v > 1", [0, 1]),
        ("k, v update T set T.k = k, T.v = v on T.v == v", [0, 1]),
        ("k, v update T set T.k = v, T.v = v on T.k == k", [0, 1]),
        ("d, v update D set D.d = d, D.v = v on D.d == d", [0, 1]),  # 0.0 finds -0.0
        ("k, v update T set T.v = v, T.v = k on T.k == k", [1]),
    ],
)
def test_a_row_found_by_its_key_is_not_assigned_the_key(text: str, positions: list[int]) -> None:
    assert assigned(change_of(text)) == positions


@pytest.mark.parametrize(
    ("text", "overwrites"),
    [
        ("k, v update or insert into T on T.k == k", True),
        ("v as k, k as v update or insert into T on T.k == k", True),
        ("k, v update or insert into T set T.v = v on T.k == k", False),
        ("k, v update or insert into T on T.k == k and T.v > 1", False),
        ("k, v update or insert into T on T.k == v", False),
        ("k, v update or insert into N on N.k == k", False),
    ],
)
def test_an_event_with_the_key_of_the_row_overwrites_it(text: str, overwrites: bool) -> None:
    assert change_of(text).overwrites is overwrites


@pytest.mark.parametrize(
    "text",
    [
        "k, v update or insert into T on T.k == k",
        "k, v update or insert into T set T.v = v on T.k == k",
        "k, v update or insert into N on N.k == k",
        "k as a, k as b, v update or insert into C set C.v = v on C.a == a and C.b == b",
        "k, v update T on T.k == k",
    ],
)
def test_rows_are_added_at_once_if_later_events_find_them_by_key(text: str) -> None:
    assert change_of(text).pending is None


def test_other_rows_are_added_at_the_end_of_the_chunk() -> None:
    pending = change_of("k, v update or insert into T set T.v = v on T.k == k and T.v > 1").pending
    assert pending is not None
    assert isinstance(pending.lookup, IndexLookup)  # rows not added yet have no primary key
    assert change_of("k, v update or insert into T set T.k = v, T.v = v on T.k == k").pending is not None
    assert change_of("k as a, k as b, v update or insert into C set C.v = v on C.a == a").pending is not None


def test_on_demand_queries_have_the_same_choice() -> None:
    app = planned(DEFINITIONS)
    plan = plan_on_demand(parse_on_demand_query("select 1 as k, 2 as v update or insert into T on T.k == k"), app)
    assert plan.output is not None
    assert plan.output.access is not None
    assert isinstance(plan.output.access.lookup, KeyLookup)
    assert plan.output.change is not None
    assert plan.output.change.overwrites
