"""Keys of a distribution as typed expressions over the attributes of their stream."""

from __future__ import annotations

from siddhi.planner.app import plan as make_plan
from siddhi.planner.distribution.keys import range_key
from siddhi.planner.plan.expressions import Attr, TypedExpression
from siddhi.planner.plan.nodes import PartitionPlan, Plan, QueryPlan, RangeKeyPlan
from siddhi.query_compiler import parse

__all__ = ["key_expression", "range_conditions"]


def range_conditions(plan: Plan, stream: str, text: str) -> tuple[tuple[str, TypedExpression], ...]:
    """Labels and conditions of the key ``text`` of a stream of the plan; nothing where it is not a key by ranges."""
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
    """The expression ``text`` over a stream of the plan; attributes are those of the stream, in slot 0."""
    attributes = plan.streams[stream].attributes
    for position, attribute in enumerate(attributes):
        if attribute.name == text:
            return Attr(attribute.type, 0, position, attribute.name)
    schema = ", ".join(f"`{attribute.name}` {attribute.type}" for attribute in attributes)
    made = make_plan(parse(f"define stream S ({schema}); from S select {text} as k insert into Keys;"))
    query = made.executions[0]
    assert isinstance(query, QueryPlan)
    return query.selector.columns[0].expression
