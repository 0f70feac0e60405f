"""The rows of one bucket length of an aggregation, where they are kept in a store."""

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
    """Rows of buckets that are over.

    Args:
        table: that keeps them: AGG_TIMESTAMP first, then SHARD_ID where there is a shard, then the rest.
        shard: the node's name; None: the table is its own. Rows are taken and given without it.
        by: position of the bucket's time in the table; the group stands behind it.
        groups: number of attributes of the group.
        span: of the aggregation.

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
        at = max(0, by - nodes)  # of the time in rows as they are taken and given, without a node's name
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
                f"the store can't find the rows of an aggregation by time and group: {error}", code="E327", span=span
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
                self._newest = None  # found by looking at all rows

    @staticmethod
    def _attribute(attributes: Sequence[Described], position: int) -> Attribute:
        return Attribute(attributes[position].type, attributes[position].name, position)

    @property
    def _mine(self) -> dict[str, Any]:
        return {} if self._shard is None else {"shard": self._shard}

    def replace(self, buckets: list[int], records: list[Row]) -> None:
        """Keep rows in place of those that an app like this one has kept of the same buckets (AGG_TIMESTAMP) before."""
        kept = self._kept(records)
        old = [{"start": bucket, **self._mine} for bucket in buckets]

        def put() -> None:
            self._store.delete(self._bucket, old)
            self._store.add(kept)

        # As a whole: repeated after a connection broke, it gives what it gives once.
        self._runtime.until_done(put)

    def set_waiting(self, waits: bool) -> None:
        """Say whether what is asked from now on waits for a store that is away; else it is an error."""
        self._runtime.waits = waits

    def exchange(self, bucket: int, records: list[Row]) -> None:
        """Keep rows of one bucket (AGG_TIMESTAMP) in place of those of their times and groups; others stand."""
        kept = self._kept(records)
        mine = {"start": bucket, **self._mine}
        keys = {record[self._key] for record in records}
        if all(row[self._key] in keys for row in self._rows(self._runtime.find(self._bucket, mine))):
            self.replace([bucket], records)
            return
        old = [mine | _values(record[self._key]) for record in records]

        def put() -> None:
            self._store.delete(self._row, old)
            self._store.add(kept)

        self._runtime.until_done(put)

    def within(self, start: int, end: int, newest: dict[str, int] | None = None) -> list[Row]:
        """The rows, of all nodes, of the buckets that begin in [start, end), older ones first.

        Args:
            start: in ms.
            end: in ms.
            newest: what :meth:`newest_of_nodes` said; rows that came behind it are left out. None: none are.
        """
        rows = self._runtime.find(self._within, {"start": start, "end": end})
        if newest is not None:
            rows = [row for row in rows if row[1] in newest and row[0] <= newest[row[1]]]
        return self._rows(rows)

    def since(self, start: int | None) -> list[Row]:
        """The rows this node has kept for this AGG_TIMESTAMP and later ones (None: all), older ones first."""
        if start is None:
            return self._rows(self._runtime.find(self._own, self._mine))
        return self._rows(self._runtime.find(self._since, {"start": start, **self._mine}))

    def rolled(self, start: int, end: int) -> list[Row]:
        """The rows this node has kept for the AGG_TIMESTAMPs in [start, end), older ones first."""
        return self._rows(self._runtime.find(self._rolled, {"start": start, "end": end, **self._mine}))

    def between(self, starts: dict[str, int | None], newest: dict[str, int]) -> list[Row]:
        """The rows of all nodes, older ones first.

        Args:
            starts: by node: the first AGG_TIMESTAMP that is wanted; None: all.
            newest: by node: the last that is wanted.
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
        """The latest AGG_TIMESTAMP this node has kept rows for; None: it has none."""
        return self.newest_of_nodes().get(self.node)

    def newest_of_nodes(self) -> dict[str, int]:
        """The latest AGG_TIMESTAMP of each node that has kept rows; the only one's name is empty where there are no nodes."""
        rows: list[Sequence[Any]]
        if self._newest is not None:
            ask = self._newest
            rows = self._runtime.until_done(lambda: list(ask({})))
        else:
            rows = [row[1::-1] for row in self._runtime.find(None, {})]
        if self._shard is None:
            return {"": max(row[-1] for row in rows)} if rows and rows[0][-1] is not None else {}
        newest: dict[str, int] = {}
        for node, time in rows:
            newest[node] = max(time, newest.get(node, time))
        return newest

    def delete_before(self, oldest: int, covered: dict[str, int] | None) -> None:
        """Delete the rows of buckets that began before.

        Args:
            oldest: in ms.
            covered: by node: rows of this AGG_TIMESTAMP and later ones stay, for they are in no coarser row yet; None: no
                row has to wait for that.
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
        """What :meth:`newest_of_nodes` calls this node."""
        return self._shard or ""

    def _kept(self, records: list[Row]) -> list[Row]:
        return [record if self._shard is None else (record[0], self._shard, *record[1:]) for record in records]

    def _rows(self, found: Sequence[Sequence[Any]]) -> list[Row]:
        rows = [tuple(row) if self._shard is None else (row[0], *row[2:]) for row in found]
        rows.sort(key=lambda row: row[0])
        return rows


def _is_group(attribute: Attribute, number: int) -> Expression:
    """Whether an attribute is what the row's key says, which may be null."""
    nothing = Comparison(_BOOL, "==", Parameter(_LONG, f"null_{number}"), Constant(_LONG, 1))
    same = Comparison(_BOOL, "==", attribute, Parameter(attribute.type, f"group_{number}"))
    return Or(_BOOL, (same, And(_BOOL, (IsNull(_BOOL, attribute), nothing))))


def _values(key: Row) -> dict[str, Any]:
    """What finds a row: its time, then its group."""
    values: dict[str, Any] = {"time": key[0]}
    for number, value in enumerate(key[1:]):
        values[f"group_{number}"] = value
        values[f"null_{number}"] = int(value is None)
    return values


def _all(parts: tuple[Expression, ...]) -> Expression:
    return parts[0] if len(parts) == 1 else And(_BOOL, parts)
