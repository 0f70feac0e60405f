"""Keys of separability as typed expressions over the attributes of their stream."""

from __future__ import annotations

from siddhi.planner.expressions import Attr, TypedExpression
from siddhi.planner.nodes import Plan, QueryPlan
from siddhi.query_compiler import parse

__all__ = ["key_expression"]


def key_expression(plan: Plan, stream: str, text: str) -> TypedExpression:
    """The expression ``text`` over a stream of the plan; attributes are those of the stream, in slot 0."""
    from siddhi.planner.app import plan as make_plan

    attributes = plan.streams[stream].attributes
    for position, attribute in enumerate(attributes):
        if attribute.name == text:
            return Attr(attribute.type, 0, position, attribute.name)
    schema = ", ".join(f"`{attribute.name}` {attribute.type}" for attribute in attributes)
    made = make_plan(parse(f"define stream S ({schema}); from S select {text} as k insert into Keys;"))
    query = made.executions[0]
    assert isinstance(query, QueryPlan)
    return query.selector.columns[0].expression
