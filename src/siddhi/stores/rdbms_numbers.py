"""Arithmetic of SiddhiQL in the SQL of each database.

Integers wrap around, division by zero gives null, and a NaN equals nothing and is neither less nor greater than anything.
A float is stored as the double of its shortest decimal, as events show it; arithmetic converts it to single precision first.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import sqlalchemy as sa

from siddhi.stores.expression import UnsupportedExpressionError
from siddhi.types import AttributeType

__all__ = ["Numbers", "add_functions", "numbers_of"]

Sql = Any
"""A column expression of SQLAlchemy."""

_INT, _LONG, _FLOAT, _DOUBLE = AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT, AttributeType.DOUBLE
_TYPES: dict[AttributeType, sa.types.TypeEngine[Any]] = {
    _INT: sa.Integer(),
    _LONG: sa.BigInteger(),
    _FLOAT: sa.Double(),
    _DOUBLE: sa.Double(),
}


class Numbers:
    """Arithmetic of a database without special support; overflow behaves as in the database."""

    def nan_guard(self, value: Sql) -> Sql | None:  # noqa: ARG002
        """Return the condition that a value is not NaN; None: the database has no NaN, or compares it correctly."""
        return None

    def compute(self, operator: str, type_: AttributeType, left: Sql, right: Sql) -> Sql:
        """Return an arithmetic expression over two operands of a type.

        Raises:
            UnsupportedExpressionError: the database computes a different result.
        """
        if type_ is _FLOAT:
            return self._of_floats(operator, left, right)
        if operator in ("/", "%"):
            right = _without_zero(type_, right)
        if type_ is _DOUBLE:
            return _of_doubles(operator, left, right)
        return self._of_whole(operator, type_, left, right)

    def double_of_float(self, value: Sql) -> Sql:  # noqa: ARG002
        """Convert a float to double."""
        raise UnsupportedExpressionError("the database can't convert float to double as the engine does")

    def float_of_whole(self, value: Sql) -> Sql:  # noqa: ARG002
        """Convert an int or long to float."""
        raise UnsupportedExpressionError("the database can't convert integers to float as the engine does")

    def total(self, type_: AttributeType, value: Sql) -> Sql:
        """Return the sum of values of a type: a long or double."""
        return sa.cast(sa.func.sum(value), _TYPES[_DOUBLE if type_ is _DOUBLE else _LONG])

    def extreme(self, name: str, values: list[Sql]) -> Sql:  # noqa: ARG002
        """Return ``maximum`` or ``minimum`` of the values that are not null."""
        raise UnsupportedExpressionError(f"the database can't compute {name}() as the engine does")

    def _of_whole(self, operator: str, type_: AttributeType, left: Sql, right: Sql) -> Sql:  # noqa: ARG002
        return _operation(operator, left, right)

    def _of_floats(self, operator: str, left: Sql, right: Sql) -> Sql:  # noqa: ARG002
        raise UnsupportedExpressionError("the database can't compute with type float as the engine does")


class _PostgresNumbers(Numbers):
    def nan_guard(self, value: Sql) -> Sql | None:
        return value != sa.literal_column("'NaN'::float8", sa.Double())

    def double_of_float(self, value: Sql) -> Sql:
        return sa.cast(_real(value), sa.Double())

    def float_of_whole(self, value: Sql) -> Sql:
        return _shortest_decimal(_real(value))

    def total(self, type_: AttributeType, value: Sql) -> Sql:
        return _wrapped_numeric(sa.func.sum(value)) if type_ is _LONG else super().total(type_, value)

    def extreme(self, name: str, values: list[Sql]) -> Sql:
        choose = sa.func.greatest if name == "maximum" else sa.func.least
        if not isinstance(values[0].type, sa.Double):
            return choose(*values, type_=values[0].type)
        # A NaN is the result only if all values are NaN.
        nan: Sql = sa.literal_column("'NaN'::float8", sa.Double())
        numbers: list[Sql] = [sa.func.nullif(value, nan, type_=sa.Double()) for value in values]
        return sa.func.coalesce(choose(*numbers, type_=sa.Double()), *values, type_=sa.Double())

    def _of_whole(self, operator: str, type_: AttributeType, left: Sql, right: Sql) -> Sql:
        if type_ is _INT:
            wide = [sa.cast(side, sa.BigInteger()) for side in (left, right)]
            return sa.cast(_wrapped_int(_operation(operator, *wide)), sa.Integer())
        if operator == "%":
            return left % right
        if operator == "/":
            negated = _wrapped_numeric(sa.literal(0, sa.Numeric()) - sa.cast(left, sa.Numeric()))
            return sa.case((right == sa.literal(-1, sa.BigInteger()), negated), else_=left // right)
        return _wrapped_numeric(_operation(operator, *[sa.cast(side, sa.Numeric()) for side in (left, right)]))

    def _of_floats(self, operator: str, left: Sql, right: Sql) -> Sql:
        left, right = self.double_of_float(left), self.double_of_float(right)
        if operator == "/":
            right = _without_zero(_DOUBLE, right)
        # The double result of two floats is exact enough; PostgreSQL refuses to cast one that is too large or too small.
        value = _of_doubles(operator, left, right)
        size: Sql = sa.func.abs(value, type_=sa.Double())
        infinity: Sql = sa.literal_column("'Infinity'::float8", sa.Double())
        single = sa.case(
            (size >= sa.literal(_INFINITE, sa.Double()), sa.func.sign(value, type_=sa.Double()) * infinity),
            (size <= sa.literal(_ZERO, sa.Double()), value * sa.literal(0.0, sa.Double())),
            else_=value,
        )
        return _shortest_decimal(_real(single))


_INFINITE, _ZERO = (2.0 - 2.0**-24) * 2.0**127, 2.0**-150
"""Doubles from _INFINITE on become an infinite float; doubles up to _ZERO become 0."""


class _SqliteNumbers(Numbers):
    def double_of_float(self, value: Sql) -> Sql:
        return sa.func.siddhi_single(value, type_=sa.Double())

    def float_of_whole(self, value: Sql) -> Sql:
        return sa.func.siddhi_shown(value, type_=sa.Double())

    def total(self, type_: AttributeType, value: Sql) -> Sql:
        if type_ is _LONG:
            return sa.func.siddhi_total(value, type_=sa.BigInteger())
        return super().total(type_, value)

    def extreme(self, name: str, values: list[Sql]) -> Sql:
        if len(values) > _MOST_EXTREMES:
            return super().extreme(name, values)
        type_ = values[0].type
        if len(values) == 1:
            return values[0]
        choose = sa.func.max if name == "maximum" else sa.func.min
        # SQLite's max and min are null if one value is: each null is replaced by one of the other values.
        turned = [sa.func.coalesce(*values[i:], *values[:i], type_=type_) for i in range(len(values))]
        return choose(*turned, type_=type_)

    def _of_whole(self, operator: str, type_: AttributeType, left: Sql, right: Sql) -> Sql:
        if type_ is _INT:
            return _wrapped_int(_operation(operator, left, right))
        if operator == "%":
            return left % right
        # SQLite computes results beyond 64 bits as doubles.
        return sa.func.siddhi_long(sa.literal_column(f"'{operator}'"), left, right, type_=sa.BigInteger())

    def _of_floats(self, operator: str, left: Sql, right: Sql) -> Sql:
        left, right = self.double_of_float(left), self.double_of_float(right)
        if operator == "/":
            right = _without_zero(_DOUBLE, right)
        return sa.func.siddhi_shown(_of_doubles(operator, left, right), type_=sa.Double())


_MOST_EXTREMES = 4
"""Maximum number of arguments of maximum() in SQLite: the size of its SQL grows with the square."""

_KINDS: dict[str, type[Numbers]] = {"postgresql": _PostgresNumbers, "sqlite": _SqliteNumbers}


def numbers_of(dialect: str) -> Numbers:
    """Return the arithmetic of a database by the name of its dialect."""
    return _KINDS.get(dialect, Numbers)()


def add_functions(connection: Any) -> None:
    """Register the functions that the SQL of :class:`_SqliteNumbers` calls with a connection of SQLite."""
    connection.create_function("siddhi_single", 1, _single, deterministic=True)
    connection.create_function("siddhi_shown", 1, _shortest, deterministic=True)
    connection.create_function("siddhi_long", 3, _long, deterministic=True)
    connection.create_aggregate("siddhi_total", 1, _Total)


def _operation(operator: str, left: Sql, right: Sql) -> Sql:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            # SQLAlchemy's `//` is the database's `/` of integers: it truncates, as in SiddhiQL.
            return left // right
    return left % right


def _of_doubles(operator: str, left: Sql, right: Sql) -> Sql:
    if operator == "%":
        raise UnsupportedExpressionError("the database can't compute '%' of doubles as the engine does")
    return left / right if operator == "/" else _operation(operator, left, right)


def _without_zero(type_: AttributeType, value: Sql) -> Sql:
    return sa.func.nullif(value, sa.literal(0, _TYPES[type_]), type_=_TYPES[type_])


def _wrapped_int(value: Sql) -> Sql:
    """Wrap a 64-bit integer to int."""
    half, mask = sa.literal_column("2147483648", sa.BigInteger()), sa.literal_column("4294967295", sa.BigInteger())
    return (value + half).op("&", is_comparison=False, return_type=sa.BigInteger())(mask) - half


def _wrapped_numeric(value: Sql) -> Sql:
    """Wrap an integer of any size to long."""
    half, all_ = (sa.literal_column(str(size), sa.Numeric()) for size in (2**63, 2**64))
    positive = sa.func.mod(sa.func.mod(value + half, all_, type_=sa.Numeric()) + all_, all_, type_=sa.Numeric())
    return sa.cast(positive - half, sa.BigInteger())


def _real(value: Sql) -> Sql:
    return sa.cast(value, sa.REAL())


def _shortest_decimal(value: Sql) -> Sql:
    """Convert a real of PostgreSQL to the double of its shortest decimal, which is its text."""
    return sa.cast(sa.cast(value, sa.Text()), sa.Double())


def _single(value: float | None) -> float | None:
    return None if value is None else ctypes.c_float(value).value


def _shortest(value: float | None) -> float | None:
    if value is None:
        return None
    single = ctypes.c_float(value).value
    if not math.isfinite(single):
        return single
    for digits in range(1, 9):
        shown = float(f"{single:.{digits}g}")
        if ctypes.c_float(shown).value == single:
            return shown
    return float(f"{single:.9g}")


def _long(operator: str, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    match operator:
        case "+":
            value = left + right
        case "-":
            value = left - right
        case "*":
            value = left * right
        case _:
            value = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return _wrapped(value)


def _wrapped(value: int) -> int:
    return ((value + 2**63) & (2**64 - 1)) - 2**63


class _Total:
    def __init__(self) -> None:
        self._sum: int | None = None

    def step(self, value: int | None) -> None:
        if value is not None:
            self._sum = (self._sum or 0) + value

    def finalize(self) -> int | None:
        return None if self._sum is None else _wrapped(self._sum)
