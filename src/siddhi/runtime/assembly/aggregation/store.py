"""The buckets of one duration of an aggregation in a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from siddhi.errors import SiddhiAppCreationError
from siddhi.query_api.definition import Attribute as Described
from siddhi.query_api.span import Span
from siddhi.runtime.assembly.stores.stores import StoreTable
from siddhi.stores.expression import (
    Aggregate,
    And,
    Attribute,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Or,
    Parameter,
    UnsupportedExpressionError,
)
from siddhi.stores.queryable import QueryableRecordTable, Selection
from siddhi.types import AttributeType

__all__ = ["BucketStore"]

Row = tuple[Any, ...]

_LONG, _BOOL = AttributeType.LONG, AttributeType.BOOL


class BucketStore:
    """Rows of closed buckets.

    Args:
        table: the table of the rows: AGG_TIMESTAMP, then SHARD_ID if there is a shard, then the other columns.
        shard: name of this node; None: the table belongs to this node alone. Methods pass rows without it.
        by: position of the bucket's time in the table; the group attributes follow it.
        groups: number of group attributes.
        span: position of the aggregation, for errors.

    Raises:
        SiddhiAppCreationError: the store can't find rows by time.
    """

    def __init__(self, table: StoreTable, shard: str | None, by: int, groups: int, span: Span | None) -> None:
        self._runtime = table.runtime
        self._shard = shard
        self._by = by
        self._store = store = table.store
        rolled, time = (self._attribute(table.attributes, position) for position in (0, by))
        node = self._attribute(table.attributes, 1)
        own: tuple[Expression, ...] = ()
        if shard is not None:
            own = (Comparison(_BOOL, "==", node, Parameter(AttributeType.STRING, "shard")),)
        start, end, covered = (Parameter(_LONG, name) for name in ("start", "end", "covered"))
        before = Comparison(_BOOL, "<", time, end)
        since = Comparison(_BOOL, ">=", rolled, start)
        of_bucket = Comparison(_BOOL, "==", rolled, start)
        nodes = 0 if shard is None else 1
        at = max(0, by - nodes)  # position of the time in rows without the node's name
        self._key = slice(at, at + 1 + groups)
        key: list[Expression] = [Comparison(_BOOL, "==", time, Parameter(_LONG, "time"))]
        key += [_is_group(self._attribute(table.attributes, at + nodes + 1 + n), n) for n in range(groups)]
        try:
            self._within = store.compile_condition(And(_BOOL, (Comparison(_BOOL, ">=", time, start), before)))
            self._since = store.compile_condition(_all((since, *own)))
            self._rolled = store.compile_condition(_all((since, Comparison(_BOOL, "<", rolled, end), *own)))
            self._own = store.compile_condition(own[0]) if own else None
            self._bucket = store.compile_condition(_all((of_bucket, *own)))
            self._row = store.compile_condition(_all((of_bucket, *own, *key)))
            self._before = store.compile_condition(before)
            self._covered_before = store.compile_condition(
                _all((before, Comparison(_BOOL, "<", rolled, covered), *own))
            )
        except UnsupportedExpressionError as error:
            raise SiddhiAppCreationError(
                f"the store can't search the rows of an aggregation by time and group: {error}", code="E327", span=span
            ) from error
        self._newest: Callable[[dict[str, Any]], Any] | None = None
        if isinstance(store, QueryableRecordTable):
            newest = ("newest", Aggregate(_LONG, "max", rolled))
            selection = Selection((newest,), aggregates=True)
            if shard is not None:
                selection = Selection((("node", node), newest), group_by=(node,), aggregates=True)
            try:
                self._newest = partial(store.query, None, store.compile_selection(selection))
            except UnsupportedExpressionError:
                self._newest = None  # the maximum is computed over all rows

    @staticmethod
    def _attribute(attributes: Sequence[Described], position: int) -> Attribute:
        return Attribute(attributes[position].type, attributes[position].name, position)

    @property
    def _mine(self) -> dict[str, Any]:
        return {} if self._shard is None else {"shard": self._shard}

    def replace(self, buckets: list[int], records: list[Row]) -> None:
        """Replace the rows of buckets (AGG_TIMESTAMP) by others; an earlier run of the app may have stored some."""
        stored = self._with_node(records)
        replaced = [{"start": bucket, **self._mine} for bucket in buckets]

        def replace_rows() -> None:
            self._store.delete(self._bucket, replaced)
            self._store.add(stored)

        # Delete and add as one call: repeating both after a lost connection has the same result.
        self._runtime.until_done(replace_rows)

    def set_waiting(self, waits: bool) -> None:
        """Set whether calls wait for a store that is not connected, or fail."""
        self._runtime.waits = waits

    def exchange(self, bucket: int, records: list[Row]) -> None:
        """Replace the rows of one bucket (AGG_TIMESTAMP) that have the time and group of these; keep the others."""
        stored = self._with_node(records)
        mine = {"start": bucket, **self._mine}
        keys = {record[self._key] for record in records}
        if all(row[self._key] in keys for row in self._rows(self._runtime.find(self._bucket, mine))):
            self.replace([bucket], records)
            return
        replaced = [mine | _values(record[self._key]) for record in records]

        def replace_rows() -> None:
            self._store.delete(self._row, replaced)
            self._store.add(stored)

        self._runtime.until_done(replace_rows)

    def within(self, start: int, end: int, newest: dict[str, int] | None = None) -> list[Row]:
        """Return the rows of all nodes of the buckets that begin in [start, end), oldest first.

        Args:
            start: begin in ms.
            end: end in ms.
            newest: result of :meth:`newest_of_nodes`; later rows are left out. None: no rows are left out.
        """
        rows = self._runtime.find(self._within, {"start": start, "end": end})
        if newest is not None:
            rows = [row for row in rows if row[1] in newest and row[0] <= newest[row[1]]]
        return self._rows(rows)

    def since(self, start: int | None) -> list[Row]:
        """Return the rows of this node from an AGG_TIMESTAMP on (None: all), oldest first."""
        if start is None:
            return self._rows(self._runtime.find(self._own, self._mine))
        return self._rows(self._runtime.find(self._since, {"start": start, **self._mine}))

    def rolled(self, start: int, end: int) -> list[Row]:
        """Return the rows of this node with an AGG_TIMESTAMP in [start, end), oldest first."""
        return self._rows(self._runtime.find(self._rolled, {"start": start, "end": end, **self._mine}))

    def between(self, starts: dict[str, int | None], newest: dict[str, int]) -> list[Row]:
        """Return the rows of all nodes in ranges of AGG_TIMESTAMP, oldest first.

        Args:
            starts: first AGG_TIMESTAMP by node; None: no lower bound.
            newest: last AGG_TIMESTAMP by node.
        """
        rows: list[Sequence[Any]] = []
        for node, last in newest.items():
            start = starts.get(node)
            if start is None:
                found = self._runtime.find(self._own, {"shard": node})
            elif start <= last:
                found = self._runtime.find(self._since, {"start": start, "shard": node})
            else:
                continue
            rows += [row for row in found if row[0] <= last]
        return self._rows(rows)

    def newest(self) -> int | None:
        """Return the latest AGG_TIMESTAMP of this node's rows; None: it has none."""
        return self.newest_of_nodes().get(self.node)

    def newest_of_nodes(self) -> dict[str, int]:
        """Return the latest AGG_TIMESTAMP by node; without shards the name of the only node is empty."""
        rows: list[Sequence[Any]]
        if self._newest is not None:
            query_newest = self._newest
            rows = self._runtime.until_done(lambda: list(query_newest({})))
        else:
            rows = [row[1::-1] for row in self._runtime.find(None, {})]
        if self._shard is None:
            return {"": max(row[-1] for row in rows)} if rows and rows[0][-1] is not None else {}
        newest: dict[str, int] = {}
        for node, time in rows:
            newest[node] = max(time, newest.get(node, time))
        return newest

    def delete_before(self, oldest: int, covered: dict[str, int] | None) -> None:
        """Delete the rows of buckets that began before a time.

        Args:
            oldest: the time in ms.
            covered: AGG_TIMESTAMP by node from which on rows stay, since no coarser row contains them yet; None: no rows
                stay for that reason.
        """
        condition = self._before
        values: list[dict[str, Any]] = [{"end": oldest}]
        if covered is not None:
            condition = self._covered_before
            values = [
                {"end": oldest, "covered": end, **({} if self._shard is None else {"shard": node})}
                for node, end in covered.items()
            ]
        if values:
            self._runtime.until_done(lambda: self._store.delete(condition, values))

    @property
    def node(self) -> str:
        """Name of this node in :meth:`newest_of_nodes`."""
        return self._shard or ""

    def _with_node(self, records: list[Row]) -> list[Row]:
        return [record if self._shard is None else (record[0], self._shard, *record[1:]) for record in records]

    def _rows(self, found: Sequence[Sequence[Any]]) -> list[Row]:
        rows = [tuple(row) if self._shard is None else (row[0], *row[2:]) for row in found]
        rows.sort(key=lambda row: row[0])
        return rows


def _is_group(attribute: Attribute, number: int) -> Expression:
    """Return the condition that an attribute equals that of the row's key, which may be null."""
    nothing = Comparison(_BOOL, "==", Parameter(_LONG, f"null_{number}"), Constant(_LONG, 1))
    same = Comparison(_BOOL, "==", attribute, Parameter(attribute.type, f"group_{number}"))
    return Or(_BOOL, (same, And(_BOOL, (IsNull(_BOOL, attribute), nothing))))


def _values(key: Row) -> dict[str, Any]:
    """Return the parameters that find a row: its time, then its group."""
    values: dict[str, Any] = {"time": key[0]}
    for number, value in enumerate(key[1:]):
        values[f"group_{number}"] = value
        values[f"null_{number}"] = int(value is None)
    return values


def _all(parts: tuple[Expression, ...]) -> Expression:
    return parts[0] if len(parts) == 1 else And(_BOOL, parts)
