"""Recently read or written rows of a store, by primary key (``@cache``)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from enum import Enum
from typing import Any

__all__ = ["CachePolicy", "RowCache"]

Row = Sequence[Any]


class CachePolicy(Enum):
    """Which row is evicted: the oldest, the least recently used, or the least frequently used."""

    FIFO = "FIFO"
    LRU = "LRU"
    LFU = "LFU"


class _Entry:
    __slots__ = ("added", "row", "uses")

    def __init__(self, row: Row, added: int) -> None:
        self.row = row
        self.added = added
        self.uses = 0


class RowCache:
    """A cache of at most ``size`` rows.

    Args:
        size: maximum number of rows.
        policy: which row is evicted.
        retention_ms: rows expire this long after they were added; None: never.
        purge_ms: interval at which expired rows are removed to release memory.
        now: the app's clock in ms.
    """

    def __init__(
        self, size: int, policy: CachePolicy, retention_ms: int | None, purge_ms: int | None, now: Callable[[], int]
    ) -> None:
        self._size = size
        self._policy = policy
        self._retention_ms = retention_ms
        self._purge_ms = retention_ms if purge_ms is None else purge_ms
        self._now = now
        self._purged = now()
        # Rows by number of uses, each group in order of eviction; a single group except for LFU.
        self._groups: dict[int, OrderedDict[Hashable, _Entry]] = {}
        self._entries: dict[Hashable, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> Row | None:
        """Return the row of a key, or None if it is not cached or has expired."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._retention_ms is not None and self._now() - entry.added >= self._retention_ms:
            self.drop(key)
            return None
        if self._policy is CachePolicy.LRU:
            self._groups[0].move_to_end(key)
        elif self._policy is CachePolicy.LFU:
            self._remove_from_group(key, entry)
            entry.uses += 1
            self._groups.setdefault(entry.uses, OrderedDict())[key] = entry
        return entry.row

    def put(self, key: Hashable, row: Row) -> None:
        """Add a row; evict another one if the cache is full."""
        self.drop(key)
        self._purge()
        if len(self._entries) >= self._size:
            self.drop(next(iter(self._groups[min(self._groups)])))
        entry = self._entries[key] = _Entry(row, self._now())
        self._groups.setdefault(0, OrderedDict())[key] = entry

    def drop(self, key: Hashable) -> None:
        """Remove a row."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._remove_from_group(key, entry)

    def clear(self) -> None:
        """Remove all rows."""
        self._entries.clear()
        self._groups.clear()

    def _remove_from_group(self, key: Hashable, entry: _Entry) -> None:
        group = self._groups[entry.uses]
        del group[key]
        if not group:
            del self._groups[entry.uses]

    def _purge(self) -> None:
        if self._retention_ms is None or self._purge_ms is None or self._now() - self._purged < self._purge_ms:
            return
        self._purged = self._now()
        for key in [key for key, entry in self._entries.items() if self._purged - entry.added >= self._retention_ms]:
            self.drop(key)
