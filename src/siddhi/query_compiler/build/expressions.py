"""Builds expressions."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from siddhi.errors import SiddhiParserError
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
from siddhi.query_api.span import Span
from siddhi.query_compiler.source import Source
from siddhi.query_compiler.time_units import LONGEST_MS, MILLISECONDS, WORDS
from siddhi.types import AttributeType

__all__ = ["MOST_CHAINED", "MOST_NESTED", "ExpressionBuilder"]

MOST_NESTED = 100
"""Levels of calls, ``not`` and right operands, one inside another. What is walked level by level stays within the
depth that Python allows everywhere; chains such as ``a or b or ...`` are one level, parentheses alone are none."""
MOST_CHAINED = 10_000
"""Operators in a row. Each calls the one before it where it runs, on the stack of the thread."""
N = TypeVar("N")
INT_LIMIT = 1 << 31
LONG_LIMIT = 1 << 63
COMPARE = {operator.value: operator for operator in CompareOperator}
MATH = {operator.value: operator for operator in MathOperator}


class Slot(NamedTuple):
    """What stands before the dot of a reference: ``S``, ``e1[0]``, ``#S``, ``!S``."""

    source: str
    at: EventIndex | None = None
    is_inner: bool = False
    is_fault: bool = False
    function_id: str | None = None
    function_index: EventIndex | None = None


class ExpressionBuilder:
    """One method per rule, called with the values of the rule's children.

    ``begin`` and ``end`` are the offsets of the rule's text; the parser sets them before each call.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.begin = 0
        self.end = 0
        # (height, operators in a row) of what has any, by identity; the node is kept, or its identity could come again
        self._sizes: dict[int, tuple[int, int, object]] = {}

    @property
    def here(self) -> Span:
        """The place of the rule that is being built."""
        return self.source.span(self.begin, self.end)

    @property
    def text(self) -> str:
        """The text of the rule that is being built."""
        return self.source.text[self.begin : self.end]

    def error(self, message: str, *, code: str, hint: str | None = None, span: Span | None = None) -> SiddhiParserError:
        """A syntax error at a place; by default at the rule that is being built."""
        return SiddhiParserError(message, code=code, span=span or self.here, source=self.source.text, hint=hint)

    def single_expression(self, expression: Expression) -> Expression:
        return expression

    def parenthesised(self, expression: Expression) -> Expression:
        return expression

    # ---- operators

    def or_(self, left: Expression, right: Expression) -> Expression:
        return self._chained(Or(left, right, span=self.here), left, right)

    def and_(self, left: Expression, right: Expression) -> Expression:
        return self._chained(And(left, right, span=self.here), left, right)

    def in_(self, expression: Expression, table: str) -> Expression:
        return self.above(In(expression, table, span=self.here), (expression,))

    def compare(self, left: Expression, operator: str, right: Expression) -> Expression:
        return self._chained(Compare(COMPARE[operator], left, right, span=self.here), left, right)

    def math(self, left: Expression, operator: str, right: Expression) -> Expression:
        return self._chained(Math(MATH[operator], left, right, span=self.here), left, right)

    def not_(self, expression: Expression) -> Expression:
        return self.above(Not(expression, span=self.here), (expression,))

    def is_null(self, expression: Expression) -> Expression:
        return self.above(IsNull(expression, span=self.here), (expression,))

    def _chained(self, node: Expression, left: Expression, right: Expression) -> Expression:
        """An operator with two operands: it stands as high as its left one, with which it makes a chain."""
        height, length, _ = self._sizes.get(id(left), (0, 0, left))
        below = self._sizes.get(id(right))
        return self._sized(node, height if below is None else max(height, below[0] + 1), length + 1)

    def above(self, node: N, parts: Sequence[object]) -> N:
        """What stands one level above its parts.

        Raises:
            SiddhiParserError: there are too many levels.
        """
        height = 0
        for part in parts:
            below = self._sizes.get(id(part))
            if below is not None and below[0] > height:
                height = below[0]
        return self._sized(node, height + 1, 0)

    def _sized(self, node: N, height: int, length: int) -> N:
        if height > MOST_NESTED:
            hint = "do the inner part in a query before this one"
            raise self.error(f"more than {MOST_NESTED} levels, one inside another", code="E116", hint=hint)
        if length > MOST_CHAINED:
            hint = "look values up in a table (... in T), or spread the operands over several queries"
            raise self.error(f"more than {MOST_CHAINED:,} operators in a row", code="E116", hint=hint)
        self._sizes[id(node)] = (height, length, node)
        return node

    def is_null_stream(self, slot: Slot) -> Expression:
        return IsNullStream(slot.source, slot.at, slot.is_inner, slot.is_fault, span=self.here)

    # ---- literals

    def number(self, *parts: str) -> Expression:
        text = "".join(parts)  # the sign may stand apart from the digits
        suffix = text[-1].lower()
        span = self.here
        if suffix == "f":
            return Constant(self._single(text), AttributeType.FLOAT, span=span)
        if suffix == "d" or not text.lstrip("+-").rstrip("lL").isdigit():
            value = float(text.rstrip("dD"))
            if math.isinf(value):
                raise self.error(f"the double {text} is out of range", code="E102")
            return Constant(value, AttributeType.DOUBLE, span=span)
        if suffix == "l":
            return Constant(self.integer(text[:-1], LONG_LIMIT), AttributeType.LONG, span=span)
        return Constant(self.integer(text, or_long=True), AttributeType.INT, span=span)

    def integer(self, text: str, limit: int = INT_LIMIT, *, or_long: bool = False) -> int:
        """The value of digits with an optional sign; at least ``-limit`` and below ``limit``.

        ``or_long`` tells that a long could stand here as well.
        """
        # Python refuses to read thousands of digits; 20 are more than any limit here has.
        value = int(text) if len(text.lstrip("+-0")) <= 20 else LONG_LIMIT * 10
        if -limit <= value < limit:
            return value
        shown = text if len(text) <= 24 else f"{text[:20]}..."
        if limit == LONG_LIMIT:
            raise self.error(f"the number {shown} does not fit long (64 bits)", code="E102")
        hint = f"write {text}L for a long (64 bits)" if or_long and -LONG_LIMIT <= value < LONG_LIMIT else None
        raise self.error(f"the number {shown} does not fit int (32 bits)", code="E102", hint=hint)

    def _single(self, text: str) -> float:
        """The IEEE single nearest to the literal."""
        try:
            value: float = struct.unpack("f", struct.pack("f", float(text[:-1])))[0]
        except OverflowError:
            value = math.inf
        if math.isinf(value):
            raise self.error(f"the float {text} is out of range", code="E102")
        return value

    def text_(self, value: str) -> Expression:
        return Constant(value, AttributeType.STRING, span=self.here)

    def bool_(self, word: str) -> Expression:
        return Constant(word.lower() == "true", AttributeType.BOOL, span=self.here)

    def time(self, *parts: str) -> int:
        """``<int> <unit>`` pieces, coarsest first, as milliseconds."""
        total = 0
        previous = None
        order = list(MILLISECONDS)
        for digits, word in zip(parts[::2], parts[1::2], strict=True):
            unit = WORDS[word.lower()]
            if previous is not None and order.index(unit) <= order.index(previous):
                hint = "write the coarsest unit first, each unit once: 1 hour 25 min 30 sec"
                message = f"'{unit}' can't follow '{previous}' in a time"
                raise self.error(message, code="E103", hint=hint)
            previous = unit
            total += self.integer(digits, LONG_LIMIT) * MILLISECONDS[unit]
        if total > LONGEST_MS:
            hint = "write 146000000 years or less"
            raise self.error("the time is too long: at most 2^62 - 1 milliseconds", code="E102", hint=hint)
        return total

    def duration(self, milliseconds: int) -> int:
        return milliseconds

    def time_constant(self, milliseconds: int) -> Expression:
        return Constant(milliseconds, AttributeType.LONG, is_time=True, span=self.here)

    # ---- calls and references

    def call(self, namespace: str | None, name: str, arguments: tuple[Expression, ...] | None) -> FunctionCall:
        span = self.here
        if arguments is None:
            return FunctionCall(name, (), namespace, star=True, span=span)
        return self.above(FunctionCall(name, arguments, namespace, span=span), arguments)

    def arguments(self, *expressions: Expression) -> tuple[Expression, ...]:
        return expressions

    def all_attributes(self) -> None:
        """``f(*)``: told from ``f()`` by None."""

    def variable(self, name: str) -> Variable:
        return Variable(name, span=self.here)

    def qualified(self, slot: Slot, name: str) -> Variable:
        return Variable(
            name,
            slot.source,
            slot.at,
            slot.is_inner,
            slot.is_fault,
            slot.function_id,
            slot.function_index,
            span=self.here,
        )

    def plain_qualifier(self, source: str | Slot, function: tuple[str, EventIndex | None] | None = None) -> Slot:
        slot = source if isinstance(source, Slot) else Slot(source)
        return slot if function is None else slot._replace(function_id=function[0], function_index=function[1])

    def indexed_slot(self, source: str, index: EventIndex) -> Slot:
        return Slot(source, index)

    def inner_slot(self, source: str, index: EventIndex | None) -> Slot:
        return Slot(source, index, is_inner=True)

    def fault_slot(self, source: str, index: EventIndex | None) -> Slot:
        return Slot(source, index, is_fault=True)

    def function_qualifier(self, name: str, index: EventIndex | None) -> tuple[str, EventIndex | None]:
        return name, index

    def absolute_index(self, digits: str) -> EventIndex:
        return EventIndex(self.integer(digits))

    def last_index(self, back: str | None) -> EventIndex:
        return EventIndex(0 if back is None else self.integer(back), from_last=True)
