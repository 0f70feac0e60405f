"""Conversion of columns of event times to milliseconds since 1970."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timezone
from typing import Literal

import click
import pyarrow as pa
import pyarrow.compute as pc

from siddhi.cli.schema import TIMESTAMP_IN_WORDS

# ISO 8601 text with and without a zone (without: UTC), up to microseconds, then up to nanoseconds.
_TEXT_FORMS = (pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.timestamp("ns", "UTC"))

_LATEST_MS = 2**62

Until = int | Literal["end"] | None
"""How far the clock goes after the last event: to a time (ms), until no event waits any more, or not."""


class UnreadableTimestampError(ValueError):
    """A column or value is not a time."""


def epoch_ms(column: pa.Array) -> pa.Array:
    """Return event times as int64 ms; fractions of a millisecond are truncated.

    Integers are milliseconds; text is ISO 8601 or digits; dates are midnight UTC.

    Raises:
        UnreadableTimestampError: a value is null or not a time.
    """
    if column.null_count:
        raise UnreadableTimestampError("the time is null")
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = _read_text(column)
        kind = column.type
    if pa.types.is_integer(kind):
        return _in_range(column)
    if is_point_in_time(kind):
        return instants_to_ms(column)
    raise UnreadableTimestampError(f"a column of type {kind} can't be read as times")


def _in_range(column: pa.Array) -> pa.Array:
    bounds = pc.min_max(column).as_py()
    for time in (bounds["min"], bounds["max"]):
        if time is not None and (wrong := out_of_range(time)) is not None:
            raise UnreadableTimestampError(wrong)
    return column.cast(pa.int64())


def out_of_range(time: int) -> str | None:
    """Return why a number of ms is not a valid time; None if it is."""
    if -_LATEST_MS <= time <= _LATEST_MS:
        return None
    return f"{time} is out of range: times are ms since 1970, from -2^62 to 2^62"


def is_point_in_time(kind: pa.DataType) -> bool:
    """Return whether values of an Arrow type are dates or date-times."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def instants_to_ms(column: pa.Array) -> pa.Array:
    """Return dates and date-times as int64 ms, rounded down; null stays null."""
    if pa.types.is_timestamp(column.type):
        column = pc.floor_temporal(column, unit="millisecond")
    return column.cast(pa.timestamp("ms")).cast(pa.int64())


def _read_text(column: pa.Array) -> pa.Array:
    if len(column) == 0:
        return pa.array([], pa.int64())
    column = pc.utf8_trim_whitespace(column)
    first = column[0].as_py()
    forms = (pa.int64(),) if first.removeprefix("-").isdigit() else _TEXT_FORMS
    for form in forms:
        with suppress(pa.ArrowInvalid):
            return column.cast(form)
    raise UnreadableTimestampError(f"'{first}' or a later value is not a time")


def shown_time(time_ms: int) -> str:
    """Return a time as ISO 8601 text (UTC); one outside of the calendar in ms."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, timezone.utc).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return f"{time_ms} ms"


def read_time(_: click.Context, __: click.Parameter, value: str | None) -> Until:
    """Parse ``--until`` (Click callback)."""
    if value is None:
        return None
    if value == "end":
        return "end"
    try:
        return int(epoch_ms(pa.array([value]))[0].as_py())
    except UnreadableTimestampError:
        raise click.BadParameter(f"'{value}' is not {TIMESTAMP_IN_WORDS}") from None
