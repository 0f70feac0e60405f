"""The sets of types that built-ins accept."""

from __future__ import annotations

from siddhi.types import AttributeType

__all__ = ["ANY", "BOOL", "DOUBLE", "INT", "LONG", "NUMERIC", "OBJECT", "REAL", "STRING", "TIME", "VALUES"]

ANY = frozenset(AttributeType)
NUMERIC = frozenset({AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT, AttributeType.DOUBLE})
REAL = frozenset({AttributeType.FLOAT, AttributeType.DOUBLE})
VALUES = ANY - {AttributeType.OBJECT}
TIME = frozenset({AttributeType.INT, AttributeType.LONG})
"""A duration or instant in milliseconds."""
STRING = frozenset({AttributeType.STRING})
INT = frozenset({AttributeType.INT})
LONG = frozenset({AttributeType.LONG})
DOUBLE = frozenset({AttributeType.DOUBLE})
BOOL = frozenset({AttributeType.BOOL})
OBJECT = frozenset({AttributeType.OBJECT})
