"""Attribute types of the columns of a frame. Optional libraries are recognised, never imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from siddhi._core.columnar.batch import EventBatch
from siddhi.errors import shown
from siddhi.frames.values import is_instant, plain_column
from siddhi.types import AttributeType

__all__ = ["Column", "columns_of", "type_of_values"]

# Beginnings of the names of types in numpy, pandas, polars, Arrow and duckdb, in lower case; the longest one counts.
_NAMES = {
    "bool": AttributeType.BOOL,
    "int8": AttributeType.INT,
    "int16": AttributeType.INT,
    "int32": AttributeType.INT,
    "int64": AttributeType.LONG,
    "uint8": AttributeType.INT,
    "uint16": AttributeType.INT,
    "uint32": AttributeType.LONG,
    "uint64": AttributeType.LONG,
    "halffloat": AttributeType.FLOAT,
    "float": AttributeType.FLOAT,
    "float64": AttributeType.DOUBLE,
    "double": AttributeType.DOUBLE,
    "decimal": AttributeType.DOUBLE,
    "str": AttributeType.STRING,
    "struct": AttributeType.OBJECT,
    "large_string": AttributeType.STRING,
    "utf8": AttributeType.STRING,
    "categor": AttributeType.STRING,
    "enum": AttributeType.STRING,
    "dictionary<values=string": AttributeType.STRING,
    "dictionary<values=large_string": AttributeType.STRING,
    "null": AttributeType.STRING,
    "timestamp": AttributeType.LONG,
    "date": AttributeType.LONG,
}
_TIMES = ("timestamp", "date")
_PYTHON = {
    bool: AttributeType.BOOL,
    int: AttributeType.LONG,
    float: AttributeType.DOUBLE,
    str: AttributeType.STRING,
    Decimal: AttributeType.DOUBLE,
}
_NUMBERS = {int, float, Decimal}
_PANDAS_OBJECTS = {
    "string": AttributeType.STRING,
    "empty": AttributeType.STRING,
    "boolean": AttributeType.BOOL,
    "integer": AttributeType.LONG,
    "floating": AttributeType.DOUBLE,
    "mixed-integer-float": AttributeType.DOUBLE,
    "decimal": AttributeType.DOUBLE,
    "datetime": AttributeType.LONG,
    "datetime64": AttributeType.LONG,
    "date": AttributeType.LONG,
}


@dataclass(frozen=True)
class Column:
    """What an attribute for a column would be.

    Attributes:
        type: its type.
        is_instant: whether the column holds dates or date-times.
        mixed: why no type fits all of its values; empty: one does.
    """

    type: AttributeType
    is_instant: bool = False
    mixed: str = ""

    @property
    def may_be_time(self) -> bool:
        """Whether the values can be times of events: date-times, numbers as ms, or text."""
        return self.is_instant or self.type not in (AttributeType.BOOL, AttributeType.OBJECT)


def columns_of(table: Any) -> dict[str, Column] | None:
    """Return the columns of a table by name; None: it is of a kind whose columns can't be seen before it is read."""
    if _is_a(table, "pandas", "DataFrame"):
        return {name: _column_of(table[name]) for name in table.columns}
    if _is_a(table, "polars", "LazyFrame"):
        return _named_types(table.collect_schema().items())
    if _is_a(table, "polars", "DataFrame"):
        return _named_types(table.schema.items())
    schema = getattr(table, "schema", None)
    if schema is None and _is_a(table, "pyarrow.dataset", "Scanner"):
        schema = table.projected_schema
    if _is_a(schema, "pyarrow", "Schema"):
        return _named_types((field.name, field.type) for field in schema)  # type: ignore[union-attr]
    if isinstance(table, EventBatch):
        return {name: Column(AttributeType(kind)) for name, kind in zip(table.names, table.types, strict=True)}
    if isinstance(table, Mapping):
        return {name: _column_of(values) for name, values in table.items()}
    names = getattr(getattr(table, "dtype", None), "names", None)
    if names is not None:
        return {name: _column_of(table[name]) for name in names}
    return None


def type_of_values(values: Iterable[object]) -> AttributeType:
    """Return the type of an attribute for Python values: the one type they have, or double for whole and other numbers."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) == 1:
        return _PYTHON.get(kinds.pop(), AttributeType.OBJECT)
    if kinds and kinds <= _NUMBERS:
        return AttributeType.DOUBLE
    return AttributeType.OBJECT if kinds else AttributeType.STRING


def _column_of_values(values: Sequence[object]) -> Column:
    """Return the column of Python values. Objects of any class are attributes, but not plain values of several types."""
    plain = plain_column(values)
    if hasattr(plain, "dtype"):
        return Column(AttributeType.LONG, is_instant=True)
    kind = type_of_values(plain)
    return Column(kind, mixed=_mixed(plain) if kind is AttributeType.OBJECT else "")


def _mixed(values: Sequence[object]) -> str:
    """Return where plain values begin to have another type; empty: there are other objects among them."""
    if not all(value is None or type(value) in _PYTHON or is_instant(value) for value in values):
        return ""
    before: set[type] = set()
    for row, value in enumerate(values):
        if value is None or type(value) in before:
            continue
        if before and not {*before, type(value)} <= _NUMBERS:
            return f"row {row} is {shown(value)}, a {type(value).__name__}, after {before.pop().__name__} values"
        before.add(type(value))
    return ""


def _named_types(pairs: Iterable[tuple[str, object]]) -> dict[str, Column]:
    return {name: _named(str(kind)) for name, kind in pairs}


def _named(kind: str) -> Column:
    """Return the column of a type that is known by name."""
    lower = kind.lower()
    found = max((name for name in _NAMES if lower.startswith(name)), key=len, default=None)
    if found is None:
        return Column(AttributeType.OBJECT)
    return Column(_NAMES[found], lower.startswith(_TIMES))


def _column_of(values: Any) -> Column:
    if _is_a(values, "pandas", "Series") or _is_a(values, "pandas", "Index"):
        return _pandas_column(values)
    if _is_a(values, "numpy", "ndarray") or hasattr(values, "dtype"):
        dtype = values.dtype
        kind = getattr(dtype, "kind", "")
        if kind == "O":
            return _column_of_values(values.tolist())
        if kind in ("U", "T"):
            return Column(AttributeType.STRING)
        return _named(str(dtype))
    kind = getattr(values, "type", None)
    if kind is not None:  # an array of pyarrow
        return _named(str(kind))
    try:
        view = memoryview(values)
    except TypeError:
        return _column_of_values(tuple(values))
    import numpy as np

    return _named(str(np.asarray(view).dtype))


def _pandas_column(values: Any) -> Column:
    name = str(values.dtype)
    if name == "object":
        kind = sys.modules["pandas"].api.types.infer_dtype(values, skipna=True)
        if kind.startswith("mixed"):
            missing = values.isna()
            return _column_of_values([None if null else value for null, value in zip(missing, values, strict=True)])
        return Column(_PANDAS_OBJECTS.get(kind, AttributeType.OBJECT), is_instant=kind.startswith("date"))
    if name == "category":
        return _pandas_column(values.cat.categories if hasattr(values, "cat") else values.categories)
    if name.startswith("Sparse["):
        return _named(name.removeprefix("Sparse["))
    return _named(name)


def _is_a(value: object, module: str, name: str) -> bool:
    """Return whether a value is of a class of an optional module, which may not have been imported."""
    return isinstance(value, getattr(sys.modules.get(module), name, ()))
