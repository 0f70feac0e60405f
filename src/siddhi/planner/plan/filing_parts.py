"""What a condition says about single attributes: the entries by which a predicate index can find its events."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator

from siddhi.planner.plan.expressions import (
    And,
    Arithmetic,
    Attr,
    Comparison,
    Const,
    IsNull,
    Not,
    Or,
    TypedExpression,
    Widen,
)
from siddhi.planner.plan.filing import Filing, FilingEntry, Interval
from siddhi.planner.plan.walk import conjuncts, disjuncts, walk
from siddhi.query_api.expression import CompareOperator, MathOperator
from siddhi.types import AttributeType

__all__ = ["cannot_fail", "parts_of"]

_MOST_ENTRIES = 1024
"""Longer lists of values are not filed."""

_OPERATORS = frozenset((Const, Attr, Widen, Arithmetic, Comparison, And, Or, Not, IsNull))
_INTEGERS = {
    AttributeType.INT: (-(2**31), 2**31 - 1),
    AttributeType.LONG: (-(2**63), 2**63 - 1),
}
_NUMBERS = (*_INTEGERS, AttributeType.FLOAT, AttributeType.DOUBLE)
_NEVER: Filing = ()
_MIRROR = {
    CompareOperator.LESS: CompareOperator.GREATER,
    CompareOperator.LESS_EQUAL: CompareOperator.GREATER_EQUAL,
    CompareOperator.GREATER: CompareOperator.LESS,
    CompareOperator.GREATER_EQUAL: CompareOperator.LESS_EQUAL,
    CompareOperator.EQUAL: CompareOperator.EQUAL,
}


def cannot_fail(condition: TypedExpression) -> bool:
    """Return whether evaluation has no side effects and never raises: operators only, no functions, no tables."""
    return all(type(node) in _OPERATORS for node in walk(condition))


def parts_of(conditions: Iterable[TypedExpression]) -> Iterator[Filing]:
    """Yield the filings of the conditions that have one.

    An event that meets no entry of a filing makes its condition untrue, and evaluation reaches nothing that can fail.
    """
    for condition in conditions:
        found = _filing(condition)
        if found is not None:
            yield found


def _filing(condition: TypedExpression) -> Filing | None:
    if isinstance(condition, And):
        for part in conjuncts(condition):
            found = _filing(part)
            if found is not None:
                return found
            if not cannot_fail(part):
                return None
        return None
    if isinstance(condition, Or):
        entries: list[FilingEntry] = []
        for part in disjuncts(condition):
            found = _filing(part)
            if found is None or len(entries) + len(found) > _MOST_ENTRIES:
                return None
            entries += found
        return tuple(dict.fromkeys(entries))
    if isinstance(condition, Comparison):
        return _comparison(condition)
    if isinstance(condition, IsNull) and _is_own(condition.operand):
        return (FilingEntry(condition.operand.position),)  # type: ignore[attr-defined]
    if isinstance(condition, Const) and condition.value is False:
        return _NEVER
    return None


def _is_own(expression: TypedExpression) -> bool:
    return isinstance(expression, Attr) and expression.slot == 0 and expression.index is None


def _comparison(condition: Comparison) -> Filing | None:
    operator = condition.operator
    if operator not in _MIRROR:
        return None
    left, right = condition.left, condition.right
    attribute = _attribute(left)
    if attribute is None:
        attribute, right, operator = _attribute(right), left, _MIRROR[operator]
    value = None if attribute is None else literal(right)
    if attribute is None or value is None:
        return None
    if condition.operand_type in (AttributeType.STRING, AttributeType.BOOL):
        is_plain = operator is CompareOperator.EQUAL and attribute.type is condition.operand_type
        return (FilingEntry(attribute.position, value),) if is_plain and not isinstance(value, float) else None
    if attribute.type not in _NUMBERS or isinstance(value, (bool, str)):
        return None
    if condition.operand_type in _INTEGERS:
        assert isinstance(value, int)
        return _integers(attribute, operator, value)
    if condition.operand_type is AttributeType.FLOAT and attribute.type is not AttributeType.FLOAT:
        return None  # an integer as float is rounded in two ways
    return _doubles(attribute, operator, float(value))


def _attribute(side: TypedExpression) -> Attr | None:
    """Return the attribute of the event that a side is, which may be widened; None: it is something else."""
    while isinstance(side, Widen):
        side = side.operand
        if side.type is AttributeType.FLOAT and not isinstance(side, Attr):
            return None
    return side if isinstance(side, Attr) and _is_own(side) else None


def _integers(attribute: Attr, operator: CompareOperator, value: int) -> Filing:
    least, most = _INTEGERS[attribute.type]
    if operator is CompareOperator.EQUAL:
        return (FilingEntry(attribute.position, value),) if least <= value <= most else _NEVER
    low, high = _INTEGERS[AttributeType.LONG]
    if operator is CompareOperator.GREATER:
        low = value + 1
    elif operator is CompareOperator.GREATER_EQUAL:
        low = value
    elif operator is CompareOperator.LESS:
        high = value - 1
    else:
        high = value
    if low > most or high < least:
        return _NEVER
    return (FilingEntry(interval=Interval(attribute.position, AttributeType.LONG, low, high)),)


def _doubles(attribute: Attr, operator: CompareOperator, value: float) -> Filing:
    low, high = -math.inf, math.inf
    if math.isnan(value):
        return _NEVER
    if operator is CompareOperator.EQUAL:
        low = high = value
    elif operator is CompareOperator.GREATER:
        if value == math.inf:
            return _NEVER
        low = math.nextafter(value, math.inf)
    elif operator is CompareOperator.GREATER_EQUAL:
        low = value
    elif operator is CompareOperator.LESS:
        if value == -math.inf:
            return _NEVER
        high = math.nextafter(value, -math.inf)
    else:
        high = value
    return (FilingEntry(interval=Interval(attribute.position, AttributeType.DOUBLE, low, high)),)


def literal(expression: TypedExpression) -> bool | int | float | str | None:
    """Return the value of a constant expression as the engine computes it; None: it is not constant, null, or not folded."""
    if isinstance(expression, Const):
        return _as_type(expression.value, expression.type)
    if isinstance(expression, Widen):
        value = literal(expression.operand)
        return None if value is None else _as_type(value, expression.type)
    if isinstance(expression, Arithmetic) and expression.type in (*_INTEGERS, AttributeType.DOUBLE):
        left, right = literal(expression.left), literal(expression.right)
        if left is None or right is None or isinstance(left, str) or isinstance(right, str):
            return None
        if expression.operator is MathOperator.ADD:
            return _as_type(left + right, expression.type)
        if expression.operator is MathOperator.SUBTRACT:
            return _as_type(left - right, expression.type)
        if expression.operator is MathOperator.MULTIPLY:
            return _as_type(left * right, expression.type)
        if expression.operator is MathOperator.DIVIDE and expression.type is AttributeType.DOUBLE and right != 0:
            return left / right
    return None


def _as_type(value: bool | float | str, kind: AttributeType) -> bool | int | float | str:
    """Return a value in the range and precision of a type; integers wrap."""
    if kind in _INTEGERS and not isinstance(value, (str, float)):
        least, most = _INTEGERS[kind]
        return (int(value) - least) % (most - least + 1) + least
    if kind is AttributeType.DOUBLE and not isinstance(value, str):
        return float(value)
    if kind is AttributeType.FLOAT and not isinstance(value, str):
        try:
            rounded: float = struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            rounded = math.copysign(math.inf, value)
        return rounded
    return value
