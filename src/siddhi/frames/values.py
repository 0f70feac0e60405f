"""Columns of Python objects as plain values, date-times as arrays, and the times that text and whole numbers stand for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import numpy.typing as npt

from siddhi._core.record.event import means_null
from siddhi.errors import shown

__all__ = ["is_instant", "plain_column", "times_in_numbers", "times_in_text"]

_PLAIN = frozenset({bool, int, float, str, type(None)})
_INSTANTS = (date, np.datetime64)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = timedelta(milliseconds=1)


def is_instant(value: object) -> bool:
    """Return whether a value is a date or a date-time."""
    return isinstance(value, _INSTANTS) and not means_null(value)


def plain_column(values: Sequence[object]) -> Any:
    """Return values without scalars of numpy and pandas; dates and date-times become an array, in UTC.

    ``pandas.NA`` and ``NaT`` become None. A date-time without a zone is in UTC. Other objects stay what they are.
    """
    if _PLAIN.issuperset(map(type, values)):
        return values
    plain = [_plain(value) for value in values]
    there = [value for value in plain if value is not None]
    if there and all(map(is_instant, there)):
        return np.array([_utc(value) for value in plain], "datetime64[us]")
    return tuple(plain)


def _plain(value: object) -> object:
    if means_null(value):
        return None
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else value
    if isinstance(value, np.generic) and not isinstance(value, np.timedelta64):
        return value.item()
    return value


def _utc(value: object) -> object:
    """Return a date-time without its zone, in UTC."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(timezone.utc).replace(tzinfo=None)
    return value


def times_in_text(column: str, values: Any, before: int) -> npt.NDArray[np.int64]:
    """Return the times (ms) that texts in ISO 8601 stand for; without a zone they are in UTC.

    Args:
        column: name of the column.
        values: the column, of any library.
        before: number of rows before it, for errors.

    Raises:
        ValueError: a text is invalid, or null.
    """
    times = np.empty(len(values), np.int64)
    for row, value in enumerate(_listed(values)):
        if not isinstance(value, str):
            raise ValueError(f"row {before + row}: column '{column}' is {_shown(value)}, an event needs a timestamp")
        try:
            at = datetime.fromisoformat(value[:-1] + "+00:00" if value.endswith(("Z", "z")) else value)
        except ValueError:
            raise ValueError(
                f"row {before + row}: column '{column}' is invalid: expected a time in ISO 8601 as "
                f"'2026-01-02T09:30:00Z', not {shown(value)}: convert the column to date-times or to integers in ms"
            ) from None
        at = at.replace(tzinfo=timezone.utc) if at.tzinfo is None else at
        times[row] = (at - _EPOCH) // _MILLISECOND
    return times


def times_in_numbers(column: str, values: Any, before: int) -> npt.NDArray[np.int64]:
    """Return the times (ms) that whole numbers in a column of floats stand for.

    Args:
        column: name of the column.
        values: the column, of any library.
        before: number of rows before it, for errors.

    Raises:
        ValueError: a number is not whole, or is missing.
    """
    numbers = np.array([np.nan if value is None else value for value in _listed(values)], np.float64)
    wrong = ~(np.isfinite(numbers) & (np.trunc(numbers) == numbers) & (np.abs(numbers) < 2.0**63))
    if wrong.any():
        row = int(wrong.argmax())
        value = float(numbers[row])
        if np.isnan(value):
            raise ValueError(f"row {before + row}: column '{column}' is NaN or null, an event needs a timestamp")
        raise ValueError(
            f"row {before + row}: column '{column}' is {value!r}, but times are whole numbers, in ms: multiply seconds by "
            "1000 and round them"
        )
    return numbers.astype(np.int64)


def _shown(value: object) -> str:
    return "null" if value is None or value != value else shown(value)


def _listed(values: Any) -> Sequence[object]:
    """Return a column of numpy, pandas, polars or Arrow as a list; missing values of pandas become None."""
    for name in ("to_pylist", "to_list", "tolist"):
        convert = getattr(values, name, None)
        if convert is not None:
            values = convert()
            break
    listed: Sequence[object] = plain_column(list(values))
    return listed
