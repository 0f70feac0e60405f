"""Typed expressions as text: SiddhiQL, and the executor (``greater double(var, const)``); and the text of the parts of an
aggregation that its state depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from siddhi.planner.plan.aggregations import AggregationPlan
from siddhi.planner.plan.expressions import (
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
from siddhi.planner.plan.walk import children
from siddhi.query_api.definition import Duration
from siddhi.query_api.expression import CompareOperator, EventIndex, MathOperator
from siddhi.types import AttributeType

__all__ = ["executor_text", "expression_text", "kept_lines", "zone_lines"]

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
    """Return the expression as SiddhiQL; ``labels`` are the names of the events of slots."""
    # Operators are left-associative; a loop walks down their chains, which can have thousands of operators.
    tail: list[str] = []
    opening = 0
    while isinstance(expression, (Widen, Arithmetic, Comparison, And, Or)):
        if isinstance(expression, Widen):
            expression = expression.operand
        else:
            tail.append(f" {_sign(expression)} {_operand_text(expression.right, labels)}")
            expression = expression.left
        if isinstance(expression, (Arithmetic, Comparison, And, Or)):
            tail.append(")")
            opening += 1
    text = _operand_text(expression, labels) if tail else _plain_text(expression, labels)
    return "(" * opening + text + "".join(reversed(tail))


def _operand_text(expression: TypedExpression, labels: Mapping[int, str]) -> str:
    written = expression_text(expression, labels)
    needs_parentheses = isinstance(expression, (Arithmetic, Comparison, And, Or, InTable))
    return f"({written})" if needs_parentheses else written


def _plain_text(expression: TypedExpression, labels: Mapping[int, str]) -> str:
    """Return the text of an expression that is not a binary operator."""
    if isinstance(expression, Attr):
        label = labels.get(expression.slot)
        if label is None and expression.index is None:
            return expression.name
        return f"{label or 'event'}{_index(expression.index)}.{expression.name}"
    if isinstance(expression, Const):
        return _literal(expression)
    if isinstance(expression, Not):
        return f"not {_operand_text(expression.operand, labels)}"
    if isinstance(expression, IsNull):
        return f"{_operand_text(expression.operand, labels)} is null"
    if isinstance(expression, IsNullEvent):
        return f"{labels.get(expression.slot, 'event')}{_index(expression.index)} is null"
    if isinstance(expression, EventReference):
        return labels.get(expression.slot, "event")
    if isinstance(expression, InTable):
        condition = expression_text(expression.condition, {**labels, TABLE_SLOT: expression.table})
        return f"({condition}) in {expression.table}"
    arguments = [expression_text(argument, labels) for argument in children(expression)]
    return f"{_callee(expression)}({', '.join(arguments)})"


def executor_text(expression: TypedExpression) -> str:
    """Return the executor: its operation, the type it computes in, and the kinds of its operands."""
    front: list[str] = []
    tail: list[str] = []
    while isinstance(expression, (Widen, Arithmetic, Comparison, And, Or)):
        front.append(f"{_operation(expression)}(")
        if isinstance(expression, Widen):
            tail.append(")")
            expression = expression.operand
        else:
            tail.append(f", {executor_text(expression.right)})")
            expression = expression.left
    return "".join(front) + _plain_executor(expression) + "".join(reversed(tail))


def _plain_executor(expression: TypedExpression) -> str:
    if isinstance(expression, (Attr, EventReference)):
        return "var"
    if isinstance(expression, IsNullEvent):
        return "event test"
    if isinstance(expression, Const):
        return "const"
    operands = [executor_text(operand) for operand in children(expression)]
    return f"{_operation(expression)}({', '.join(operands)})"


def _sign(expression: Arithmetic | Comparison | And | Or) -> str:
    if isinstance(expression, (Arithmetic, Comparison)):
        return str(expression.operator.value)
    return "and" if isinstance(expression, And) else "or"


def _operation(expression: TypedExpression) -> str:
    if isinstance(expression, Widen):
        return f"to {expression.type}"
    if isinstance(expression, Arithmetic):
        return f"{_MATH_WORDS[expression.operator]} {expression.type}"
    if isinstance(expression, Comparison):
        return f"{_COMPARE_WORDS[expression.operator]} {expression.operand_type}"
    if isinstance(expression, (And, Or)):
        return _sign(expression)
    if isinstance(expression, Not):
        return "not"
    if isinstance(expression, IsNull):
        return f"is null {expression.operand.type}"
    if isinstance(expression, InTable):
        return f"in {expression.table}"
    return f"{_callee(expression)} {expression.type}"


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


def kept_lines(plan: AggregationPlan) -> Iterator[str]:
    """Yield ``keeps AGG_SUM_price = sum price`` for each base value."""
    for base in plan.base_values:
        of = "" if base.argument is None else f" {expression_text(base.argument, {})}"
        yield f"keeps {plan.stored[base.position].name} = {base.kind.value}{of}"


def zone_lines(plan: AggregationPlan) -> Iterator[str]:
    """Yield ``buckets begin in Asia/Colombo``, unless the zone is GMT or has no effect on the buckets."""
    if plan.zone not in ("GMT", "UTC") and not {*plan.durations} <= {Duration.SECONDS, Duration.MINUTES}:
        yield f"buckets begin in {plan.zone}"
