"""Values: Python's numbers with the names of Java's types, and the conversion that Java did on the way in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite

__all__ = ["DoubleType", "LongType", "copied", "copied_mapping", "readers_of", "row_for", "unwrap"]


class LongType(int):
    """A value of a ``long`` attribute."""


class DoubleType(float):
    """A value of a ``double`` attribute."""


def _integer(value: object) -> object:
    return int(value) if isinstance(value, float) and isfinite(value) else value


def _real(value: object) -> object:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


_INTO: dict[str, Callable[[object], object]] = {"int": _integer, "long": _integer, "float": _real, "double": _real}
_OUT_OF: dict[str, Callable[..., object]] = {"long": LongType, "double": DoubleType}


def row_for(types: Sequence[str], values: Iterable[object]) -> tuple[object, ...]:
    """Convert numbers to the types of their attributes, as Java's casts do; all else is left to the engine to judge."""
    row = tuple(values)
    if len(row) != len(types):
        return row  # the engine says how many it wants
    return tuple(_INTO[type_](value) if type_ in _INTO else value for type_, value in zip(types, row, strict=True))


def readers_of(attributes: Iterable[tuple[str, str]]) -> list[Callable[..., object] | None]:
    """Return for each attribute the class of its values, or None for those that Python has."""
    return [_OUT_OF.get(type_) for _, type_ in attributes]


def unwrap(readers: Sequence[Callable[..., object] | None], row: Sequence[object]) -> list[object]:
    """Return the values of a row in PySiddhi's types."""
    return [
        value if value is None or reader is None else reader(value) for reader, value in zip(readers, row, strict=True)
    ]


def copied(data: object) -> object:
    """Return a value, or a copy of a list of values: what ``wrapData`` and ``unwrapData`` make where there is no Java."""
    return [copied(item) for item in data] if isinstance(data, list) else data


def copied_mapping(data: object) -> object:
    """Return a mapping, and those in it, as dicts; anything else as it is."""
    return {key: copied_mapping(value) for key, value in data.items()} if isinstance(data, Mapping) else data
