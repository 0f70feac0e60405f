"""Expressions as written: names and types are not resolved."""

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
    "QueryParameter",
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
class QueryParameter(Expression):
    """``:name`` in an on-demand query: a value that is given when the query runs."""

    name: str


@frozen
class Variable(Expression):
    """An attribute reference: ``name``, ``source.name``, ``source[index].name``, ``#inner.name``, ``!fault.name``.

    ``function_id``/``function_index`` hold the ``#f[i]`` qualifier, which is parsed but has no effect.
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
    """Arithmetic operators; the value is the symbol."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MOD = "%"


class CompareOperator(Enum):
    """Comparison operators; the value is the symbol."""

    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="


@frozen
class Math(Expression):
    """``left + right`` and the other arithmetic operations."""

    operator: MathOperator
    left: Expression
    right: Expression


@frozen
class Compare(Expression):
    """``left > right`` and the other comparisons."""

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
    """``not expression``; it binds tighter than all other operators."""

    expression: Expression


@frozen
class IsNull(Expression):
    """``x is null`` over a value. A bare name may also be a stream; the planner resolves it."""

    expression: Expression


@frozen
class IsNullStream(Expression):
    """``S is null``, ``e1[1] is null``, ``#S is null``: true while no event is bound to the reference.

    The compiler creates it for a name with an index or a ``#``/``!`` prefix; a bare name becomes ``IsNull(Variable)``.
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
    """``name(args)`` or ``namespace:name(args)``, of a function or an aggregator; ``star`` is ``name(*)``."""

    name: str
    arguments: tuple[Expression, ...] = ()
    namespace: str | None = None
    star: bool = False
