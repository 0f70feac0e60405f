"""Typed expressions as Catalyst columns with Siddhi's results, in ANSI mode and without.

Nothing depends on Spark's coercion or overflow rules: operands are cast, wrapping is computed, and a zero divisor becomes
null first. :mod:`siddhi.spark.plan.catalyst_expressions` decides which expressions can be lowered.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from siddhi.planner.plan.expressions import (
    And,
    Arithmetic,
    Attr,
    Call,
    Comparison,
    Const,
    IsNull,
    Not,
    Or,
    TypedExpression,
    Widen,
)
from siddhi.planner.plan.walk import walk
from siddhi.query_api.expression import CompareOperator, MathOperator
from siddhi.types import AttributeType

__all__ = ["SPARK_TYPES", "Lowering", "keeps", "matches", "wrap_decimal"]

_INT, _LONG, _FLOAT, _DOUBLE = AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT, AttributeType.DOUBLE
_BOOL, _STRING = AttributeType.BOOL, AttributeType.STRING

SPARK_TYPES = {_INT: "int", _LONG: "bigint", _FLOAT: "float", _DOUBLE: "double", _BOOL: "boolean", _STRING: "string"}
"""Spark's name of each type that can leave the engine."""

_INSTANCE_TYPES = {
    "instanceOfBoolean": _BOOL,
    "instanceOfDouble": _DOUBLE,
    "instanceOfFloat": _FLOAT,
    "instanceOfInteger": _INT,
    "instanceOfLong": _LONG,
    "instanceOfString": _STRING,
}


class Lowering:
    """Lowers expressions.

    Args:
        attribute: returns the column of an attribute.
        timestamp: column of event time in ms, for ``eventTimestamp()`` and the clock.
    """

    def __init__(self, attribute: Callable[[Attr], Column], timestamp: Column | None = None) -> None:
        self._attribute = attribute
        self._timestamp = timestamp

    def __call__(self, expression: TypedExpression) -> Column:
        """Return the column of an expression that Catalyst can compute."""
        return _RULES[type(expression)](self, expression)

    def call(self, node: Call) -> Column:
        """Return a function; a null result of a bool function is false, as in the engine."""
        column = self._call(node)
        return keeps(column) if node.type is _BOOL else column

    def _call(self, node: Call) -> Column:
        name = node.function.builtin
        arguments = node.arguments
        if name in ("convert", "cast"):
            return _convert(self(arguments[0]), arguments[0].type, node.type)
        if name in _INSTANCE_TYPES:
            if arguments[0].type is not _INSTANCE_TYPES[name]:
                return F.lit(False)
            return self(arguments[0]).isNotNull()
        if name in ("eventTimestamp", "currentTimeMillis"):  # the clock is at the event's time
            assert self._timestamp is not None
            return self._timestamp
        columns = [self(argument) for argument in arguments]
        if name == "ifThenElse":
            return F.when(keeps(columns[0]), columns[1]).otherwise(columns[2])
        if name in ("maximum", "minimum"):
            if len(columns) == 1:
                return columns[0]
            return F.greatest(*columns) if name == "maximum" else F.least(*columns)
        assert name in ("coalesce", "default"), name
        return F.coalesce(*columns)


def keeps(condition: Column) -> Column:
    """Return a two-valued condition: null counts as false."""
    return F.coalesce(condition, F.lit(False))


def matches(lower: Lowering, expression: TypedExpression) -> Column:
    """Return a condition whose null counts as false; its comparisons stay plain, for hash joins and pushdown to files."""
    if isinstance(expression, And):
        return matches(lower, expression.left) & matches(lower, expression.right)
    if isinstance(expression, Comparison) and _found_in_files(expression):
        return _compared(lower, expression)
    return keeps(lower(expression))


def _found_in_files(node: Comparison) -> bool:
    """Return whether file readers that evaluate a comparison find every matching row.

    Parquet and ORC order -0.0 before 0.0, so ``>= 0.0`` and ``== 0.0`` would miss -0.0. With ``>`` they return too many rows, which
    are filtered again.
    """
    operator = node.operator
    if operator is CompareOperator.NOT_EQUAL:
        return False
    if node.operand_type not in (_FLOAT, _DOUBLE) or operator in (CompareOperator.GREATER, CompareOperator.LESS):
        return True
    return not any(_may_be_zero(side) for side in (node.left, node.right))


def _may_be_zero(side: TypedExpression) -> bool:
    """Return whether an expression is one value for all rows that may be zero."""
    while isinstance(side, Widen):
        side = side.operand
    if isinstance(side, Const):
        return not side.value
    return not any(isinstance(node, Attr) for node in walk(side))


# --- numbers


def _wrap_int(value: Column) -> Column:
    """Return the low 32 bits of a long."""
    return F.shiftright(F.shiftleft(value, 32), 32).cast("int")


_TWO_63, _TWO_64 = "9223372036854775808", "18446744073709551616"


def _decimal(text: str) -> Column:
    return F.lit(text).cast("decimal(20,0)")


def wrap_decimal(value: Column) -> Column:
    """Return the low 64 bits of a decimal(38,0)."""
    shifted = (value + _decimal(_TWO_63)).cast("decimal(38,0)")
    return (F.pmod(shifted, _decimal(_TWO_64)).cast("decimal(38,0)") - _decimal(_TWO_63)).cast("bigint")


def _quotient(left: Column, right: Column) -> Column:
    return F.call_function("div", left, right)


def _nullif_zero(value: Column, type_: AttributeType) -> Column:
    return F.nullif(value, F.lit(0).cast(SPARK_TYPES[type_]))


def _int_arithmetic(operator: MathOperator, left: Column, right: Column) -> Column:
    if operator is MathOperator.MOD:
        return left % _nullif_zero(right, _INT)
    wide, other = left.cast("bigint"), right.cast("bigint")
    if operator is MathOperator.ADD:
        return _wrap_int(wide + other)
    if operator is MathOperator.SUBTRACT:
        return _wrap_int(wide - other)
    if operator is MathOperator.MULTIPLY:
        return _wrap_int(wide * other)
    return _wrap_int(_quotient(wide, _nullif_zero(other, _LONG)))


_TRY: dict[MathOperator, Callable[[Column, Column], Column]] = {
    MathOperator.ADD: F.try_add,
    MathOperator.SUBTRACT: F.try_subtract,
    MathOperator.MULTIPLY: F.try_multiply,
}
_EXACTLY: dict[MathOperator, Callable[[Any, Any], Column]] = {
    MathOperator.ADD: lambda a, b: a + b,
    MathOperator.SUBTRACT: lambda a, b: a - b,
    MathOperator.MULTIPLY: lambda a, b: a * b,
}


def _long_arithmetic(operator: MathOperator, left: Column, right: Column) -> Column:
    if operator is MathOperator.MOD:
        return left % _nullif_zero(right, _LONG)
    if operator is MathOperator.DIVIDE:
        # MIN / -1 is MIN: the one quotient that overflows.
        negated = F.coalesce(F.try_subtract(F.lit(0).cast("bigint"), left), left)
        return F.when(right == F.lit(-1), negated).otherwise(_quotient(left, _nullif_zero(right, _LONG)))
    tried = _TRY[operator](left, right)
    # Null means overflow or a null operand; the product of two longs has at most 38 digits.
    exact = _EXACTLY[operator](left.cast("decimal(20,0)"), right.cast("decimal(20,0)")).cast("decimal(38,0)")
    return F.coalesce(tried, F.when(left.isNotNull() & right.isNotNull(), wrap_decimal(exact)))


def _floating_arithmetic(operator: MathOperator, left: Column, right: Column, type_: AttributeType) -> Column:
    if operator is MathOperator.ADD:
        result = left + right
    elif operator is MathOperator.SUBTRACT:
        result = left - right
    elif operator is MathOperator.MULTIPLY:
        result = left * right
    elif operator is MathOperator.DIVIDE:
        result = left / _nullif_zero(right, type_)  # in double, which rounds quotients of singles alike
    else:
        result = left % _nullif_zero(right, type_)
    return result.cast(SPARK_TYPES[type_])


def _arithmetic(lower: Lowering, node: Arithmetic) -> Column:
    left, right = lower(node.left), lower(node.right)
    if node.type is _INT:
        return _int_arithmetic(node.operator, left, right)
    if node.type is _LONG:
        return _long_arithmetic(node.operator, left, right)
    return _floating_arithmetic(node.operator, left, right, node.type)


def _constant(_: Lowering, node: Const) -> Column:
    if node.type is _LONG or node.type is _INT:
        # Python ints have no width, and the literal MIN is not a negated positive number.
        return F.lit(str(node.value)).cast(SPARK_TYPES[node.type])
    return F.lit(node.value).cast(SPARK_TYPES[node.type])


# --- conditions

_COMPARE: dict[CompareOperator, Callable[[Column, Column], Column]] = {
    CompareOperator.LESS: lambda a, b: a < b,
    CompareOperator.LESS_EQUAL: lambda a, b: a <= b,
    CompareOperator.GREATER: lambda a, b: a > b,
    CompareOperator.GREATER_EQUAL: lambda a, b: a >= b,
    CompareOperator.EQUAL: lambda a, b: a == b,
    CompareOperator.NOT_EQUAL: lambda a, b: a != b,
}


def _comparison(lower: Lowering, node: Comparison) -> Column:
    differs = node.operator is CompareOperator.NOT_EQUAL
    return F.coalesce(_compared(lower, node), F.lit(differs))


def _compared(lower: Lowering, node: Comparison) -> Column:
    """Return a comparison that is null if an operand is."""
    left, right = lower(node.left), lower(node.right)
    compared = _COMPARE[node.operator](left, right)
    differs = node.operator is CompareOperator.NOT_EQUAL
    if node.operand_type in (_FLOAT, _DOUBLE):
        # For Spark, NaN equals itself and is the greatest number.
        for operand, column in ((node.left, left), (node.right, right)):
            if isinstance(operand, Const) and operand.value == operand.value:
                continue
            compared = (compared | F.isnan(column)) if differs else (compared & ~F.isnan(column))
    return compared


def _in_scope(lower: Lowering, node: Attr) -> Column:
    return lower._attribute(node)


# --- conversions


def _convert(value: Column, source: AttributeType, target: AttributeType) -> Column:
    if target is _BOOL:
        if source is _STRING:
            return keeps(value.rlike(r"\A[tT][rR][uU][eE]\z"))
        return keeps(value) if source is _BOOL else keeps(value == F.lit(1).cast(SPARK_TYPES[source]))
    if source is target:
        return value
    if target is _STRING:
        if source is _BOOL:
            return F.when(value.isNull(), F.lit(None)).when(value, F.lit("true")).otherwise(F.lit("false"))
        return value.cast("string")
    if source is _BOOL:
        return F.when(value.isNull(), F.lit(None)).when(value, F.lit(1)).otherwise(F.lit(0)).cast(SPARK_TYPES[target])
    if source is _STRING:
        return _parsed(value, target)
    if target is _INT and source is _LONG:
        return _wrap_int(value)
    if target in (_INT, _LONG) and source in (_FLOAT, _DOUBLE):
        return _saturated(value, target)
    return _widened(value, source, target)


def _widened(value: Column, source: AttributeType, target: AttributeType) -> Column:
    wide = value.cast(SPARK_TYPES[target])
    if target is _FLOAT and source in (_INT, _LONG):
        # Catalyst merges a cast to single with one on to double, but not after a sum.
        return wide + F.lit(0.0).cast("float")
    return wide


def _saturated(value: Column, target: AttributeType) -> Column:
    """Return a floating-point number as an integer: truncated, NaN is 0, saturated at the limits."""
    bits = 32 if target is _INT else 64
    least, most = F.lit(-(2.0 ** (bits - 1))), F.lit(2.0 ** (bits - 1))
    name = SPARK_TYPES[target]
    double = value.cast("double")
    return (
        F.when(F.isnan(double), F.lit(0).cast(name))
        .when(double >= most, F.lit(str(2 ** (bits - 1) - 1)).cast(name))
        .when(double <= least, F.lit(str(-(2 ** (bits - 1)))).cast(name))
        .otherwise(double.cast(name))
    )


@functools.cache
def _digits() -> tuple[str, str]:
    """Return the decimal digits of all scripts that Java reads, one UTF-16 unit each, and their values."""
    found = [
        (chr(code), str(unicodedata.decimal(chr(code))))
        for code in range(0x80, 0x10000)
        if unicodedata.decimal(chr(code), None) is not None
    ]
    return "".join(digit for digit, _ in found), "".join(value for _, value in found)


def _parsed(text: Column, target: AttributeType) -> Column:
    """Return text as an integer: an optional sign and digits of any script, nothing else."""
    name = SPARK_TYPES[target]
    digits, values = _digits()
    ascii_only = text.rlike(r"\A[+-]?[0-9]+\z")
    plain = F.translate(text, digits, values)
    return F.when(ascii_only, text.try_cast(name)).when(plain.rlike(r"\A[+-]?[0-9]+\z"), plain.try_cast(name))


_RULES: dict[type[TypedExpression], Callable[[Lowering, Any], Column]] = {
    Const: _constant,
    Attr: _in_scope,
    Widen: lambda lower, node: _widened(lower(node.operand), node.operand.type, node.type),
    Arithmetic: _arithmetic,
    Comparison: _comparison,
    And: lambda lower, node: keeps(lower(node.left)) & keeps(lower(node.right)),
    Or: lambda lower, node: keeps(lower(node.left)) | keeps(lower(node.right)),
    Not: lambda lower, node: ~keeps(lower(node.operand)),
    IsNull: lambda lower, node: lower(node.operand).isNull(),
    Call: lambda lower, node: lower.call(node),
}
