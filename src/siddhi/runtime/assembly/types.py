"""Attribute types of the plan → type codes of the core."""

from __future__ import annotations

from collections.abc import Iterable

from siddhi._core.record.event import Layout, TypeCode
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType

__all__ = ["layout_of", "type_code"]

_CODES = {
    AttributeType.STRING: TypeCode.STRING,
    AttributeType.INT: TypeCode.INT,
    AttributeType.LONG: TypeCode.LONG,
    AttributeType.FLOAT: TypeCode.FLOAT,
    AttributeType.DOUBLE: TypeCode.DOUBLE,
    AttributeType.BOOL: TypeCode.BOOL,
    AttributeType.OBJECT: TypeCode.OBJECT,
}


def type_code(type_: AttributeType) -> int:
    """Return the core's code of a type."""
    return int(_CODES[type_])


def layout_of(attributes: Iterable[Attribute]) -> Layout:
    """Make a record layout with one cell per attribute, in order."""
    attributes = tuple(attributes)
    return Layout([attribute.name for attribute in attributes], [type_code(attribute.type) for attribute in attributes])
