"""Bind keys of a distribution: typed expressions over the attributes of a stream."""

from __future__ import annotations

from siddhi.planner.app import plan as make_plan
from siddhi.planner.distribution.keys import range_key
from siddhi.planner.plan.expressions import Attr, TypedExpression
from siddhi.planner.plan.nodes import PartitionPlan, Plan, QueryPlan, RangeKeyPlan
from siddhi.query_compiler import parse

__all__ = ["key_expression", "range_conditions"]


def range_conditions(plan: Plan, stream: str, text: str) -> tuple[tuple[str, TypedExpression], ...]:
    """Return labels and conditions of the range key ``text`` of a stream; empty if it is not a range key."""
    return next(
        (
            key.ranges
            for execution in plan.executions
            if isinstance(execution, PartitionPlan)
            for key in execution.keys
            if isinstance(key, RangeKeyPlan) and key.stream == stream and range_key(key).text == text
        ),
        (),
    )


def key_expression(plan: Plan, stream: str, text: str) -> TypedExpression:
    """Return the expression ``text`` over the attributes of a stream, in slot 0."""
    attributes = plan.streams[stream].attributes
    for position, attribute in enumerate(attributes):
        if attribute.name == text:
            return Attr(attribute.type, 0, position, attribute.name)
    schema = ", ".join(f"`{attribute.name}` {attribute.type}" for attribute in attributes)
    made = make_plan(parse(f"define stream S ({schema}); from S select {text} as k insert into Keys;"))
    query = made.executions[0]
    assert isinstance(query, QueryPlan)
    return query.selector.columns[0].expression
