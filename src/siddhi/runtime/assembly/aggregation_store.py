"""The rows of one bucket length of an aggregation, where they are kept in a store."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from siddhi.errors import SiddhiAppCreationError
from siddhi.query_api.definition import Attribute as Described
from siddhi.query_api.span import Span
from siddhi.runtime.assembly.stores import StoreTable
from siddhi.stores.expression import (
    Aggregate,
    And,
    Attribute,
    Comparison,
    Expression,
    Parameter,
    UnsupportedExpressionError,
)
from siddhi.stores.queryable import QueryableRecordTable, Selection
from siddhi.types import AttributeType

__all__ = ["BucketStore"]

Row = tuple[Any, ...]

_LONG, _BOOL = AttributeType.LONG, AttributeType.BOOL


class BucketStore:
    """Rows of buckets that are over.

    Args:
        table: that keeps them: AGG_TIMESTAMP first, then SHARD_ID where there is a shard, then the rest.
        shard: the node's name; None: the table is its own. Rows are taken and given without it.
        by: position of the bucket's time in the table.
        span: of the aggregation.

    Raises:
        SiddhiAppCreationError: the store can't find rows by time.
    """

    def __init__(self, table: StoreTable, shard: str | None, by: int, span: Span | None) -> None:
        self._runtime = table.runtime
        self._shard = shard
        self._by = by
        self._store = store = table.store
        rolled, time = (self._attribute(table.attributes, position) for position in (0, by))
        own: tuple[Expression, ...] = ()
        if shard is not None:
            where = self._attribute(table.attributes, 1)
            own = (Comparison(_BOOL, "==", where, Parameter(AttributeType.STRING, "shard")),)
        start, end = Parameter(_LONG, "start"), Parameter(_LONG, "end")
        since = Comparison(_BOOL, ">=", rolled, start)
        try:
            self._within = store.compile_condition(
                And(_BOOL, (Comparison(_BOOL, ">=", time, start), Comparison(_BOOL, "<", time, end)))
            )
            self._since = store.compile_condition(since)
            self._own_since = store.compile_condition(_all((since, *own)))
            self._own = store.compile_condition(own[0]) if own else None
            self._bucket = store.compile_condition(_all((Comparison(_BOOL, "==", rolled, start), *own)))
            self._before = store.compile_condition(Comparison(_BOOL, "<", time, end))
        except UnsupportedExpressionError as error:
            raise SiddhiAppCreationError(
                f"the store can't find the rows of an aggregation by time: {error}", code="E327", span=span
            ) from error
        self._newest: Any = None
        if isinstance(store, QueryableRecordTable):
            newest = Selection((("newest", Aggregate(_LONG, "max", rolled)),), aggregates=True)
            try:
                self._newest = partial(store.query, self._own, store.compile_selection(newest))
            except UnsupportedExpressionError:
                self._newest = None  # found by looking at all rows

    @staticmethod
    def _attribute(attributes: Sequence[Described], position: int) -> Attribute:
        return Attribute(attributes[position].type, attributes[position].name, position)

    def replace(self, buckets: list[int], records: list[Row]) -> None:
        """Keep rows in place of those that an app like this one has kept of the same buckets (AGG_TIMESTAMP) before."""
        mine = {} if self._shard is None else {"shard": self._shard}
        kept = [record if self._shard is None else (record[0], self._shard, *record[1:]) for record in records]
        old = [{"start": bucket, **mine} for bucket in buckets]

        def put() -> None:
            self._store.delete(self._bucket, old)
            self._store.add(kept)

        # As a whole: repeated after a connection broke, it gives what it gives once.
        self._runtime.until_done(put)

    def within(self, start: int, end: int) -> list[Row]:
        """The rows, of all nodes, of the buckets that begin in [start, end), older ones first."""
        return self._rows(self._runtime.find(self._within, {"start": start, "end": end}))

    def since(self, start: int | None, own: bool) -> list[Row]:
        """The rows that were kept for this AGG_TIMESTAMP and later ones, older ones first.

        Args:
            start: None: all.
            own: those of this node alone.
        """
        mine = {"shard": self._shard} if own and self._shard is not None else {}
        if start is None:
            return self._rows(self._runtime.find(self._own if mine else None, mine))
        return self._rows(self._runtime.find(self._own_since if own else self._since, {"start": start, **mine}))

    def newest(self) -> int | None:
        """The latest AGG_TIMESTAMP this node has kept rows for; None: it has none."""
        mine = {} if self._shard is None else {"shard": self._shard}
        if self._newest is not None:
            rows = self._runtime.until_done(lambda: list(self._newest(mine)))
            return None if not rows or rows[0][0] is None else int(rows[0][0])
        return max((row[0] for row in self.since(None, True)), default=None)

    def delete_before(self, oldest: int) -> None:
        """Forget the rows, of all nodes, of buckets that began before."""
        self._runtime.until_done(lambda: self._store.delete(self._before, [{"end": oldest}]))

    def _rows(self, found: Sequence[Sequence[Any]]) -> list[Row]:
        rows = [tuple(row) if self._shard is None else (row[0], *row[2:]) for row in found]
        rows.sort(key=lambda row: row[0])
        return rows


def _all(parts: tuple[Expression, ...]) -> Expression:
    return parts[0] if len(parts) == 1 else And(_BOOL, parts)
