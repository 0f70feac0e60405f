"""Bind ``env:getSystemProperty`` and ``env:getYAMLProperty``: the configuration of the manager does not change while apps run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from siddhi.planner.plan.expressions import Const, TypedExpression
from siddhi.planner.problems import creation_error
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

__all__ = ["PROPERTY_FUNCTIONS", "property_value"]

PROPERTY_FUNCTIONS = {"env:getSystemProperty": 1, "env:getYAMLProperty": 2}
"""Position of the default among the arguments, by function."""

_TRUTHS = {"true": True, "false": False}
_CONVERSIONS: dict[AttributeType, Callable[[str], Any]] = {
    AttributeType.INT: int,
    AttributeType.LONG: int,
    AttributeType.FLOAT: float,
    AttributeType.DOUBLE: float,
    AttributeType.BOOL: lambda text: _TRUTHS[text.strip().lower()],
    AttributeType.STRING: str,
}
_BITS = {AttributeType.INT: 31, AttributeType.LONG: 63}


def property_value(
    key: str, default: TypedExpression | None, type_: AttributeType, values: Mapping[str, str], at: Node
) -> TypedExpression | None:
    """Return the value of a property, else the default of the call; None: it has neither, and is null.

    Args:
        key: the name of the property.
        default: the default of the call; None: it has none.
        type_: type of the value.
        values: the properties.
        at: the call.

    Raises:
        SiddhiAppCreationError: the text of the property is not of the type.
    """
    text = values.get(key)
    if text is None:
        return default
    try:
        value = _CONVERSIONS[type_](text)
        bits = _BITS.get(type_)
        if bits is not None and not -(1 << bits) <= value < 1 << bits:
            raise ValueError
    except (KeyError, ValueError):
        raise creation_error(
            "E305",
            f"property '{key}' of the configuration is not of type {type_}",
            at,
            "correct the configuration of the manager, or read the property with another type",
        ) from None
    return Const(type_, value)
