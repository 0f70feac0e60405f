"""Rows of Python objects as tables: mappings, events, objects with named fields, and plain tuples."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from siddhi._core.record.user_event import Event
from siddhi.errors import EventError
from siddhi.frames.values import is_instant, plain_column

__all__ = ["TableOfRows", "tables_of_rows"]

ROWS = 8192
"""Rows per table."""


@dataclasses.dataclass(frozen=True)
class TableOfRows:
    """Columns of values by name, and the times (ms) of rows that have some."""

    columns: dict[str, Any]
    times: list[int] | None


def tables_of_rows(
    stream: str, rows: Iterable[Any], names: Sequence[str] | None, times: Collection[str] = ()
) -> Iterator[TableOfRows]:
    """Yield the rows as tables. What the first row is, all others have to be.

    Args:
        stream: name of the stream, for errors.
        rows: mappings, events, dataclasses, named tuples, msgspec structs, or tuples and lists in the order of *names*.
        names: names of the attributes; None: those of the first row.
        times: columns that are read as well if rows with names have them, as those of date-times are.

    Raises:
        EventError: a row is of another kind than the first, lacks a value, or has no names and none are given.
    """
    remaining = iter(rows)
    first = next(remaining, None)
    if first is None:
        return
    by_name = _names_of(first)
    if names is None:
        names = by_name or getattr(first, "_fields", ())
    else:
        names = (*names, *(name for name in by_name or () if name not in names and _may_be_time(first, name, times)))
    if not names:
        raise EventError(
            f"stream '{stream}': rows without names need a definition: write 'define stream {stream} (...)' in the text, "
            "or give mappings"
        )
    read = _reader(first, by_name)
    remaining = chain((first,), remaining)
    before = 0
    while part := list(islice(remaining, ROWS)):
        values: list[Sequence[object]] = []
        for number, row in enumerate(part, before):
            try:
                values.append(read(row, names))
            except (KeyError, AttributeError, TypeError, ValueError) as error:
                raise EventError(f"stream '{stream}', row {number}: {_why(row, first, names, error)}") from error
        at = [row.timestamp for row in part] if isinstance(first, Event) else None
        yield TableOfRows(dict(zip(names, map(plain_column, zip(*values, strict=True)), strict=True)), at)
        before += len(part)


def _names_of(row: Any) -> tuple[str, ...] | None:
    """Return the names of the values of a row; None: it has none, or is an event, whose values are in order."""
    if isinstance(row, Event):
        return None
    if isinstance(row, Mapping):
        return tuple(row)
    if dataclasses.is_dataclass(row):
        return tuple(field.name for field in dataclasses.fields(row))
    fields = getattr(row, "_fields", None) or getattr(row, "__struct_fields__", None)
    return None if fields is None else tuple(fields)


def _may_be_time(row: Any, name: str, times: Collection[str]) -> bool:
    if name in times:
        return True
    return is_instant(row[name] if isinstance(row, Mapping) else getattr(row, name))


def _reader(first: Any, by_name: tuple[str, ...] | None) -> Callable[[Any, tuple[str, ...]], Sequence[object]]:
    """Return the function that reads a row as a sequence of values in the order of the names."""
    if isinstance(first, Mapping):
        return lambda row, names: [row[name] for name in names]
    if isinstance(first, Event):
        return lambda row, names: _of_length(row.data, names)
    if by_name is not None:
        return lambda row, names: [getattr(row, name) for name in names]
    return lambda row, names: _of_length(tuple(row), names)


def _of_length(values: tuple[object, ...], names: tuple[str, ...]) -> tuple[object, ...]:
    if len(values) != len(names):
        raise ValueError(f"{len(values)} values instead of {len(names)} ({', '.join(names)})")
    return values


def _why(row: object, first: object, names: tuple[str, ...], error: Exception) -> str:
    if type(row) is not type(first) and not isinstance(row, Mapping):
        return f"a {type(row).__name__}, but the first row is a {type(first).__name__}"
    if isinstance(error, (KeyError, AttributeError)):
        there = _names_of(row) or ()
        return (
            f"no '{next((name for name in names if name not in there), error)}'; it has: {', '.join(map(str, there))}"
        )
    return str(error)
