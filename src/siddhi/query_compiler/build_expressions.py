"""Builds expressions."""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

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
        return Or(left, right, span=self.here)

    def and_(self, left: Expression, right: Expression) -> Expression:
        return And(left, right, span=self.here)

    def in_(self, expression: Expression, table: str) -> Expression:
        return In(expression, table, span=self.here)

    def compare(self, left: Expression, operator: str, right: Expression) -> Expression:
        return Compare(COMPARE[operator], left, right, span=self.here)

    def math(self, left: Expression, operator: str, right: Expression) -> Expression:
        return Math(MATH[operator], left, right, span=self.here)

    def not_(self, expression: Expression) -> Expression:
        return Not(expression, span=self.here)

    def is_null(self, expression: Expression) -> Expression:
        return IsNull(expression, span=self.here)

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
        if total >= LONG_LIMIT:
            raise self.error("the time does not fit long (64 bits of milliseconds)", code="E102")
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
        return FunctionCall(name, arguments, namespace, span=span)

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
