"""Expressions, names and literals back to SiddhiQL."""

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
    """A name, in back quotes if it is unusual or can be taken for a keyword; ``strict`` where no keyword may stand.

    Raises:
        ValueError: SiddhiQL has no way to write the name.
    """
    if PLAIN_NAME.match(name) and name.lower() not in (KEYWORDS if strict else AMBIGUOUS):
        return name
    if not name or "`" in name:
        raise ValueError(f"SiddhiQL can't write the name {name!r}: it is empty or holds a back quote")
    return f"`{name}`"


def string_text(value: str) -> str:
    """A string literal; there are no escapes, so the quotes depend on the text.

    Raises:
        ValueError: SiddhiQL has no way to write the text.
    """
    has_control = any(char < " " for char in value)
    if not has_control and "'" not in value and '"' not in value:
        return f"'{value}'"
    if not has_control and '"' not in value:
        return f'"{value}"'
    if '"""' in value or value.endswith('"'):
        raise ValueError(f'SiddhiQL can\'t write the text {value!r}: it holds """ or ends with a double quote')
    return f'"""{value}"""'


def time_text(milliseconds: int) -> str:
    """``1 min 30 sec`` for 90_000 (milliseconds)."""
    if milliseconds < 0:
        raise ValueError(f"a time can't be negative: {milliseconds} ms")
    pieces = []
    rest = milliseconds
    for unit, size in MILLISECONDS.items():
        # Months and years are 30 and 365 days: people who wrote days or weeks do not want to read months.
        count, rest = divmod(rest, size) if unit not in ("year", "month", "week") else _whole(rest, size)
        if count:
            plural = "s" if count > 1 and unit not in ("min", "sec", "millisec") else ""
            pieces.append(f"{count} {unit}{plural}")
    return " ".join(pieces) or "0 sec"


def _whole(rest: int, size: int) -> tuple[int, int]:
    """Coarse units are used only for what they measure exactly."""
    return divmod(rest, size) if rest and rest % size == 0 else (0, rest)


def expression_text(expression: Expression, level: int = 0) -> str:
    """An expression, in parentheses if it binds looser than ``level``."""
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
    # All operators group to the left: on the right an equal level needs parentheses. A chain such as a or b or c ... is
    # walked down in a loop, for people generate long ones.
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
    # `not x is null` is right, but reads as if it were not; `not -1` begins like a subtraction from an attribute "not".
    needs_help = isinstance(operand, (IsNull, IsNullStream)) or text[0] in "+-"
    return f"not ({text})" if needs_help else f"not {text}"


@_text.register
def _(expression: IsNull, _own: int) -> str:
    operand = expression.expression
    if not isinstance(operand, (Variable, FunctionCall)):
        raise ValueError("SiddhiQL can test references and calls for null only")
    return f"{_text(operand, ATOM)} is null"


@_text.register
def _(expression: IsNullStream, _own: int) -> str:
    return f"{_slot(expression)} is null"


@_text.register
def _(expression: Variable, _own: int) -> str:
    name = name_text(expression.name)
    if expression.source is None:
        return name
    function = ""
    if expression.function_id is not None:
        function = f"#{name_text(expression.function_id)}{_index(expression.function_index)}"
    return f"{_slot(expression)}{function}.{name}"


def _slot(node: Variable | IsNullStream) -> str:
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
    """The fewest digits that name this single."""
    packed = struct.pack("f", value)
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if struct.pack("f", float(text)) == packed:
            return text
    return repr(value)
