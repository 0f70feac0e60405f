from __future__ import annotations

import pytest

from siddhi.planner.app import plan
from siddhi.planner.on_demand import plan_on_demand
from siddhi.planner.plan.nodes import PartitionPlan, QueryPlan, SelectionOperator
from siddhi.query_compiler import parse, parse_on_demand_query

DEFINITIONS = """define stream S (k string, v int, l long);
define table T (k string, v int);
define function f[python] return int { return data[0] };
"""


def operator_of(text: str) -> SelectionOperator:
    (execution,) = plan(parse(f"{DEFINITIONS} {text}")).executions
    query = execution.queries[0] if isinstance(execution, PartitionPlan) else execution
    assert isinstance(query, QueryPlan)
    return query.selection


@pytest.mark.parametrize(
    "text",
    [
        "from S select k, v + 1 as w insert into O;",
        "from S#window.length(5) select f(v) as w insert into O;",
        "from S#window.length(5) as a join S#window.length(5) as b on a.k == b.k select a.k as k insert into O;",
        "from every e1 = S -> e2 = S select e1.k as k insert into O;",
        "partition with (k of S) begin from S select k insert into O; end;",
    ],
)
def test_a_stateless_selection_is_a_projection(text: str) -> None:
    assert operator_of(text) is SelectionOperator.PROJECTION


@pytest.mark.parametrize(
    "text",
    [
        "from S select sum(v) as s insert into O;",
        "from S select k having k == 'a' insert into O;",
        "from S select k order by k insert into O;",
        "from S select k limit 1 insert into O;",
        "from S select k offset 1 insert into O;",
        "from S select k group by k insert into O;",
        "from S#window.length(5) select k insert all events into O;",
        "from S select k output last every 5 events insert into O;",
    ],
)
def test_states_limits_and_expired_events_need_a_selector(text: str) -> None:
    assert operator_of(text) is SelectionOperator.SELECTOR


@pytest.mark.parametrize("window", ["batch()", "lengthBatch(5)", "timeBatch(1 sec)"])
def test_a_batch_is_selected_at_the_end_of_its_chunk(window: str) -> None:
    text = f"from S#window.{window} select k, distinctCount(v) as d group by k insert into O;"
    assert operator_of(text) is SelectionOperator.SELECTOR_AT_CHUNK_END


@pytest.mark.parametrize(
    "text",
    [
        "from S#window.length(5) select k, distinctCount(v) as d group by k insert into O;",
        "from S#window.batch() select k, max(v) as m group by k insert into O;",
        "from S#window.batch() select k, distinctCount(f(v)) as d group by k insert into O;",
        "from S#window.batch() select k, distinctCount(v) as d group by k having d > 1 insert into O;",
        "from S#window.batch() select k, distinctCount(v) as d group by k insert all events into O;",
        "@limit(keys = '5') from S#window.batch() select k, distinctCount(v) as d group by k insert into O;",
    ],
)
def test_what_an_event_must_compute_is_not_left_to_the_end(text: str) -> None:
    assert operator_of(text) is SelectionOperator.SELECTOR


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("from T select k, v", SelectionOperator.PROJECTION),
        ("from T select sum(v) as s", SelectionOperator.SELECTOR),
        ("from T select k order by v", SelectionOperator.SELECTOR),
        ("select 'a' as k, 1 as v insert into T", SelectionOperator.PROJECTION),
    ],
)
def test_on_demand_queries_have_the_same_choice(text: str, operator: SelectionOperator) -> None:
    assert plan_on_demand(parse_on_demand_query(text), plan(parse(DEFINITIONS))).selection is operator
