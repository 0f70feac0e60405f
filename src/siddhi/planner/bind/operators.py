"""Bind operators: the type they compute in, and the operands they accept."""

from __future__ import annotations

import struct

from siddhi.planner.plan.expressions import (
    And,
    Arithmetic,
    Comparison,
    Const,
    Not,
    Or,
    TypedExpression,
    Widen,
)
from siddhi.planner.problems import a_type, creation_error, located
from siddhi.query_api import expression as api
from siddhi.query_api.expression import CompareOperator
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

__all__ = ["arithmetic", "comparison", "conjunction", "constant", "disjunction", "negation", "require_bool", "widen"]

_WIDTH = {AttributeType.INT: 0, AttributeType.LONG: 1, AttributeType.FLOAT: 2, AttributeType.DOUBLE: 3}
_BY_WIDTH = (AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT, AttributeType.DOUBLE)
_EQUALITY = (CompareOperator.EQUAL, CompareOperator.NOT_EQUAL)
_EXACT_IN_DOUBLE = 1 << 53


def constant(node: api.Constant) -> Const:
    """Return a typed literal; a float literal has single precision."""
    value = node.value
    if node.type is AttributeType.FLOAT:
        value = _single(float(value))
    elif node.type is AttributeType.DOUBLE:
        value = float(value)
    return Const(node.type, value)


def widen(operand: TypedExpression, to: AttributeType) -> TypedExpression:
    """Return the operand as type ``to``; widen a literal at once where that is exact."""
    if operand.type is to:
        return operand
    if isinstance(operand, Const) and isinstance(operand.value, (int, float)):
        if to is AttributeType.LONG:
            return Const(to, operand.value)
        if abs(operand.value) <= _EXACT_IN_DOUBLE or operand.type is AttributeType.FLOAT:
            value = float(operand.value)
            return Const(to, _single(value) if to is AttributeType.FLOAT else value)
    return Widen(to, operand)


def arithmetic(node: api.Math, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Bind ``+ - * / %`` in the wider of the two numeric types."""
    for operand, written in ((left, node.left), (right, node.right)):
        if operand.type not in _WIDTH:
            hint = None
            if operand.type is AttributeType.OBJECT:
                hint = "if the object is a number, cast it: cast(..., 'double')"
            elif operand.type is AttributeType.STRING:
                hint = "if the string is a number, convert it: convert(..., 'double')"
            raise creation_error(
                "E310",
                f"'{node.operator.value}' requires numbers, not {a_type(operand.type)} "
                f"({left.type} {node.operator.value} {right.type})",
                located(written, node),
                hint,
            )
    result = _BY_WIDTH[max(_WIDTH[left.type], _WIDTH[right.type])]
    return Arithmetic(result, node.operator, widen(left, result), widen(right, result))


def comparison(node: api.Compare, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Bind a comparison: numbers with numbers; equality also of strings and bools."""
    operator = node.operator
    if left.type in _WIDTH and right.type in _WIDTH:
        width = max(_WIDTH[left.type], _WIDTH[right.type])
        operand_type = _BY_WIDTH[width]
        # Equality of a long and a float compares doubles, their order compares floats.
        if operator in _EQUALITY and {left.type, right.type} == {AttributeType.LONG, AttributeType.FLOAT}:
            operand_type = AttributeType.DOUBLE
        return Comparison(
            AttributeType.BOOL, operator, operand_type, widen(left, operand_type), widen(right, operand_type)
        )
    if operator in _EQUALITY and left.type is right.type and left.type is not AttributeType.OBJECT:
        return Comparison(AttributeType.BOOL, operator, left.type, left, right)
    hint = None
    if AttributeType.OBJECT in (left.type, right.type):
        hint = "cast the object to its type: cast(..., 'string')"
    elif left.type is right.type:
        hint = f"values of type {left.type} can be compared only with == and !="
    elif AttributeType.STRING in (left.type, right.type):
        hint = "convert one of them: convert(..., 'string')"
    raise creation_error("E310", f"cannot compare {left.type} {operator.value} {right.type}", node, hint)


def conjunction(node: api.And, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Bind ``and``."""
    _require_bools("and", (left, right), (node.left, node.right), node)
    return And(AttributeType.BOOL, left, right)


def disjunction(node: api.Or, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Bind ``or``."""
    _require_bools("or", (left, right), (node.left, node.right), node)
    return Or(AttributeType.BOOL, left, right)


def negation(node: api.Not, operand: TypedExpression) -> TypedExpression:
    """Bind ``not``."""
    if operand.type is not AttributeType.BOOL:
        raise creation_error(
            "E311",
            f"'not' requires a bool, not {a_type(operand.type)}",
            node,
            "'not' binds tighter than any operator: write not (...)",
        )
    return Not(AttributeType.BOOL, operand)


def require_bool(what: str, expression: TypedExpression, at: Node) -> TypedExpression:
    """Return the expression, which must be a bool; ``what`` names it in the message."""
    if expression.type is not AttributeType.BOOL:
        raise creation_error("E311", f"{what} must be a bool, not {a_type(expression.type)}", at)
    return expression


def _require_bools(
    word: str, operands: tuple[TypedExpression, ...], written: tuple[api.Expression, ...], node: Node
) -> None:
    for operand, location in zip(operands, written, strict=True):
        if operand.type is not AttributeType.BOOL:
            raise creation_error(
                "E311",
                f"'{word}' requires bools, not {a_type(operand.type)}",
                located(location, node),
            )


def _single(value: float) -> float:
    """Return the nearest number of single precision."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
