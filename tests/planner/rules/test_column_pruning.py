"""Reads of inputs and pattern slots: the attributes of a source that a batch must contain."""

from __future__ import annotations

import pytest

from siddhi.planner.app import plan
from siddhi.planner.plan.nodes import JoinPlan, QueryPlan, SingleInputPlan
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.rules.column_pruning import prune_columns
from siddhi.query_compiler import parse

STREAMS = "define stream S (a string, b int, c int, d int); define stream R (a string, b int); "


def input_of(text: str) -> SingleInputPlan | JoinPlan | PatternPlan:
    (query,) = plan(parse(STREAMS + text)).executions
    assert isinstance(query, QueryPlan)
    return query.input


@pytest.mark.parametrize(
    ("query", "reads"),
    [
        ("from S select b insert into O;", (1,)),
        ("from S[c > 1] select b insert into O;", (1, 2)),
        ("from S[c > 1]#window.length(2)[d > 1] select b insert into O;", (1, 2, 3)),
        ("from S select 1 as x insert into O;", ()),
        ("from S#log('x') select b insert into O;", None),
    ],
)
def test_reads_are_the_attributes_of_filters_window_and_selection(query: str, reads: tuple[int, ...] | None) -> None:
    found = input_of(query)
    assert isinstance(found, SingleInputPlan)
    assert found.reads == reads


def test_sides_of_a_join_have_their_own_reads() -> None:
    found = input_of("from S[d > 1]#window.length(2) join R#window.length(2) on S.a == R.a select R.b insert into O;")
    assert isinstance(found, JoinPlan)
    assert (found.left.reads, found.right.reads) == ((0, 3), (0, 1))


def test_reads_of_a_pattern_slot_include_its_own_filter() -> None:
    found = input_of("from every x=S[c > 1] -> y=R[b == x.b] select y.a as a insert into O;")
    assert isinstance(found, PatternPlan)
    assert [(slot.kept, slot.reads) for slot in found.slots] == [((1,), (1, 2)), ((0,), (0, 1))]


def test_an_aggregation_reads_its_values_groups_and_time() -> None:
    text = "define stream T (k string, v int, w int, at long);"
    text += "define aggregation G from T select k, sum(v) as s group by k aggregate by at every sec;"
    found = plan(parse(text))
    assert found.aggregations["G"].input.reads == (0, 1, 3)
    assert prune_columns(found) is found
