"""All rules: their list and order, and the plan that contains every choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from siddhi._frozen import Frozen, fields
from siddhi.planner.bind import on_demand
from siddhi.planner.on_demand import plan_on_demand
from siddhi.planner.plan.expressions import Const, InTable
from siddhi.planner.plan.nodes import JoinPlan, OutputPlan, Plan, QueryPlan
from siddhi.planner.plan.rewrite import map_expressions
from siddhi.planner.rules import RULES
from siddhi.query_compiler import parse_on_demand_query
from siddhi.types import AttributeType
from tests.kit.planning import planned

FOLDER = Path(on_demand.__file__).parents[1] / "rules"
APPS = sorted((Path(__file__).parents[2] / "golden" / "plan").glob("*.siddhi"))

EVERYWHERE = """
define stream S (k int, v int, text string);
@primaryKey('k') define table T (k int, v int);
define table U (v int);
define window W (k int, v int, text string) length(5);
define function f[python] return bool { return data[0] };
define aggregation A from S[(T.k == k) in T] select k, sum(v) as s group by k aggregate every sec;

from S[(T.k == k) in T]#window.length(3)[(U.v == v) in U] select k, f((T.k == k and (U.v == 1) in U) in T) as x
having (T.k == k) in T insert into O1;
from S#window.expression('k > 1 and (T.k == k) in T') select k insert into O2;
from S as a join W as b on a.k == b.k and (T.k == a.v) in T select a.k as k insert into O3;
from S as a join T as b on a.k == b.k and (U.v == b.v) in U select a.k as k insert into O4;
from every e1 = S[(T.k == k) in T] -> e2 = S[k == e1.k and (T.k == e1.k and T.v == k) in T]
select e1.k as k, (T.k == e2.k) in T as x insert into O5;
from S select k, v update or insert into T set T.v = v on T.k == k and (U.v == v) in U;
partition with ((T.k == k) in T of S) begin from S[(T.k == k) in T] select k insert into O6; end;
partition with ((T.k == k) in T as 'known' or k > 0 as 'other' of S) begin from S select k insert into O7; end;
"""


def nodes(thing: object) -> Iterator[object]:
    """Everything a plan consists of."""
    pending = [thing]
    while pending:
        node = pending.pop()
        if isinstance(node, (tuple, list)):
            pending += node
        elif isinstance(node, dict):
            pending += node.values()
        elif isinstance(node, Frozen) and type(node).__module__.startswith("siddhi.planner.plan."):
            yield node
            pending += [getattr(node, field.name) for field in fields(node)]


def assert_chosen(plan: object) -> None:
    for node in nodes(plan):
        if isinstance(node, InTable):
            assert node.access is not None
        elif isinstance(node, OutputPlan):
            assert (node.access is None) == (node.condition is None) == (node.change is None)


def test_each_rule_is_listed_once() -> None:
    modules = [rule.__module__.rpartition(".")[2] for rule in RULES]
    assert sorted(modules) == sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_is_idempotent(rule: Callable[[Plan], Plan]) -> None:
    plan = planned(EVERYWHERE)
    assert rule(plan) == plan


@pytest.mark.parametrize("path", APPS, ids=lambda path: path.stem)
def test_every_lookup_of_a_plan_has_an_access(path: Path) -> None:
    assert_chosen(planned(path.read_text(encoding="utf-8")))


def test_every_in_condition_has_an_access() -> None:
    plan = planned(EVERYWHERE)
    assert_chosen(plan)
    # What accesses and look-ups keep of a condition are the same objects.
    assert len({id(node) for node in nodes(plan) if isinstance(node, InTable)}) == EVERYWHERE.count(") in ")


def test_a_dynamic_condition_has_an_access_when_it_is_planned() -> None:
    plan = planned(
        "define table T (k int); define stream S (k int, t string); from S#window.expression(t) insert into O;"
    )
    (query,) = plan.executions
    assert isinstance(query, QueryPlan)
    plan_condition = query.input.window.plan_condition  # type: ignore[union-attr]
    assert plan_condition is not None
    assert_chosen(plan_condition("(T.k == k) in T"))


@pytest.mark.parametrize(
    "text",
    [
        "from T on k == 1 and (U.v == 1) in U select k",
        "from W on (T.k == 1) in T select k",
        "from T select (U.v == k) in U as x having (T.k == 1) in T",
        "select 1 as k, 2 as v update or insert into T on T.k == k and (U.v == 1) in U",
        "delete T on T.k == 3",
    ],
)
def test_every_lookup_of_an_on_demand_query_has_an_access(text: str) -> None:
    assert_chosen(plan_on_demand(parse_on_demand_query(text), planned(EVERYWHERE)))


def test_a_rule_without_changes_returns_the_same_plan() -> None:
    plan = planned(EVERYWHERE)
    assert map_expressions(plan, lambda expression: expression) is plan


def test_a_long_chain_of_in_conditions_can_be_planned() -> None:
    text = " or ".join(["k == 1"] * 3000 + ["(T.k == k) in T"])
    assert_chosen(planned(f"define table T (k int); define stream S (k int); from S[{text}] select k insert into O;"))


def test_a_join_has_an_access_for_each_side() -> None:
    plan: Plan = planned(EVERYWHERE)
    joins = [node for node in nodes(plan.executions) if isinstance(node, JoinPlan)]
    assert [[type(lookup).__name__ for lookup in join.lookups] for join in joins] == [
        ["NoneType", "TableAccess"],
        ["NoneType", "WindowEqualityLookup"],
    ]


def test_a_constant_is_its_own_only_node() -> None:
    constant = Const(AttributeType.INT, 1)
    assert list(nodes(constant)) == [constant]
