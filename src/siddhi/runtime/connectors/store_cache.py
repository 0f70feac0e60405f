"""Cache of a store in memory (``@cache``): all rows while they fit, else the rows that were looked up by key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import islice
from typing import Any, Protocol

from siddhi.runtime.connectors.table import StoreRuntime
from siddhi.runtime.connectors.table_cache import RowCache
from siddhi.stores.expression import Aggregate, Attribute
from siddhi.stores.queryable import QueryableRecordTable, Selection
from siddhi.types import AttributeType

__all__ = ["MirrorTable", "StoreCache"]

_CHECKED_MS = 10_000
"""Interval at which a store that was too large is checked whether it fits now, if rows don't expire."""
_PURGES = 5
"""The same interval in purge intervals, if rows expire."""

Row = Sequence[Any]


class MirrorTable(Protocol):
    """In-memory table with all rows of the store."""

    @property
    def refused(self) -> int:
        """Number of rows and changes refused because of their key, since it was created."""

    def __len__(self) -> int: ...

    def fill(self, rows: Sequence[Row]) -> None:
        """Replace the contents by these rows."""

    def row_values(self) -> list[tuple[Any, ...]]:
        """Return all rows in order."""


class StoreCache:
    """The cached rows of one store. All calls are made under the app's lock.

    Args:
        size: maximum number of rows.
        runtime: the store.
        attributes: names and types of the table's attributes.
        key_of: returns the primary key of a row; None: the table has none, and either all rows are cached or none.
        mirror: holds all rows while there are at most ``size``.
        rows: holds rows by key while there are more.
        retention_ms: older rows are read again; None: rows don't expire.
        purge_ms: interval at which expired rows are looked for.
        now: the app's clock in ms.

    Attributes:
        whole: whether all rows are in memory.
        rows: as passed.
    """

    def __init__(
        self,
        size: int,
        runtime: StoreRuntime,
        attributes: Sequence[tuple[str, AttributeType]],
        key_of: Callable[[Row], Hashable] | None,
        mirror: MirrorTable,
        rows: RowCache,
        retention_ms: int | None,
        purge_ms: int | None,
        now: Callable[[], int],
    ) -> None:
        self.whole = False
        self.rows = rows
        self._size = size
        self._runtime = runtime
        self._key_of = key_of
        self._mirror = mirror
        self._now = now
        self._reload_ms = None if retention_ms is None else retention_ms if purge_ms is None else purge_ms
        self._check_ms = _CHECKED_MS if self._reload_ms is None else _PURGES * self._reload_ms
        self._loaded = False
        self._checked = 0
        self._refused = 0  # refused by the store, minus those refused by the mirror
        columns = tuple((name, Attribute(type_, name, i)) for i, (name, type_) in enumerate(attributes))
        self._first, self._count = self._compile_reads(Selection(columns, limit=size + 1))

    def ensure(self) -> bool:
        """Load or refresh the cache if necessary; return whether all rows are in memory.

        Raises:
            ConnectionUnavailableError: the app is being shut down while the store is not connected.
            Exception: another error of the store.
        """
        if self.whole and self._mirror.refused != self._refused:
            # Store and mirror disagree about a refused row: another process writes to the store.
            self._loaded = False
        if not self._loaded:
            self.load()
        elif self.whole:
            if self._reload_ms is not None and self._now() - self._checked >= self._reload_ms:
                self.load()
        elif self._now() - self._checked >= self._check_ms:
            self._checked = self._now()
            if self._count() <= self._size:
                self.load()
        return self.whole

    def load(self) -> None:
        """Reload the first rows of the store."""
        self.whole = False
        self.rows.clear()
        self._mirror.fill(())
        found = self._first()
        self._checked = self._now()
        self._loaded = True
        if len(found) > self._size:
            self._keep(found[: self._size])
            return
        self._mirror.fill(found)
        self._refused = self._mirror.refused
        self.whole = True

    def invalidate(self) -> None:
        """Discard the cache, which may be wrong; the next read loads it again."""
        self._loaded = self.whole = False
        self.rows.clear()
        self._mirror.fill(())

    def put(self, row: Row) -> None:
        """Cache a row that was added to the store."""
        if self._loaded and not self.whole:
            self._keep((row,))

    def refuse(self) -> None:
        """Count a row or change that the store has refused."""
        self._refused += 1

    def grown(self) -> None:
        """Switch to caching by key if rows added to the mirror exceed the size; keep the latest rows."""
        if len(self._mirror) <= self._size:
            return
        self.whole = False
        self._checked = self._now()
        self.rows.clear()
        self._keep(self._mirror.row_values()[-self._size :])
        self._mirror.fill(())

    def _keep(self, rows: Iterable[Row]) -> None:
        """Cache rows by key."""
        if self._key_of is not None:
            for row in rows:
                self.rows.put(self._key_of(row), tuple(row))

    def _compile_reads(self, first_rows: Selection) -> tuple[Callable[[], list[Row]], Callable[[], int]]:
        """Compile two reads of the store: its first ``size + 1`` rows, and their count."""
        runtime, store = self._runtime, self._runtime.store
        if not isinstance(store, QueryableRecordTable):
            most = self._size + 1

            def some() -> list[Row]:
                return runtime.ask(lambda: list(islice(store.find(None, {}), most)))

            return some, lambda: len(some())
        count = Selection((("n", Aggregate(AttributeType.LONG, "count", None)),), aggregates=True)
        first, number = store.compile_selection(first_rows), store.compile_selection(count)

        def counted() -> int:
            return sum(row[0] for row in runtime.ask(lambda: list(store.query(None, number, {}))))

        return lambda: runtime.ask(lambda: list(store.query(None, first, {}))), counted
