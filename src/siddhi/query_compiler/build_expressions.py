"""Builds expressions."""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

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
from siddhi.query_compiler.time_units import MILLISECONDS, WORDS
from siddhi.types import AttributeType

__all__ = ["ExpressionBuilder"]

INT_LIMIT = 1 << 31
LONG_LIMIT = 1 << 63
COMPARE = {operator.value: operator for operator in CompareOperator}
MATH = {operator.value: operator for operator in MathOperator}


class Slot(NamedTuple):
    """What stands before the dot of a reference: ``S``, ``e1[0]``, ``#S``, ``!S``."""

    source: str
    index: EventIndex | None = None
    is_inner: bool = False
    is_fault: bool = False
    function_id: str | None = None
    function_index: EventIndex | None = None


class ExpressionBuilder:
    """One method per rule; ``begin`` and ``end`` are offsets in the text, the rest are the built children."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text

    def span(self, begin: int, end: int) -> Span:
        return self.source.span(begin, end)

    def single_expression(self, begin: int, end: int, expression: Expression) -> Expression:
        return expression

    def parenthesised(self, begin: int, end: int, expression: Expression) -> Expression:
        return expression

    # ---- operators

    def or_(self, begin: int, end: int, left: Expression, right: Expression) -> Expression:
        return Or(left, right, span=self.span(begin, end))

    def and_(self, begin: int, end: int, left: Expression, right: Expression) -> Expression:
        return And(left, right, span=self.span(begin, end))

    def in_(self, begin: int, end: int, expression: Expression, table: str) -> Expression:
        return In(expression, table, span=self.span(begin, end))

    def compare(self, begin: int, end: int, left: Expression, operator: str, right: Expression) -> Expression:
        return Compare(COMPARE[operator], left, right, span=self.span(begin, end))

    def math(self, begin: int, end: int, left: Expression, operator: str, right: Expression) -> Expression:
        return Math(MATH[operator], left, right, span=self.span(begin, end))

    def not_(self, begin: int, end: int, expression: Expression) -> Expression:
        return Not(expression, span=self.span(begin, end))

    def is_null(self, begin: int, end: int, expression: Expression) -> Expression:
        return IsNull(expression, span=self.span(begin, end))

    def is_null_stream(self, begin: int, end: int, slot: Slot) -> Expression:
        return IsNullStream(slot.source, slot.index, slot.is_inner, slot.is_fault, span=self.span(begin, end))

    # ---- literals

    def number(self, begin: int, end: int, *parts: str) -> Expression:
        text = "".join(parts)  # the sign may stand apart from the digits
        suffix = text[-1].lower()
        span = self.span(begin, end)
        if suffix == "f":
            return Constant(self._single(text, begin, end), AttributeType.FLOAT, span=span)
        if suffix == "d" or not text.lstrip("+-").rstrip("lL").isdigit():
            value = float(text.rstrip("dD"))
            if math.isinf(value):
                raise self.source.error(f"the double {text} is out of range", begin, end, code="E102")
            return Constant(value, AttributeType.DOUBLE, span=span)
        is_long = suffix == "l"
        number = int(text.rstrip("lL"))
        limit = LONG_LIMIT if is_long else INT_LIMIT
        if not -limit <= number < limit:
            fits_long = -LONG_LIMIT <= number < LONG_LIMIT
            hint = f"write {text}L for a long (64 bits)" if not is_long and fits_long else None
            kind = "long (64 bits)" if is_long else "int (32 bits)"
            raise self.source.error(f"the number {text} does not fit {kind}", begin, end, code="E102", hint=hint)
        return Constant(number, AttributeType.LONG if is_long else AttributeType.INT, span=span)

    def _single(self, text: str, begin: int, end: int) -> float:
        """The IEEE single nearest to the literal."""
        try:
            value: float = struct.unpack("f", struct.pack("f", float(text[:-1])))[0]
        except OverflowError:
            value = math.inf
        if math.isinf(value):
            raise self.source.error(f"the float {text} is out of range", begin, end, code="E102")
        return value

    def text_(self, begin: int, end: int, value: str) -> Expression:
        return Constant(value, AttributeType.STRING, span=self.span(begin, end))

    def bool_(self, begin: int, end: int, word: str) -> Expression:
        return Constant(word.lower() == "true", AttributeType.BOOL, span=self.span(begin, end))

    def time(self, begin: int, end: int, *parts: str) -> int:
        """``<int> <unit>`` pieces, coarsest first, as milliseconds."""
        total = 0
        previous = None
        order = list(MILLISECONDS)
        for digits, word in zip(parts[::2], parts[1::2], strict=True):
            unit = WORDS[word.lower()]
            if previous is not None and order.index(unit) <= order.index(previous):
                hint = "write the coarsest unit first, each unit once: 1 hour 25 min 30 sec"
                message = f"'{unit}' can't follow '{previous}' in a time"
                raise self.source.error(message, begin, end, code="E103", hint=hint)
            previous = unit
            total += int(digits) * MILLISECONDS[unit]
        if total >= LONG_LIMIT:
            raise self.source.error("the time does not fit long (64 bits of milliseconds)", begin, end, code="E102")
        return total

    def duration(self, begin: int, end: int, milliseconds: int) -> int:
        return milliseconds

    def time_constant(self, begin: int, end: int, milliseconds: int) -> Expression:
        return Constant(milliseconds, AttributeType.LONG, is_time=True, span=self.span(begin, end))

    # ---- calls and references

    def call(
        self, begin: int, end: int, namespace: str | None, name: str, arguments: tuple[Expression, ...] | None
    ) -> FunctionCall:
        span = self.span(begin, end)
        if arguments is None:
            return FunctionCall(name, (), namespace, star=True, span=span)
        return FunctionCall(name, arguments, namespace, span=span)

    def arguments(self, begin: int, end: int, *expressions: Expression) -> tuple[Expression, ...]:
        return expressions

    def all_attributes(self, begin: int, end: int, star: str) -> None:
        """``f(*)``: told from ``f()`` by None."""

    def variable(self, begin: int, end: int, name: str) -> Variable:
        return Variable(name, span=self.span(begin, end))

    def qualified(self, begin: int, end: int, slot: Slot, name: str) -> Variable:
        return Variable(
            name,
            slot.source,
            slot.index,
            slot.is_inner,
            slot.is_fault,
            slot.function_id,
            slot.function_index,
            span=self.span(begin, end),
        )

    def plain_qualifier(
        self, begin: int, end: int, source: str | Slot, function: tuple[str, EventIndex | None] | None = None
    ) -> Slot:
        slot = source if isinstance(source, Slot) else Slot(source)
        return slot if function is None else slot._replace(function_id=function[0], function_index=function[1])

    def indexed_slot(self, begin: int, end: int, source: str, index: EventIndex) -> Slot:
        return Slot(source, index)

    def inner_slot(self, begin: int, end: int, source: str, index: EventIndex | None) -> Slot:
        return Slot(source, index, is_inner=True)

    def fault_slot(self, begin: int, end: int, source: str, index: EventIndex | None) -> Slot:
        return Slot(source, index, is_fault=True)

    def function_qualifier(
        self, begin: int, end: int, name: str, index: EventIndex | None
    ) -> tuple[str, EventIndex | None]:
        return name, index

    def absolute_index(self, begin: int, end: int, digits: str) -> EventIndex:
        return EventIndex(int(digits))

    def last_index(self, begin: int, end: int, back: str | None) -> EventIndex:
        return EventIndex(0 if back is None else int(back), from_last=True)
