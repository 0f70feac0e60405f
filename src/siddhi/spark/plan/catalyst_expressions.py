"""Find the expressions that Catalyst computes with Siddhi's results; needs no PySpark."""

from __future__ import annotations

from siddhi.planner.plan.expressions import (
    Aggregate,
    Attr,
    Call,
    Const,
    EventReference,
    InTable,
    IsNullEvent,
    ScriptCall,
    TypedExpression,
)
from siddhi.planner.plan.walk import children
from siddhi.types import AttributeType

__all__ = ["why_not_catalyst"]

_DEEPEST = 100  # Catalyst walks trees by recursion, in threads with small stacks
_INTEGERS = (AttributeType.INT, AttributeType.LONG)
_FLOATING = (AttributeType.FLOAT, AttributeType.DOUBLE)
_ANY_TYPE = frozenset(
    """coalesce default ifThenElse instanceOfBoolean instanceOfDouble instanceOfFloat instanceOfInteger
    instanceOfLong instanceOfString eventTimestamp currentTimeMillis""".split()
)


def why_not_catalyst(expression: TypedExpression) -> str | None:
    """Return which part of an expression needs the engine, a noun phrase; None: Catalyst can compute it."""
    pending: list[tuple[TypedExpression, int]] = [(expression, 1)]
    while pending:
        node, depth = pending.pop()
        if depth > _DEEPEST:
            return f"an expression nested deeper than {_DEEPEST} levels"
        reason = _node_reason(node)
        if reason is not None:
            return reason
        pending += [(child, depth + 1) for child in children(node)]
    return None


def _node_reason(node: TypedExpression) -> str | None:
    if node.type is AttributeType.OBJECT:
        return "a value of type object"
    if isinstance(node, Const) and isinstance(node.value, float) and node.value in (float("inf"), float("-inf")):
        return "an infinite literal"
    if isinstance(node, Attr) and node.index is not None:
        return "an event of a counting state"
    if isinstance(node, Call):
        return _call_reason(node)
    if isinstance(node, ScriptCall):
        return f"the script function '{node.definition.id}'"
    if isinstance(node, Aggregate):
        return f"the aggregator '{node.aggregator.full_name}'"
    if isinstance(node, InTable):
        return f"'in {node.table}'"
    if isinstance(node, (IsNullEvent, EventReference)):
        return "a null check of an event"
    return None


def _call_reason(call: Call) -> str | None:
    name = call.function.builtin
    types = [argument.type for argument in call.arguments]
    if name in ("convert", "cast"):
        source, target = types[0], call.type
        if name == "cast" and source is AttributeType.STRING and target.is_numeric:
            return f"cast() of a string to {target}, which fails for other text"
        if source in _FLOATING and target is AttributeType.STRING:
            return f"{name}() of a {source} to string, whose digits depend on the Java version"
        if source is AttributeType.STRING and target in _FLOATING:
            return f"convert() of a string to {target}, whose syntax is Java's"
        return None
    if name in ("maximum", "minimum"):
        return None if all(type_ in _INTEGERS for type_ in types) else f"{name}() of floating-point numbers"
    if name == "eventTimestamp" and call.arguments:
        return "eventTimestamp() of another event"
    if name is None or name not in _ANY_TYPE:
        return f"the function '{call.function.full_name}'"
    return None
