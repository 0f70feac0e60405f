"""Expressions, as written: nothing is resolved or typed yet."""

from __future__ import annotations

from enum import Enum

from siddhi._frozen import frozen
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

__all__ = [
    "And",
    "Compare",
    "CompareOperator",
    "Constant",
    "EventIndex",
    "Expression",
    "FunctionCall",
    "In",
    "IsNull",
    "IsNullStream",
    "Math",
    "MathOperator",
    "Not",
    "Or",
    "Variable",
]


@frozen
class Expression(Node):
    """Base of all expressions."""


@frozen
class Constant(Expression):
    """A literal. ``is_time`` marks a time literal (``5 sec``), a LONG of milliseconds."""

    value: bool | int | float | str
    type: AttributeType
    is_time: bool = False


@frozen
class EventIndex:
    """``[i]`` (``offset=i, from_last=False``), ``[last]`` (``0, True``) or ``[last - k]`` (``k, True``)."""

    offset: int
    from_last: bool = False


@frozen
class Variable(Expression):
    """An attribute reference: ``name``, ``source.name``, ``source[index].name``, ``#inner.name``, ``!fault.name``.

    ``function_id``/``function_index`` hold the ``#f[i]`` qualifier, which parses and has no effect.
    A bare event reference as a function argument (``eventTimestamp(e1)``) is a Variable with only a name.
    """

    name: str
    source: str | None = None
    index: EventIndex | None = None
    is_inner: bool = False
    is_fault: bool = False
    function_id: str | None = None
    function_index: EventIndex | None = None


class MathOperator(Enum):
    """Arithmetic; the value is the sign."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MOD = "%"


class CompareOperator(Enum):
    """Comparisons; the value is the sign."""

    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="


@frozen
class Math(Expression):
    """``left + right`` and its kind."""

    operator: MathOperator
    left: Expression
    right: Expression


@frozen
class Compare(Expression):
    """``left > right`` and its kind."""

    operator: CompareOperator
    left: Expression
    right: Expression


@frozen
class And(Expression):
    """``left and right``."""

    left: Expression
    right: Expression


@frozen
class Or(Expression):
    """``left or right``."""

    left: Expression
    right: Expression


@frozen
class Not(Expression):
    """``not expression``; in text it binds tighter than all other operators."""

    expression: Expression


@frozen
class IsNull(Expression):
    """``x is null`` over a value. A bare name may turn out to be a stream: the planner decides."""

    expression: Expression


@frozen
class IsNullStream(Expression):
    """``S is null``, ``e1[1] is null``, ``#S is null``: true while that event slot is empty.

    The compiler produces it where the form has an index or a ``#``/``!`` prefix; a bare name becomes ``IsNull(Variable)``.
    """

    source: str
    index: EventIndex | None = None
    is_inner: bool = False
    is_fault: bool = False


@frozen
class In(Expression):
    """``expression in Table``."""

    expression: Expression
    table: str


@frozen
class FunctionCall(Expression):
    """``name(args)`` or ``namespace:name(args)``; ``star`` is ``name(*)``. Aggregators are calls too."""

    name: str
    arguments: tuple[Expression, ...] = ()
    namespace: str | None = None
    star: bool = False
