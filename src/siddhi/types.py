"""Attribute types of SiddhiQL."""

from __future__ import annotations

from enum import Enum

__all__ = ["AttributeType"]


class AttributeType(Enum):
    """The seven attribute types; the value is the SiddhiQL keyword.

    ``INT`` is a 32-bit and ``LONG`` a 64-bit two's complement integer, ``FLOAT`` an IEEE single and ``DOUBLE`` an IEEE
    double; every type is nullable (``None`` in Python).
    """

    STRING = "string"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    BOOL = "bool"
    OBJECT = "object"

    @property
    def is_numeric(self) -> bool:
        """Whether arithmetic and ordering apply to values of this type."""
        return self in _NUMERIC

    def __str__(self) -> str:
        return self.value


_NUMERIC = frozenset({AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT, AttributeType.DOUBLE})
