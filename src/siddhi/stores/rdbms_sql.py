"""Expressions → SQL. Values are always bound, never written into the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from siddhi.stores.expression import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Cast,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Not,
    Or,
    Parameter,
    UnsupportedExpressionError,
)
from siddhi.types import AttributeType

__all__ = ["COLUMN_TYPES", "SqlExpressions"]

COLUMN_TYPES: dict[AttributeType, sa.types.TypeEngine[Any]] = {
    AttributeType.STRING: sa.Text(),
    AttributeType.INT: sa.Integer(),
    AttributeType.LONG: sa.BigInteger(),
    # A float is kept by its shortest decimal, as events show it: in 4 bytes it would equal nothing it is compared with.
    AttributeType.FLOAT: sa.Double(),
    AttributeType.DOUBLE: sa.Double(),
    AttributeType.BOOL: sa.Boolean(),
}
"""The type of the column of an attribute; objects have none."""

_EXACT = {
    (AttributeType.INT, AttributeType.LONG),
    (AttributeType.INT, AttributeType.DOUBLE),
}
_COMPUTED = (AttributeType.INT, AttributeType.LONG, AttributeType.DOUBLE)

Sql = Any
"""A column expression of SQLAlchemy."""


class SqlExpressions:
    """Makes SQL over the columns of one table.

    Args:
        columns: by position of the attribute.
        prefix: of the names of bound parameters; no column's name begins with it.
    """

    def __init__(self, columns: Sequence[sa.Column[Any]], prefix: str) -> None:
        self._columns = columns
        self._prefix = prefix

    def condition(self, node: Expression) -> Sql:
        """True where the condition holds; false or null where it does not.

        Raises:
            UnsupportedExpressionError: SQL says it differently, or not at all.
        """
        match node:
            case And(operands=operands):
                return sa.and_(*[self.condition(part) for part in operands])
            case Or(operands=operands):
                return sa.or_(*[self.condition(part) for part in operands])
            case Not(operand=operand):
                return sa.not_(sa.func.coalesce(self.condition(operand), sa.false(), type_=sa.Boolean()))
            case IsNull(operand=operand):
                return self.value(operand).is_(None)
            case Comparison():
                return self._comparison(node)
            case Constant(value=value):
                return sa.true() if value else sa.false()
            case Attribute() | Parameter():
                return self.value(node)
        raise UnsupportedExpressionError(f"a database is not asked for a {_name(node)}")

    def value(self, node: Expression) -> Sql:
        """A value.

        Raises:
            UnsupportedExpressionError: as :meth:`condition`.
        """
        match node:
            case Attribute(position=position):
                return self._columns[position]
            case Parameter(name=name, type=type_):
                return sa.bindparam(self._prefix + name, type_=_column_type(type_))
            case Constant(value=value, type=type_):
                return sa.literal(value, _column_type(type_))
            case Cast(operand=operand, type=type_):
                return self._cast(operand, type_)
            case Arithmetic():
                return self._arithmetic(node)
            case Aggregate():
                return self._aggregate(node)
            case And() | Or() | Not() | IsNull() | Comparison():
                return sa.func.coalesce(self.condition(node), sa.false(), type_=sa.Boolean())
        raise UnsupportedExpressionError(f"a database is not asked for a {_name(node)}")

    def _aggregate(self, node: Aggregate) -> Sql:
        if node.name == "count" and node.argument is None:
            return sa.func.count()
        if node.argument is None or node.name not in ("sum", "avg", "min", "max"):
            raise UnsupportedExpressionError(f"the engine computes {node.name}()")
        if node.argument.type not in _COMPUTED:
            raise UnsupportedExpressionError(f"the engine aggregates numbers of type {node.argument.type.value}")
        type_ = _column_type(node.type)
        made = getattr(sa.func, node.name)(self.value(node.argument))
        # Databases sum and average in types of their own.
        return sa.cast(made, type_) if node.name in ("sum", "avg") else made

    def _comparison(self, node: Comparison) -> Sql:
        left, right = self._compared(node.left), self._compared(node.right)
        match node.operator:
            case "==":
                return left == right
            case "!=":
                # True where either is null.
                return sa.func.coalesce(left != right, sa.true(), type_=sa.Boolean())
            case "<":
                return left < right
            case "<=":
                return left <= right
            case ">":
                return left > right
            case ">=":
                return left >= right

    def _compared(self, node: Expression) -> Sql:
        """A side of a comparison: databases compare int with long and double as they are, so that an index serves."""
        if isinstance(node, Cast) and (node.operand.type, node.type) in _EXACT:
            return self._compared(node.operand)
        return self.value(node)

    def _cast(self, operand: Expression, type_: AttributeType) -> Sql:
        if AttributeType.FLOAT in (operand.type, type_):
            raise UnsupportedExpressionError("numbers of type float are widened by the engine")
        return sa.cast(self.value(operand), _column_type(type_))

    def _arithmetic(self, node: Arithmetic) -> Sql:
        if node.type not in _COMPUTED:
            raise UnsupportedExpressionError(f"the engine computes with numbers of type {node.type.value}")
        left, right = self.value(node.left), self.value(node.right)
        match node.operator:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
        right = sa.func.nullif(right, sa.literal(0, _column_type(node.type)), type_=_column_type(node.type))
        if node.operator == "/":
            # `//` is the database's `/` of whole numbers: it cuts off, as here.
            return left / right if node.type is AttributeType.DOUBLE else left // right
        if node.type is AttributeType.DOUBLE:
            raise UnsupportedExpressionError("the remainder of doubles is computed by the engine")
        return left % right


def _column_type(type_: AttributeType) -> sa.types.TypeEngine[Any]:
    found = COLUMN_TYPES.get(type_)
    if found is None:
        raise UnsupportedExpressionError("a database knows no objects")
    return found


def _name(node: Expression) -> str:
    return f"function '{node.name}'" if hasattr(node, "name") else type(node).__name__
