"""What a store is asked for: the expression of a condition, an assignment or a selection, as plain data.

Whatever does not read the row is a :class:`Parameter`, whose value comes with each call, by name. A store walks the tree
and makes of it what its database understands; where it meets something that it can't say, it raises
:class:`UnsupportedExpressionError`.

The meaning is SiddhiQL's, which knows no third truth value: a comparison with null is false, ``!=`` with null is true,
and null counts as false for ``and``, ``or`` and ``not``.
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
    """A store can't do this itself. Where rows are read, the engine does it instead; a change is refused."""


@frozen
class Expression:
    """Base. ``type`` is the type of the value."""

    type: AttributeType


@frozen
class Attribute(Expression):
    """An attribute of the row."""

    name: str
    position: int


@frozen
class Parameter(Expression):
    """A value that comes with each call. ``output``: position of the record's value that it is; None: it is another."""

    name: str
    output: int | None = None


@frozen
class Constant(Expression):
    """A literal."""

    value: bool | int | float | str


@frozen
class Cast(Expression):
    """A number as one of a wider type."""

    operand: Expression


@frozen
class Comparison(Expression):
    """Both sides have one type; what it answers is never null."""

    operator: Literal["==", "!=", "<", "<=", ">", ">="]
    left: Expression
    right: Expression


@frozen
class And(Expression):
    """All of two or more hold."""

    operands: tuple[Expression, ...]


@frozen
class Or(Expression):
    """One of two or more holds."""

    operands: tuple[Expression, ...]


@frozen
class Not(Expression):
    operand: Expression


@frozen
class IsNull(Expression):
    operand: Expression


@frozen
class Arithmetic(Expression):
    """Both sides have the type of the result. Whole numbers divide to whole ones; dividing by zero gives null."""

    operator: Literal["+", "-", "*", "/", "%"]
    left: Expression
    right: Expression


@frozen
class Function(Expression):
    """A function that reads the row; ``name`` with its namespace, as in ``str:upper``."""

    name: str
    arguments: tuple[Expression, ...]


@frozen
class Aggregate(Expression):
    """An aggregate of the rows of a group, in selections; ``argument`` is None for ``count()``."""

    name: str
    argument: Expression | None
