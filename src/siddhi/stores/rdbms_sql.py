"""Expressions → SQL. Values are always bound parameters, never part of the text."""

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
    Function,
    IsNull,
    Not,
    Or,
    Parameter,
    UnsupportedExpressionError,
)
from siddhi.stores.rdbms_numbers import numbers_of
from siddhi.types import AttributeType

__all__ = ["COLUMN_TYPES", "SqlExpressions"]

COLUMN_TYPES: dict[AttributeType, sa.types.TypeEngine[Any]] = {
    AttributeType.STRING: sa.Text(),
    AttributeType.INT: sa.Integer(),
    AttributeType.LONG: sa.BigInteger(),
    # A float is stored as the double of its shortest decimal, as events show it: 4 bytes would not equal that value.
    AttributeType.FLOAT: sa.Double(),
    AttributeType.DOUBLE: sa.Double(),
    AttributeType.BOOL: sa.Boolean(),
}
"""Column type by attribute type; type object has none."""

_EXACT = {
    (AttributeType.INT, AttributeType.LONG),
    (AttributeType.INT, AttributeType.DOUBLE),
}
_AGGREGATED = (AttributeType.INT, AttributeType.LONG, AttributeType.DOUBLE)
_INEXACT = (AttributeType.FLOAT, AttributeType.DOUBLE)

Sql = Any
"""A column expression of SQLAlchemy."""


class SqlExpressions:
    """Translates expressions over the columns of one table to SQL.

    Args:
        columns: columns by position of the attribute.
        prefix: prefix of the names of bound parameters; no column name begins with it.
        dialect: name of the database's dialect.
    """

    def __init__(self, columns: Sequence[sa.Column[Any]], prefix: str, dialect: str) -> None:
        self._columns = columns
        self._prefix = prefix
        self._numbers = numbers_of(dialect)

    def condition(self, node: Expression) -> Sql:
        """Translate a condition; the SQL is true if the condition holds, else false or null.

        Raises:
            UnsupportedExpressionError: SQL has no equivalent.
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
        raise UnsupportedExpressionError(f"a database can't evaluate {_name(node)}")

    def value(self, node: Expression) -> Sql:
        """Translate a value.

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
            case Arithmetic(operator=operator, type=type_):
                return self._numbers.compute(operator, type_, self.value(node.left), self.value(node.right))
            case Function():
                return self._function(node)
            case Aggregate():
                return self._aggregate(node)
            case And() | Or() | Not() | IsNull() | Comparison():
                return sa.func.coalesce(self.condition(node), sa.false(), type_=sa.Boolean())
        raise UnsupportedExpressionError(f"a database can't evaluate {_name(node)}")

    def _aggregate(self, node: Aggregate) -> Sql:
        if node.name == "count" and node.argument is None:
            return sa.func.count()
        if node.argument is None or node.name not in ("sum", "avg", "min", "max"):
            raise UnsupportedExpressionError(f"a database can't compute {node.name}() as the engine does")
        if node.argument.type not in _AGGREGATED:
            raise UnsupportedExpressionError(
                f"a database can't aggregate type {node.argument.type.value} as the engine does"
            )
        value = self.value(node.argument)
        if node.name == "sum":
            return self._numbers.total(node.argument.type, value)
        made = getattr(sa.func, node.name)(value)
        # The type of an average differs between databases.
        return sa.cast(made, _column_type(node.type)) if node.name == "avg" else made

    def _function(self, node: Function) -> Sql:
        type_ = node.type
        if type_ in (AttributeType.BOOL, AttributeType.OBJECT):
            raise UnsupportedExpressionError(f"a database can't compute {node.name}() of type {type_.value}")
        if any(argument.type is not type_ for argument in node.arguments[node.name == "ifThenElse" :]):
            raise UnsupportedExpressionError(f"a database can't compute {node.name}() of different types")
        match node.name:
            case "coalesce" | "default":
                values = [self.value(argument) for argument in node.arguments]
                return values[0] if len(values) == 1 else sa.func.coalesce(*values, type_=_column_type(type_))
            case "ifThenElse":
                condition, then, otherwise = node.arguments
                return sa.case((self.condition(condition), self.value(then)), else_=self.value(otherwise))
            case "maximum" | "minimum":
                return self._numbers.extreme(node.name, [self.value(argument) for argument in node.arguments])
        raise UnsupportedExpressionError(f"a database can't evaluate {_name(node)}")

    def _comparison(self, node: Comparison) -> Sql:
        left, right = self._compared(node.left), self._compared(node.right)
        match node.operator:
            case "==":
                return _both(left == right, self._no_nan(node.right, node.left))
            case "!=":
                # True if either side is null, and if both are NaN.
                guard = self._no_nan(node.right, node.left)
                differ = left != right if guard is None else sa.or_(left != right, sa.not_(guard))
                return sa.func.coalesce(differ, sa.true(), type_=sa.Boolean())
            # Databases order NaN as the greatest number: if the greater side is not NaN, the other is not either.
            case "<":
                return _both(left < right, self._no_nan(node.right))
            case "<=":
                return _both(left <= right, self._no_nan(node.right))
            case ">":
                return _both(left > right, self._no_nan(node.left))
            case ">=":
                return _both(left >= right, self._no_nan(node.left))

    def _no_nan(self, *sides: Expression) -> Sql | None:
        """Return the condition that the first side is not NaN; None: a side can't be NaN, so none is needed."""
        for side in sides:
            if isinstance(side, Cast) and side.operand.type not in _INEXACT:
                return None
            if side.type not in _INEXACT or isinstance(side, Constant):
                return None
        # Prefer a parameter: it is tested once, not for each row.
        side = next((side for side in sides if isinstance(side, Parameter)), sides[0])
        return self._numbers.nan_guard(self._compared(side))

    def _compared(self, node: Expression) -> Sql:
        """Translate a side of a comparison; casts of int to long or double are dropped, so that an index can be used."""
        if isinstance(node, Cast) and (node.operand.type, node.type) in _EXACT:
            return self._compared(node.operand)
        return self.value(node)

    def _cast(self, operand: Expression, type_: AttributeType) -> Sql:
        value = self.value(operand)
        if type_ is AttributeType.FLOAT:
            return self._numbers.float_of_whole(value)
        if operand.type is AttributeType.FLOAT:
            return self._numbers.double_of_float(value)
        return sa.cast(value, _column_type(type_))


def _both(condition: Sql, other: Sql | None) -> Sql:
    return condition if other is None else sa.and_(condition, other)


def _column_type(type_: AttributeType) -> sa.types.TypeEngine[Any]:
    found = COLUMN_TYPES.get(type_)
    if found is None:
        raise UnsupportedExpressionError("a database has no type object")
    return found


def _name(node: Expression) -> str:
    return f"function '{node.name}'" if hasattr(node, "name") else type(node).__name__
