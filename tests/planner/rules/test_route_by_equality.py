from __future__ import annotations

import pytest

from siddhi.extension import Registry, builtin_registry
from siddhi.planner.plan.nodes import QueryPlan
from siddhi.planner.rules.route_by_equality import FEWEST_ASKING, asked_for, dispatched
from siddhi.runtime.assembly.app import Assembly
from tests.kit.planning import planned, query, single

STREAM = "define stream S (a string, n int, l long, b bool, d double, o object);"


def asked(condition: str) -> object:
    return asked_for(single(query(f"from S[{condition}] select a insert into Out;", definitions=STREAM)).before)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a == 'x'", (0, "x")),
        ("'x' == a", (0, "x")),
        ("n == 3", (1, 3)),
        ("l == 3L", (2, 3)),
        ("l == 3", (2, 3)),
        ("b == true", (3, True)),
        ("a == 'x' and d > 1.0 and n == 2", (0, "x")),
        ("n == 3L", None),  # compared as long: the attribute is widened
        ("d == 1.0", None),
        ("a == 'x' or n == 2", None),
        ("d > 1.0 and a == 'x'", None),  # what stands in front may fail
        ("not (a == 'x')", None),
        ("a != 'x'", None),
        ("a is null", None),
    ],
)
def test_a_query_asks_for_a_value_where_its_filter_begins_with_an_equality(condition: str, expected: object) -> None:
    assert asked(condition) == expected


def test_a_query_without_a_filter_asks_for_nothing() -> None:
    found = query("from S#window.length(5)[a == 'x'] select a insert into Out;", definitions=STREAM)
    assert asked_for(single(found).before) is None


@pytest.mark.parametrize(("queries", "expected"), [(7, {}), (8, {"S": ("a", 8)})])
def test_events_are_looked_up_where_many_queries_ask(queries: int, expected: object) -> None:
    text = STREAM + "".join(f"from S[a == '{i}'] select a insert into Out;" for i in range(queries))
    executions = planned(
        f"{text} from S[n == 1] select a insert into Out; from Out select a insert into Last;"
    ).executions
    assert dispatched(query for query in executions if isinstance(query, QueryPlan)) == expected


@pytest.mark.parametrize("queries", [FEWEST_ASKING - 1, FEWEST_ASKING])
def test_the_engine_looks_up_where_the_plan_says_so(queries: int) -> None:
    text = STREAM + "".join(f"from S[a == '{i}'] select a insert into Out;" for i in range(queries))
    found = planned(text)
    plans = [query for query in found.executions if isinstance(query, QueryPlan)]
    junction = Assembly(found, {}, Registry(builtin_registry())).junctions["S"]
    assert (junction.dispatches is not None) == ("S" in dispatched(plans)) == (queries == FEWEST_ASKING)
