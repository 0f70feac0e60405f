"""Builder of expressions."""

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
    QueryParameter,
    Variable,
)
from siddhi.query_api.span import Span
from siddhi.query_compiler.source import Source
from siddhi.query_compiler.time_units import LONGEST_MS, MILLISECONDS, UNIT_NAMES
from siddhi.types import AttributeType

__all__ = ["MOST_CHAINED", "MOST_NESTED", "ExpressionBuilder"]

MOST_NESTED = 100
"""Depth limit for nested calls, ``not`` and right operands. Recursion over an expression stays within the stack
depth that every platform allows. A chain such as ``a or b or ...`` counts as one level, parentheses do not count."""
MOST_CHAINED = 10_000
"""Limit for the operators of one chain. The executor of each calls that of the one before it, on the thread's stack."""
N = TypeVar("N")
INT_LIMIT = 1 << 31
LONG_LIMIT = 1 << 63
COMPARE = {operator.value: operator for operator in CompareOperator}
MATH = {operator.value: operator for operator in MathOperator}


class Qualifier(NamedTuple):
    """The part of a reference before its dot: ``S``, ``e1[0]``, ``#S``, ``!S``."""

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
        # (height, operators of the chain, node) by id(node); the node is retained so that its id is not reused
        self._sizes: dict[int, tuple[int, int, object]] = {}

    @property
    def here(self) -> Span:
        """The span of the rule that is being built."""
        return self.source.span(self.begin, self.end)

    @property
    def text(self) -> str:
        """The text of the rule that is being built."""
        return self.source.text[self.begin : self.end]

    def error(self, message: str, *, code: str, hint: str | None = None, span: Span | None = None) -> SiddhiParserError:
        """Return a syntax error at a span, by default that of the rule that is being built."""
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
        """Return a binary operator; it has the height of its left operand, with which it forms a chain."""
        height, length, _ = self._sizes.get(id(left), (0, 0, left))
        below = self._sizes.get(id(right))
        return self._sized(node, height if below is None else max(height, below[0] + 1), length + 1)

    def above(self, node: N, parts: Sequence[object]) -> N:
        """Return a node, recorded one level above its parts.

        Raises:
            SiddhiParserError: the nesting is too deep.
        """
        height = 0
        for part in parts:
            below = self._sizes.get(id(part))
            if below is not None and below[0] > height:
                height = below[0]
        return self._sized(node, height + 1, 0)

    def _sized(self, node: N, height: int, length: int) -> N:
        if height > MOST_NESTED:
            hint = "compute the inner part in an earlier query"
            raise self.error(f"nesting is too deep: more than {MOST_NESTED} levels", code="E116", hint=hint)
        if length > MOST_CHAINED:
            hint = "look the values up in a table (... in T), or split the expression over several queries"
            raise self.error(f"expression is too long: more than {MOST_CHAINED:,} operators in a row", code="E116", hint=hint)
        self._sizes[id(node)] = (height, length, node)
        return node

    def is_null_stream(self, qualifier: Qualifier) -> Expression:
        return IsNullStream(qualifier.source, qualifier.at, qualifier.is_inner, qualifier.is_fault, span=self.here)

    # ---- literals

    def number(self, *parts: str) -> Expression:
        text = "".join(parts)  # white space may separate the sign from the digits
        suffix = text[-1].lower()
        span = self.here
        if suffix == "f":
            return Constant(self._single(text), AttributeType.FLOAT, span=span)
        if suffix == "d" or not text.lstrip("+-").rstrip("lL").isdigit():
            value = float(text.rstrip("dD"))
            if math.isinf(value):
                raise self.error(f"the number {text} is out of range for double", code="E102")
            return Constant(value, AttributeType.DOUBLE, span=span)
        if suffix == "l":
            return Constant(self.integer(text[:-1], LONG_LIMIT), AttributeType.LONG, span=span)
        return Constant(self.integer(text, or_long=True), AttributeType.INT, span=span)

    def integer(self, text: str, limit: int = INT_LIMIT, *, or_long: bool = False) -> int:
        """Return the value of digits with an optional sign; it must be at least ``-limit`` and below ``limit``.

        ``or_long`` says that a long is allowed here as well.
        """
        # Python rejects thousands of digits; 20 are more than any limit here has.
        value = int(text) if len(text.lstrip("+-0")) <= 20 else LONG_LIMIT * 10
        if -limit <= value < limit:
            return value
        shown = text if len(text) <= 24 else f"{text[:20]}..."
        if limit == LONG_LIMIT:
            raise self.error(f"the number {shown} is out of range for long (64 bits)", code="E102")
        hint = f"write {text}L for a long (64 bits)" if or_long and -LONG_LIMIT <= value < LONG_LIMIT else None
        raise self.error(f"the number {shown} is out of range for int (32 bits)", code="E102", hint=hint)

    def _single(self, text: str) -> float:
        """Return the IEEE single nearest to the literal."""
        try:
            value: float = struct.unpack("f", struct.pack("f", float(text[:-1])))[0]
        except OverflowError:
            value = math.inf
        if math.isinf(value):
            raise self.error(f"the number {text} is out of range for float", code="E102")
        return value

    def text_(self, value: str) -> Expression:
        return Constant(value, AttributeType.STRING, span=self.here)

    def bool_(self, word: str) -> Expression:
        return Constant(word.lower() == "true", AttributeType.BOOL, span=self.here)

    def time(self, *parts: str) -> int:
        """Return the milliseconds of ``<int> <unit>`` parts, coarsest unit first."""
        total = 0
        previous = None
        order = list(MILLISECONDS)
        for digits, word in zip(parts[::2], parts[1::2], strict=True):
            unit = UNIT_NAMES[word.lower()]
            if previous is not None and order.index(unit) <= order.index(previous):
                hint = "write the coarsest unit first, each unit once: 1 hour 25 min 30 sec"
                message = f"'{unit}' can't follow '{previous}' in a duration"
                raise self.error(message, code="E103", hint=hint)
            previous = unit
            total += self.integer(digits, LONG_LIMIT) * MILLISECONDS[unit]
        if total > LONGEST_MS:
            hint = "write 146000000 years or less"
            raise self.error("the duration is too long: at most 2^62 - 1 milliseconds", code="E102", hint=hint)
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
        """Return None, which distinguishes ``f(*)`` from ``f()``."""

    def parameter(self, name: str) -> QueryParameter:
        return QueryParameter(name, span=self.here)

    def variable(self, name: str) -> Variable:
        return Variable(name, span=self.here)

    def qualified(self, qualifier: Qualifier, name: str) -> Variable:
        return Variable(
            name,
            qualifier.source,
            qualifier.at,
            qualifier.is_inner,
            qualifier.is_fault,
            qualifier.function_id,
            qualifier.function_index,
            span=self.here,
        )

    def plain_qualifier(self, source: str | Qualifier, function: tuple[str, EventIndex | None] | None = None) -> Qualifier:
        qualifier = source if isinstance(source, Qualifier) else Qualifier(source)
        return qualifier if function is None else qualifier._replace(function_id=function[0], function_index=function[1])

    def indexed_qualifier(self, source: str, index: EventIndex) -> Qualifier:
        return Qualifier(source, index)

    def inner_qualifier(self, source: str, index: EventIndex | None) -> Qualifier:
        return Qualifier(source, index, is_inner=True)

    def fault_qualifier(self, source: str, index: EventIndex | None) -> Qualifier:
        return Qualifier(source, index, is_fault=True)

    def function_qualifier(self, name: str, index: EventIndex | None) -> tuple[str, EventIndex | None]:
        return name, index

    def absolute_index(self, digits: str) -> EventIndex:
        return EventIndex(self.integer(digits))

    def last_index(self, back: str | None) -> EventIndex:
        return EventIndex(0 if back is None else self.integer(back), from_last=True)
