"""Expressions of conditions, assignments and selections that a store evaluates, as plain data.

Operands that do not read the row are a :class:`Parameter`, whose value is passed by name with each call. A store walks the
tree and translates it for its database; it raises :class:`UnsupportedExpressionError` for a node that it can't translate.

The semantics are those of SiddhiQL, which has no third truth value: a comparison with null is false, ``!=`` with null is
true, and null counts as false for ``and``, ``or`` and ``not``.
"""

from __future__ import annotations

from typing import Literal

from siddhi._frozen import frozen
from siddhi.errors import SiddhiError
from siddhi.types import AttributeType

__all__ = [
    "Aggregate",
    "And",
    "Arithmetic",
    "Attribute",
    "Cast",
    "Comparison",
    "Constant",
    "Expression",
    "Function",
    "IsNull",
    "Not",
    "Or",
    "Parameter",
    "UnsupportedExpressionError",
]


class UnsupportedExpressionError(SiddhiError):
    """A store can't evaluate an expression. For reads the engine evaluates it instead; a change is an error."""


@frozen
class Expression:
    """Base class. ``type`` is the type of the value."""

    type: AttributeType


@frozen
class Attribute(Expression):
    """An attribute of the row."""

    name: str
    position: int


@frozen
class Parameter(Expression):
    """A value passed with each call. ``output``: its position in the record if it is a value of the record; else None."""

    name: str
    output: int | None = None


@frozen
class Constant(Expression):
    """A literal."""

    value: bool | int | float | str


@frozen
class Cast(Expression):
    """Conversion of a number to a wider type."""

    operand: Expression


@frozen
class Comparison(Expression):
    """Both sides have the same type; the result is never null."""

    operator: Literal["==", "!=", "<", "<=", ">", ">="]
    left: Expression
    right: Expression


@frozen
class And(Expression):
    """Conjunction of two or more operands."""

    operands: tuple[Expression, ...]


@frozen
class Or(Expression):
    """Disjunction of two or more operands."""

    operands: tuple[Expression, ...]


@frozen
class Not(Expression):
    operand: Expression


@frozen
class IsNull(Expression):
    operand: Expression


@frozen
class Arithmetic(Expression):
    """Both sides have the type of the result. Division of integers truncates; division by zero gives null."""

    operator: Literal["+", "-", "*", "/", "%"]
    left: Expression
    right: Expression


@frozen
class Function(Expression):
    """A function of operands that read the row; ``name`` includes its namespace, as in ``str:upper``."""

    name: str
    arguments: tuple[Expression, ...]


@frozen
class Aggregate(Expression):
    """An aggregate over the rows of a group, in selections; ``argument`` is None for ``count()``."""

    name: str
    argument: Expression | None
