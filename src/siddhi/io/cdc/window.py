"""The rows around the position of a poll: which of them were received."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from hashlib import blake2b
from typing import Any, cast

__all__ = ["Row", "Window", "decode", "encode"]

_PRUNED_FROM = 1000  # entries

Row = Sequence[Any]


def encode(value: object) -> object:
    """Return a value of a polling column as a snapshot can keep it.

    Raises:
        ValueError: values of this type have no order that can be kept.
    """
    if value is None or (isinstance(value, (int, float, str)) and not isinstance(value, bool)):
        return value
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    raise ValueError(f"a value of type {type(value).__name__} can't be a position")


def decode(state: object) -> Any:
    """Return the value of :func:`encode`."""
    if not isinstance(state, dict):
        return state
    ((kind, text),) = state.items()
    if kind == "datetime":
        return datetime.fromisoformat(text)
    return date.fromisoformat(text) if kind == "date" else Decimal(text)


class Window:
    """Remembers the rows that were received, from the highest value of the polling column minus a lag on.

    Rows that were handed over are settled once they are processed: snapshots contain those only.

    Args:
        column: index of the polling column.
        keys: indexes of the primary key; empty: the whole row is compared, and equal rows are counted.
        lag: how far below the highest value a row can still be new; None: only rows of the highest value.

    Attributes:
        value: the highest value that was handed over; None: none.
    """

    def __init__(self, column: int, keys: Sequence[int], lag: int | Decimal | timedelta | None) -> None:
        self._column = column
        self._keys = tuple(keys)
        self._lag = lag
        self.value: Any = None
        self._settled: Any = None  # the highest value of the settled rows
        self._counts: dict[tuple[Any, str], int] = {}  # settled rows
        self._pending: deque[tuple[int, tuple[Any, str]]] = deque()
        self._pending_counts: dict[tuple[Any, str], int] = {}
        self._pruned_from = _PRUNED_FROM
        self._number = 0

    @property
    def start(self) -> Any:
        """The value from which rows can be new; None: there is no position yet."""
        return _minus(self.value, self._lag)

    def value_of(self, row: Row) -> Any:
        """Return the value of the polling column."""
        return row[self._column]

    def unseen(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Return the rows of a page that were not handed over; a page has all rows of its first value, from the first on."""
        found: dict[tuple[Any, str], int] = {}
        for row in rows:
            key = self._key(row)
            found[key] = count = found.get(key, 0) + 1
            if count > self._counts.get(key, 0) + self._pending_counts.get(key, 0):
                yield row

    def add(self, row: Row) -> int:
        """Record that a row is handed over, and return its number, which only grows."""
        key = self._key(row)
        self._number += 1
        self._pending.append((self._number, key))
        self._pending_counts[key] = self._pending_counts.get(key, 0) + 1
        self.value = _greater(self.value, key[0])
        return self._number

    def skip(self, rows: Iterable[Row]) -> None:
        """Record that rows are not to be received."""
        for row in rows:
            self._settle(self._key(row))
        self.value = _greater(self.value, self._settled)

    def begin(self, value: object) -> None:
        """Begin at a value: rows from it on are new."""
        self.value = self._settled = value

    def settle(self, number: object) -> None:
        """Record that all rows up to a number are processed; None: none is."""
        if number is None:
            return
        last = cast("int", number)
        while self._pending and self._pending[0][0] <= last:
            _, key = self._pending.popleft()
            self._forget_pending(key)
            self._settle(key)

    def drop_pending(self) -> None:
        """Forget the rows that are not processed: they are received again."""
        self._pending.clear()
        self._pending_counts.clear()
        self.value = self._settled

    def _settle(self, key: tuple[Any, str]) -> None:
        self._settled = _greater(self._settled, key[0])
        self._counts[key] = self._counts.get(key, 0) + 1
        if len(self._counts) >= self._pruned_from:
            start = _minus(self._settled, self._lag)
            self._counts = {key: count for key, count in self._counts.items() if key[0] >= start}
            self._pruned_from = 2 * len(self._counts) + _PRUNED_FROM

    def _forget_pending(self, key: tuple[Any, str]) -> None:
        if (count := self._pending_counts[key] - 1) > 0:
            self._pending_counts[key] = count
        else:
            del self._pending_counts[key]

    def _key(self, row: Row) -> tuple[Any, str]:
        value = row[self._column]
        if self._keys:
            return value, repr(tuple(row[index] for index in self._keys))
        return value, blake2b(repr(tuple(row)).encode(errors="surrogatepass"), digest_size=16).hexdigest()

    # --- state

    def state(self) -> list[object]:
        """Return the settled rows, for a snapshot."""
        start = _minus(self._settled, self._lag)
        rows = [[encode(value), key, count] for (value, key), count in self._counts.items() if value >= start]
        return [encode(self._settled), rows]

    def load(self, state: Sequence[Any]) -> None:
        """Set the state, and forget all rows."""
        value, rows = state
        self.drop_pending()
        self.value = self._settled = decode(value)
        self._counts = {(decode(value), key): count for value, key, count in rows}


def _greater(value: Any, other: Any) -> Any:
    return other if value is None or (other is not None and other > value) else value


def _minus(value: Any, lag: Any) -> Any:
    if value is None or lag is None:
        return value
    if isinstance(value, float):
        return value - float(lag)
    if isinstance(value, datetime):
        # Not below the first year, which databases do not have either.
        return value - min(
            lag, value - value.replace(year=1, month=1, day=1, hour=0, minute=0, second=0, microsecond=0)
        )
    return value - lag
