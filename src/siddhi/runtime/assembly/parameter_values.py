"""Values of the parameters of on-demand queries: one function per type checks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from siddhi._core.record.event import means_null
from siddhi.errors import did_you_mean
from siddhi.planner.plan.on_demand import ParameterPlan
from siddhi.planner.problems import a_type
from siddhi.query_api.span import Span
from siddhi.types import AttributeType

__all__ = ["READERS", "mismatch"]

_INT = 1 << 31
_LONG = 1 << 63


def _string(value: object) -> object:
    if value is None or type(value) is str:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if means_null(value):
        return None
    raise _wrong(value)


def _bool(value: object) -> object:
    if value is None or value is True or value is False:
        return value
    if (plain := _plain(value)) is None or isinstance(plain, bool):
        return plain
    raise _wrong(value)


def _int(value: object) -> object:
    return _integer(value, _INT)


def _long(value: object) -> object:
    return _integer(value, _LONG)


def _integer(value: object, limit: int) -> object:
    if type(value) is not int:
        plain = _plain(value)
        if plain is None:
            return None
        if not isinstance(plain, int) or isinstance(plain, bool):
            raise _wrong(value)
        value = int(plain)
    if -limit <= value < limit:
        return value
    raise ValueError(f"{value}, which is out of range")


def _number(value: object) -> object:
    if value is None or type(value) is float:
        return value
    plain = _plain(value)
    if plain is None:
        return None
    if not isinstance(plain, (int, float)) or isinstance(plain, bool):
        raise _wrong(value)
    try:
        return float(plain)
    except OverflowError:
        raise ValueError(f"{plain}, which is out of range") from None


def _plain(value: object) -> object:
    """Return a scalar of numpy as a Python value, None for what stands for null, everything else as it is."""
    if means_null(value):
        return None
    item = getattr(value, "item", None)
    return item() if hasattr(value, "dtype") and callable(item) else value


def _wrong(value: object) -> ValueError:
    return ValueError(f"{value!r:.60} ({type(value).__name__})")


READERS: Mapping[AttributeType, Callable[[object], object]] = {
    AttributeType.STRING: _string,
    AttributeType.BOOL: _bool,
    AttributeType.INT: _int,
    AttributeType.LONG: _long,
    AttributeType.FLOAT: _number,
    AttributeType.DOUBLE: _number,
    AttributeType.OBJECT: lambda value: None if means_null(value) else value,
}
"""By type: returns the value of a parameter as the engine takes it, None for null. It raises ValueError, which describes the
value, if that is of another type."""


def mismatch(declared: tuple[ParameterPlan, ...], given: Mapping[str, object]) -> tuple[str, Span | None, str | None]:
    """Return why values do not fit the parameters of a query: message, span and hint."""
    for each in declared:
        if each.name not in given:
            return f"no value for the parameter ':{each.name}'", each.span, f"pass {each.name}=..."
        try:
            READERS[each.type](given[each.name])
        except ValueError as error:
            return f"the parameter ':{each.name}' is {a_type(each.type)} here, not {error}", each.span, None
    names = [each.name for each in declared]
    surplus = next(name for name in given if name not in names)
    hint = None if names else f"write :{surplus} where its value is meant"
    return f"the query has no parameter ':{surplus}'{did_you_mean(surplus, names)}", None, hint
