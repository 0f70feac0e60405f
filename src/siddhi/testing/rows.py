"""Comparison of events with the rows that a test expects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from siddhi import Event
from siddhi.errors import did_you_mean

if TYPE_CHECKING:
    from siddhi.query_api.definition import StreamDefinition

__all__ = ["difference", "is_like", "read_rows", "shown_like"]


def read_rows(rows: Iterable[object], definition: StreamDefinition | None, *, timestamps: bool) -> list[object]:
    """Return expected rows as a list, with lists in place of tuples as tuples.

    Args:
        rows: the rows.
        definition: that of the stream; None: it was removed.
        timestamps: whether each row is ``(timestamp, values)``.

    Raises:
        TypeError: these are not rows.
        ValueError: a row names an attribute that the stream does not have.
    """
    if isinstance(rows, (Mapping, str, bytes, Event)) or not isinstance(rows, Iterable):
        raise TypeError(f"a list of rows is expected, such as [{rows!r}], not {rows!r}")
    return [_read(row, definition, timestamps) for row in rows]


def _read(row: object, definition: StreamDefinition | None, timestamps: bool) -> object:
    if row is None or isinstance(row, (str, bytes, bool, int, float)):
        raise TypeError(f"a row is a tuple or a mapping, such as ({row!r},), not {row!r}")
    if timestamps:
        if not isinstance(row, (tuple, list)) or len(row) != 2:
            raise TypeError(f"with timestamps=True a row is (timestamp, values), not {row!r}")
        return (row[0], _read(row[1], definition, False))
    if isinstance(row, Mapping) and definition is not None:
        names = [attribute.name for attribute in definition.attributes]
        for name in row:
            if name not in names:
                raise ValueError(
                    f"stream '{definition.id}' has no attribute {name!r}{did_you_mean(str(name), names)} "
                    f"(attributes: {', '.join(names)})"
                )
    return tuple(row) if isinstance(row, list) else row


def shown_like(row: object, event: Event, *, timestamps: bool) -> object:
    """Return an event in the form of the row it is compared with."""
    if timestamps:
        values = row[1] if isinstance(row, tuple) and len(row) == 2 else ()
        return (event.timestamp, shown_like(values, event, timestamps=False))
    if isinstance(row, Event):
        return event
    if isinstance(row, Mapping):
        # An attribute can be missing only if the stream was changed or removed meanwhile.
        known = event.to_dict()
        return {name: known[name] for name in row if name in known}
    return event.data


def is_like(got: object, wanted: object) -> bool:
    """Return whether values are equal; a value that is not a number (NaN) is like another one."""
    if isinstance(got, tuple) and isinstance(wanted, tuple):
        return len(got) == len(wanted) and all(map(is_like, got, wanted))
    if isinstance(got, dict) and isinstance(wanted, Mapping):
        return got.keys() == wanted.keys() and all(is_like(value, wanted[name]) for name, value in got.items())
    if isinstance(got, Event) and isinstance(wanted, Event):
        return is_like((got.timestamp, got.is_expired, got.data), (wanted.timestamp, wanted.is_expired, wanted.data))
    if isinstance(got, float) and isinstance(wanted, float) and got != got and wanted != wanted:
        return True
    return bool(got == wanted)


def difference(what: str, got: Sequence[object], wanted: Sequence[object]) -> str:
    """Return both lists, with a mark at the rows that differ."""
    lines = [f"{what}: {len(got)} events arrived, {len(wanted)} were expected"]
    for number in range(max(len(got), len(wanted))):
        if number < len(got) and number < len(wanted) and is_like(got[number], wanted[number]):
            lines.append(f"    {got[number]}")
            continue
        if number < len(wanted):
            lines.append(f"  - {wanted[number]}")
        if number < len(got):
            lines.append(f"  + {got[number]}")
    return "\n".join(lines)
