"""Typed expressions as text: how they read, and which executor runs them (``greater double(var, const)``)."""

from __future__ import annotations

from collections.abc import Mapping

from siddhi.planner.expressions import (
    TABLE_SLOT,
    Aggregate,
    And,
    Arithmetic,
    Attr,
    Call,
    Comparison,
    Const,
    EventReference,
    InTable,
    IsNull,
    IsNullEvent,
    Not,
    Or,
    ScriptCall,
    TypedExpression,
    Widen,
)
from siddhi.planner.walk import children
from siddhi.query_api.expression import CompareOperator, EventIndex, MathOperator
from siddhi.types import AttributeType

__all__ = ["executor_text", "expression_text"]

_MATH_WORDS = {
    MathOperator.ADD: "add",
    MathOperator.SUBTRACT: "subtract",
    MathOperator.MULTIPLY: "multiply",
    MathOperator.DIVIDE: "divide",
    MathOperator.MOD: "mod",
}
_COMPARE_WORDS = {
    CompareOperator.LESS: "less",
    CompareOperator.LESS_EQUAL: "less or equal",
    CompareOperator.GREATER: "greater",
    CompareOperator.GREATER_EQUAL: "greater or equal",
    CompareOperator.EQUAL: "equal",
    CompareOperator.NOT_EQUAL: "not equal",
}
_SUFFIX = {AttributeType.LONG: "L", AttributeType.FLOAT: "f"}


def expression_text(expression: TypedExpression, labels: Mapping[int, str]) -> str:
    """The expression as it would be written; ``labels`` name the events of slots that need a name."""

    def text(node: TypedExpression) -> str:
        written = expression_text(node, labels)
        return f"({written})" if isinstance(node, (Arithmetic, Comparison, And, Or, InTable)) else written

    if isinstance(expression, Attr):
        label = labels.get(expression.slot)
        if label is None and expression.index is None:
            return expression.name
        return f"{label or 'event'}{_index(expression.index)}.{expression.name}"
    if isinstance(expression, Const):
        return _literal(expression)
    if isinstance(expression, Widen):
        return text(expression.operand)
    if isinstance(expression, (Arithmetic, Comparison)):
        return f"{text(expression.left)} {expression.operator.value} {text(expression.right)}"
    if isinstance(expression, (And, Or)):
        return f"{text(expression.left)} {'and' if isinstance(expression, And) else 'or'} {text(expression.right)}"
    if isinstance(expression, Not):
        return f"not {text(expression.operand)}"
    if isinstance(expression, IsNull):
        return f"{text(expression.operand)} is null"
    if isinstance(expression, IsNullEvent):
        return f"{labels.get(expression.slot, 'event')}{_index(expression.index)} is null"
    if isinstance(expression, EventReference):
        return labels.get(expression.slot, "event")
    if isinstance(expression, InTable):
        condition = expression_text(expression.condition, {**labels, TABLE_SLOT: expression.table})
        return f"({condition}) in {expression.table}"
    name = _callee(expression)
    return f"{name}({', '.join(expression_text(argument, labels) for argument in children(expression))})"


def executor_text(expression: TypedExpression) -> str:
    """The executor: its operation, the type it computes in, and the kinds of its operands."""
    if isinstance(expression, (Attr, EventReference, IsNullEvent)):
        return "event test" if isinstance(expression, IsNullEvent) else "var"
    if isinstance(expression, Const):
        return "const"
    operands = ", ".join(executor_text(operand) for operand in children(expression))
    if isinstance(expression, Widen):
        return f"to {expression.type}({operands})"
    if isinstance(expression, Arithmetic):
        return f"{_MATH_WORDS[expression.operator]} {expression.type}({operands})"
    if isinstance(expression, Comparison):
        return f"{_COMPARE_WORDS[expression.operator]} {expression.operand_type}({operands})"
    if isinstance(expression, And):
        return f"and({operands})"
    if isinstance(expression, Or):
        return f"or({operands})"
    if isinstance(expression, Not):
        return f"not({operands})"
    if isinstance(expression, IsNull):
        return f"is null {expression.operand.type}({operands})"
    if isinstance(expression, InTable):
        return f"in {expression.table}({operands})"
    return f"{_callee(expression)} {expression.type}({operands})"


def _callee(expression: TypedExpression) -> str:
    if isinstance(expression, Call):
        return expression.function.full_name
    if isinstance(expression, Aggregate):
        return expression.aggregator.full_name
    assert isinstance(expression, ScriptCall)
    return expression.definition.id


def _literal(constant: Const) -> str:
    if isinstance(constant.value, bool):
        return "true" if constant.value else "false"
    if isinstance(constant.value, str):
        return f"'{constant.value}'"
    return f"{constant.value}{_SUFFIX.get(constant.type, '')}"


def _index(index: EventIndex | None) -> str:
    if index is None:
        return ""
    if not index.from_last:
        return f"[{index.offset}]"
    return "[last]" if index.offset == 0 else f"[last - {index.offset}]"
