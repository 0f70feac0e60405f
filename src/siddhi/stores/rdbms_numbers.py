"""Numbers as SiddhiQL computes with them, in the SQL of each database.

Whole numbers wrap around, dividing by zero gives null, and a NaN equals nothing and is neither less nor greater than
anything. A float is kept as the double of its shortest decimal, as events show it: whatever is computed with it is computed
in single precision first.
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
    """Of a database of which nothing particular is known: overflows are its own affair."""

    def nan_guard(self, value: Sql) -> Sql | None:  # noqa: ARG002
        """True where a value is not NaN; None: there is none in this database, or it compares as it should."""
        return None

    def compute(self, operator: str, type_: AttributeType, left: Sql, right: Sql) -> Sql:
        """A value of this type of two of it.

        Raises:
            UnsupportedExpressionError: this database computes differently.
        """
        if type_ is _FLOAT:
            return self._of_floats(operator, left, right)
        if operator in ("/", "%"):
            right = _without_zero(type_, right)
        if type_ is _DOUBLE:
            return _of_doubles(operator, left, right)
        return self._of_whole(operator, type_, left, right)

    def double_of_float(self, value: Sql) -> Sql:  # noqa: ARG002
        """A float as a double."""
        raise UnsupportedExpressionError("numbers of type float are widened by the engine")

    def float_of_whole(self, value: Sql) -> Sql:  # noqa: ARG002
        """An int or long as a float."""
        raise UnsupportedExpressionError("numbers of type float are made by the engine")

    def total(self, type_: AttributeType, value: Sql) -> Sql:
        """The sum of the values of rows that have this type: a long or double."""
        return sa.cast(sa.func.sum(value), _TYPES[_DOUBLE if type_ is _DOUBLE else _LONG])

    def extreme(self, name: str, values: list[Sql]) -> Sql:  # noqa: ARG002
        """``maximum`` or ``minimum`` of those that are not null."""
        raise UnsupportedExpressionError(f"the engine computes {name}()")

    def _of_whole(self, operator: str, type_: AttributeType, left: Sql, right: Sql) -> Sql:  # noqa: ARG002
        return _plain(operator, left, right)

    def _of_floats(self, operator: str, left: Sql, right: Sql) -> Sql:  # noqa: ARG002
        raise UnsupportedExpressionError("the engine computes with numbers of type float")


class _PostgresNumbers(Numbers):
    def nan_guard(self, value: Sql) -> Sql | None:
        return value != sa.literal_column("'NaN'::float8", sa.Double())

    def double_of_float(self, value: Sql) -> Sql:
        return sa.cast(_real(value), sa.Double())

    def float_of_whole(self, value: Sql) -> Sql:
        return _shown(_real(value))

    def total(self, type_: AttributeType, value: Sql) -> Sql:
        return _wrapped_numeric(sa.func.sum(value)) if type_ is _LONG else super().total(type_, value)

    def extreme(self, name: str, values: list[Sql]) -> Sql:
        choose = sa.func.greatest if name == "maximum" else sa.func.least
        if not isinstance(values[0].type, sa.Double):
            return choose(*values, type_=values[0].type)
        # A NaN counts only among NaNs.
        nan: Sql = sa.literal_column("'NaN'::float8", sa.Double())
        numbers: list[Sql] = [sa.func.nullif(value, nan, type_=sa.Double()) for value in values]
        return sa.func.coalesce(choose(*numbers, type_=sa.Double()), *values, type_=sa.Double())

    def _of_whole(self, operator: str, type_: AttributeType, left: Sql, right: Sql) -> Sql:
        if type_ is _INT:
            wide = [sa.cast(side, sa.BigInteger()) for side in (left, right)]
            return sa.cast(_wrapped_int(_plain(operator, *wide)), sa.Integer())
        if operator == "%":
            return left % right
        if operator == "/":
            negated = _wrapped_numeric(sa.literal(0, sa.Numeric()) - sa.cast(left, sa.Numeric()))
            return sa.case((right == sa.literal(-1, sa.BigInteger()), negated), else_=left // right)
        return _wrapped_numeric(_plain(operator, *[sa.cast(side, sa.Numeric()) for side in (left, right)]))

    def _of_floats(self, operator: str, left: Sql, right: Sql) -> Sql:
        left, right = self.double_of_float(left), self.double_of_float(right)
        if operator == "/":
            right = _without_zero(_DOUBLE, right)
        # Doubles hold what is computed with two floats; PostgreSQL refuses to make a float of too large or small a one.
        value = _of_doubles(operator, left, right)
        size: Sql = sa.func.abs(value, type_=sa.Double())
        infinity: Sql = sa.literal_column("'Infinity'::float8", sa.Double())
        single = sa.case(
            (size >= sa.literal(_INFINITE, sa.Double()), sa.func.sign(value, type_=sa.Double()) * infinity),
            (size <= sa.literal(_ZERO, sa.Double()), value * sa.literal(0.0, sa.Double())),
            else_=value,
        )
        return _shown(_real(single))


_INFINITE, _ZERO = (2.0 - 2.0**-24) * 2.0**127, 2.0**-150
"""From where on a double is an infinite float; up to where it is none at all."""


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
        # One null makes all null here: each is what follows where it is null itself.
        turned = [sa.func.coalesce(*values[i:], *values[:i], type_=type_) for i in range(len(values))]
        return choose(*turned, type_=type_)

    def _of_whole(self, operator: str, type_: AttributeType, left: Sql, right: Sql) -> Sql:
        if type_ is _INT:
            return _wrapped_int(_plain(operator, left, right))
        if operator == "%":
            return left % right
        # Where it does not fit 64 bits, SQLite goes on in doubles.
        return sa.func.siddhi_long(sa.literal_column(f"'{operator}'"), left, right, type_=sa.BigInteger())

    def _of_floats(self, operator: str, left: Sql, right: Sql) -> Sql:
        left, right = self.double_of_float(left), self.double_of_float(right)
        if operator == "/":
            right = _without_zero(_DOUBLE, right)
        return sa.func.siddhi_shown(_of_doubles(operator, left, right), type_=sa.Double())


_MOST_EXTREMES = 4
"""Arguments of maximum() in SQLite, where each is named as often as there are."""

_KINDS: dict[str, type[Numbers]] = {"postgresql": _PostgresNumbers, "sqlite": _SqliteNumbers}


def numbers_of(dialect: str) -> Numbers:
    """How a database computes, by the name of its dialect."""
    return _KINDS.get(dialect, Numbers)()


def add_functions(connection: Any) -> None:
    """Give a connection of SQLite the functions that are named in what :class:`Numbers` makes for it."""
    connection.create_function("siddhi_single", 1, _single, deterministic=True)
    connection.create_function("siddhi_shown", 1, _shortest, deterministic=True)
    connection.create_function("siddhi_long", 3, _long, deterministic=True)
    connection.create_aggregate("siddhi_total", 1, _Total)


def _plain(operator: str, left: Sql, right: Sql) -> Sql:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            # `//` is the database's `/` of whole numbers: it cuts off, as here.
            return left // right
    return left % right


def _of_doubles(operator: str, left: Sql, right: Sql) -> Sql:
    if operator == "%":
        raise UnsupportedExpressionError("the engine computes the remainder of numbers that are not whole")
    return left / right if operator == "/" else _plain(operator, left, right)


def _without_zero(type_: AttributeType, value: Sql) -> Sql:
    return sa.func.nullif(value, sa.literal(0, _TYPES[type_]), type_=_TYPES[type_])


def _wrapped_int(value: Sql) -> Sql:
    """The int that 64 bits become."""
    half, mask = sa.literal_column("2147483648", sa.BigInteger()), sa.literal_column("4294967295", sa.BigInteger())
    return (value + half).op("&", is_comparison=False, return_type=sa.BigInteger())(mask) - half


def _wrapped_numeric(value: Sql) -> Sql:
    """The long that a whole number of any size becomes."""
    half, all_ = (sa.literal_column(str(size), sa.Numeric()) for size in (2**63, 2**64))
    positive = sa.func.mod(sa.func.mod(value + half, all_, type_=sa.Numeric()) + all_, all_, type_=sa.Numeric())
    return sa.cast(positive - half, sa.BigInteger())


def _real(value: Sql) -> Sql:
    return sa.cast(value, sa.REAL())


def _shown(value: Sql) -> Sql:
    """The double that a real of PostgreSQL is shown as: its text is its shortest decimal."""
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
