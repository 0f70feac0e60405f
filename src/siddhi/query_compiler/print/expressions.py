"""Print expressions, names and literals as SiddhiQL."""

from __future__ import annotations

import re
import struct
from functools import singledispatch

from siddhi.query_api import (
    And,
    Compare,
    CompareOperator,
    Constant,
    EventIndex,
    Expression,
    FunctionCall,
    In,
    IsNull,
    IsNullStream,
    Math,
    MathOperator,
    Not,
    Or,
    QueryParameter,
    Variable,
)
from siddhi.query_compiler.keywords import AMBIGUOUS, KEYWORDS
from siddhi.query_compiler.time_units import MILLISECONDS
from siddhi.types import AttributeType

__all__ = ["expression_text", "name_text", "string_text", "time_text"]

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
ATOM = 9
Binary = Or | And | Compare | Math
SIGNS: dict[type[Expression], str] = {Or: "or", And: "and"}
LEVELS: dict[type[Expression], int] = {Or: 1, And: 2, In: 3, Not: 8}


def name_text(name: str, *, strict: bool = False) -> str:
    """Return a name, in back quotes where necessary: where it is not plain or ambiguous; ``strict``: for every keyword.

    Raises:
        ValueError: SiddhiQL can't express the name.
    """
    if PLAIN_NAME.match(name) and name.lower() not in (KEYWORDS if strict else AMBIGUOUS):
        return name
    if not name or "`" in name:
        raise ValueError(f"SiddhiQL can't express the name {name!r}: it is empty or contains a back quote")
    return f"`{name}`"


def string_text(value: str) -> str:
    """Return a string literal; SiddhiQL has no escape sequences, so the quotes depend on the value.

    Raises:
        ValueError: SiddhiQL can't express the value.
    """
    has_control = any(char < " " for char in value)
    if not has_control and "'" not in value and '"' not in value:
        return f"'{value}'"
    if not has_control and '"' not in value:
        return f'"{value}"'
    if '"""' in value or value.endswith('"'):
        raise ValueError(f'SiddhiQL can\'t express the string {value!r}: it contains """ or ends with a double quote')
    return f'"""{value}"""'


def time_text(milliseconds: int) -> str:
    """Return a time literal: ``1 min 30 sec`` for 90_000 (milliseconds)."""
    if milliseconds < 0:
        raise ValueError(f"a duration can't be negative: {milliseconds} ms")
    parts = []
    remaining = milliseconds
    for unit, size in MILLISECONDS.items():
        # Months and years have 30 and 365 days: use them only where they are exact.
        count, remaining = divmod(remaining, size) if unit not in ("year", "month", "week") else _exact(remaining, size)
        if count:
            plural = "s" if count > 1 and unit not in ("min", "sec", "millisec") else ""
            parts.append(f"{count} {unit}{plural}")
    return " ".join(parts) or "0 sec"


def _exact(milliseconds: int, size: int) -> tuple[int, int]:
    """Return count and remainder; the count is 0 where the unit does not divide the time exactly."""
    return divmod(milliseconds, size) if milliseconds and milliseconds % size == 0 else (0, milliseconds)


def expression_text(expression: Expression, level: int = 0) -> str:
    """Return an expression, in parentheses if it binds less tightly than ``level``."""
    own = _level(expression)
    text = _text(expression, own)
    return f"({text})" if own < level else text


def _level(expression: Expression) -> int:
    if isinstance(expression, Compare):
        return 4 if expression.operator in (CompareOperator.EQUAL, CompareOperator.NOT_EQUAL) else 5
    if isinstance(expression, Math):
        return 6 if expression.operator in (MathOperator.ADD, MathOperator.SUBTRACT) else 7
    return LEVELS.get(type(expression), ATOM)


@singledispatch
def _text(expression: Expression, _own: int) -> str:
    raise TypeError(f"not an expression of SiddhiQL: {expression!r}")


@_text.register(Or)
@_text.register(And)
@_text.register(Compare)
@_text.register(Math)
def _(expression: Binary, own: int) -> str:
    # All operators are left-associative: a right operand of the same level needs parentheses. A loop walks down a chain
    # such as a or b or c ..., since generated chains can be long.
    tail: list[str] = []
    while True:
        sign = expression.operator.value if isinstance(expression, (Compare, Math)) else SIGNS[type(expression)]
        tail.append(f" {sign} {expression_text(expression.right, own + 1)}")
        left = expression.left
        if not isinstance(left, (Or, And, Compare, Math)) or _level(left) < own:
            return expression_text(left, own) + "".join(reversed(tail))
        expression, own = left, _level(left)


@_text.register
def _(expression: In, own: int) -> str:
    return f"{expression_text(expression.expression, own)} in {name_text(expression.table)}"


@_text.register
def _(expression: Not, own: int) -> str:
    operand = expression.expression
    text = expression_text(operand, own)
    # `not x is null` is valid but misleading; `not -1` begins like a subtraction from an attribute "not".
    needs_parentheses = isinstance(operand, (IsNull, IsNullStream)) or text[0] in "+-"
    return f"not ({text})" if needs_parentheses else f"not {text}"


@_text.register
def _(expression: IsNull, _own: int) -> str:
    operand = expression.expression
    if not isinstance(operand, (Variable, FunctionCall, QueryParameter)):
        raise ValueError("'is null' applies only to references, calls and parameters")
    return f"{_text(operand, ATOM)} is null"


@_text.register
def _(expression: IsNullStream, _own: int) -> str:
    return f"{_qualifier(expression)} is null"


@_text.register
def _(expression: Variable, _own: int) -> str:
    name = name_text(expression.name)
    if expression.source is None:
        return name
    function = ""
    if expression.function_id is not None:
        function = f"#{name_text(expression.function_id)}{_index(expression.function_index)}"
    return f"{_qualifier(expression)}{function}.{name}"


@_text.register
def _(expression: QueryParameter, _own: int) -> str:
    return f":{name_text(expression.name)}"


def _qualifier(node: Variable | IsNullStream) -> str:
    sign = "#" if node.is_inner else "!" if node.is_fault else ""
    return f"{sign}{name_text(node.source or '')}{_index(node.index)}"


def _index(index: EventIndex | None) -> str:
    if index is None:
        return ""
    if not index.from_last:
        return f"[{index.offset}]"
    return f"[last - {index.offset}]" if index.offset else "[last]"


@_text.register
def _(expression: FunctionCall, _own: int) -> str:
    space = "" if expression.namespace is None else name_text(expression.namespace) + ":"
    arguments = "*" if expression.star else ", ".join(map(expression_text, expression.arguments))
    return f"{space}{name_text(expression.name)}({arguments})"


@_text.register
def _(expression: Constant, _own: int) -> str:
    value = expression.value
    if expression.type is AttributeType.STRING and isinstance(value, str):
        return string_text(value)
    if expression.type is AttributeType.BOOL and isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and not isinstance(value, bool):
        if expression.is_time:
            return time_text(value)
        if expression.type in (AttributeType.INT, AttributeType.LONG):
            return f"{value}L" if expression.type is AttributeType.LONG else str(value)
    if isinstance(value, float) and value - value == 0:  # neither infinite nor NaN
        if expression.type is AttributeType.DOUBLE:
            return repr(value)
        if expression.type is AttributeType.FLOAT:
            return f"{_single_digits(value)}f"
    raise ValueError(f"SiddhiQL has no literal for {value!r} of type {expression.type}")


def _single_digits(value: float) -> str:
    """Return the shortest decimal text that reads back as this single."""
    packed = struct.pack("f", value)
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if struct.pack("f", float(text)) == packed:
            return text
    return repr(value)
