"""What of a store is in memory (``@cache``): all of it while that is little, else rows that were looked up by key."""

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
"""How often a store that was too large is asked whether it fits by now, where rows don't expire."""
_PURGES = 5
"""The same, in purge intervals, where they do."""

Row = Sequence[Any]


class MirrorTable(Protocol):
    """The rows of the store in memory."""

    @property
    def refused(self) -> int:
        """Rows and changes dropped because of their key, ever."""

    def __len__(self) -> int: ...

    def fill(self, rows: Sequence[Row]) -> None:
        """Hold these rows and no others."""

    def row_values(self) -> list[tuple[Any, ...]]:
        """All rows, in order."""


class StoreCache:
    """The rows of one store in memory. All calls come under the lock of the app.

    Args:
        size: rows at the most.
        runtime: the store at work.
        attributes: names and types of the table's attributes.
        key_of: the primary key of a row; None: the table has none, and all rows are in memory, or none.
        mirror: holds all rows while they are at most ``size``.
        rows: holds rows by key while there are more.
        retention_ms: rows older than that are read anew; None: they stay.
        purge_ms: how often that is looked after.
        now: the app's clock in ms.

    Attributes:
        whole: all rows are in memory.
        rows: as given.
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
        self._refused = 0  # by the store, less those by the mirror
        columns = tuple((name, Attribute(type_, name, i)) for i, (name, type_) in enumerate(attributes))
        self._first, self._count = self._questions(Selection(columns, limit=size + 1))

    def ensure(self) -> bool:
        """Read what is to be in memory and is not; whether all rows are there.

        Raises:
            ConnectionUnavailableError: the app is being shut down, and the store away.
            Exception: what else the store raised.
        """
        if self.whole and self._mirror.refused != self._refused:
            # It refused what was taken here, or the other way round: somebody else writes it.
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
        """Begin anew with the first rows of the store."""
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
        """What is in memory may be wrong: all is read anew when it is asked for."""
        self._loaded = self.whole = False
        self.rows.clear()
        self._mirror.fill(())

    def put(self, row: Row) -> None:
        """A row was added to the store."""
        if self._loaded and not self.whole:
            self._keep((row,))

    def refuse(self) -> None:
        """The store has refused a row or change."""
        self._refused += 1

    def grown(self) -> None:
        """Rows were added to those in memory: where they are too many, the latest stay, to be found by key."""
        if len(self._mirror) <= self._size:
            return
        self.whole = False
        self._checked = self._now()
        self.rows.clear()
        self._keep(self._mirror.row_values()[-self._size :])
        self._mirror.fill(())

    def _keep(self, rows: Iterable[Row]) -> None:
        """Have rows ready for those who ask by key."""
        if self._key_of is not None:
            for row in rows:
                self.rows.put(self._key_of(row), tuple(row))

    def _questions(self, everything: Selection) -> tuple[Callable[[], list[Row]], Callable[[], int]]:
        """What reads the first rows of the store, one more than there is room for, and what counts them, up to that."""
        runtime, store = self._runtime, self._runtime.store
        if not isinstance(store, QueryableRecordTable):
            most = self._size + 1

            def some() -> list[Row]:
                return runtime.ask(lambda: list(islice(store.find(None, {}), most)))

            return some, lambda: len(some())
        count = Selection((("n", Aggregate(AttributeType.LONG, "count", None)),), aggregates=True)
        first, number = store.compile_selection(everything), store.compile_selection(count)

        def counted() -> int:
            return sum(row[0] for row in runtime.ask(lambda: list(store.query(None, number, {}))))

        return lambda: runtime.ask(lambda: list(store.query(None, first, {}))), counted
