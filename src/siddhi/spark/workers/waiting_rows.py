"""The rows of a shard that wait for the watermark: in the store, and decoded in the worker that put them there."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siddhi.spark.workers.pack import packed, unpacked
from siddhi.spark.workers.worker import Kept

__all__ = ["WaitingRows", "in_order", "new_token"]

_MOST_BYTES = 256 << 20
_kept: Kept[list[pa.RecordBatch]] = Kept(_MOST_BYTES)
_NONE = 0
"""The token of a shard that has no rows waiting."""


def new_token() -> int:
    """A name for a state as this attempt writes it."""
    return secrets.randbits(62) + 1


class WaitingRows:
    """Rows that wait, and the one timer of a shard.

    Args:
        pending: Spark's list of packed rows.
        timer: Spark's value of when the timer is to fire, and of the token of the rows.
        handle: that registers timers.
        ordering: how many columns order rows; the first is event time.
    """

    def __init__(self, pending: Any, timer: Any, handle: Any, ordering: int) -> None:
        self._pending = pending
        self._timer = timer
        self._handle = handle
        self._ordering = ordering
        self._told: dict[int, tuple[int | None, int]] = {}

    def add(self, query: str, shard: int, rows: Iterable[tuple[bytes, pa.RecordBatch]]) -> None:
        """Put rows aside, packed and not; the timer fires when the watermark has passed the first of them."""
        armed, token = self._state(shard)
        held = self._held(query, shard, token)
        first: int | None = None
        added = []
        for data, batch in rows:
            bounds = pc.min_max(batch.column(0)).as_py()
            self._pending.appendValue((data, bounds["min"], bounds["max"], batch.num_rows))
            first = bounds["min"] if first is None else min(first, bounds["min"])
            added.append(batch)
        if first is None:
            self._keep(query, shard, token, held)
            return
        token = new_token()
        self._arm(shard, armed, first + 1 if armed is None else min(armed, first + 1), token)
        self._keep(query, shard, token, None if held is None else [*held, *added])

    def split(self, query: str, shard: int, watermark: int) -> tuple[pa.RecordBatch | None, list[pa.RecordBatch], int]:
        """What the watermark has passed, in order, or None; what not, and its token. The store has only the latter then."""
        _, token = self._state(shard)
        if token == _NONE:
            return None, [], token
        held = self._held(query, shard, token)
        if held is None:
            held = [unpacked(bytes(data)) for data, *_ in self._pending.get()]
        ready, rest = _divided(held, watermark)
        if not ready:
            return None, rest, token
        self._pending.clear()
        for batch in rest:
            bounds = pc.min_max(batch.column(0)).as_py()
            self._pending.appendValue((packed(batch), bounds["min"], bounds["max"], batch.num_rows))
        return in_order(ready, self._ordering), rest, new_token() if rest else _NONE

    def rearm(
        self, query: str, shard: int, rest: list[pa.RecordBatch], token: int, due: int | None, fired: int | None
    ) -> None:
        """Let the timer wait for what is left, and for what is due in the engine.

        Args:
            rest: what waits now, with its token.
            due: when the engine's next timer is due (ms).
            fired: the timer that just fired; Spark deletes it.
        """
        nexts = [pc.min(batch.column(0)).as_py() + 1 for batch in rest]
        nexts += [] if due is None else [due + 1]
        armed, _ = self._state(shard)
        self._arm(shard, armed, min(nexts) if nexts else None, token, fired)
        self._keep(query, shard, token, rest)

    def put(self, shard: int, rows: Iterable[tuple[bytes, int, int, int]], at: int) -> None:
        """Write what a shard has that has nothing in the store yet.

        Args:
            rows: that wait: (packed, first event time, last event time, how many); only the store gets them.
            at: when the timer is to fire (ms); no later than the watermark passes the first of them.
        """
        token = _NONE
        for row in rows:
            self._pending.appendValue(row)
            token = new_token()
        armed, _ = self._state(shard)
        self._arm(shard, armed, at, token)

    def clear(self, shard: int, fired: int | None) -> None:
        """Forget the rows of a shard, and its timer.

        Args:
            fired: the timer that just fired; Spark deletes it.
        """
        self._pending.clear()
        armed, _ = self._state(shard)
        self._arm(shard, armed, None, _NONE, fired)

    # --- what the store says

    def _state(self, shard: int) -> tuple[int | None, int]:
        """When the timer is to fire, and the token of the rows; asked for once per task."""
        if shard not in self._told:
            held = self._timer.get()
            at, token = (None, _NONE) if held is None else held
            # Rows that something else put there have no token: one that nothing is kept under.
            self._told[shard] = (at, new_token() if token is None else token)
        return self._told[shard]

    def _held(self, query: str, shard: int, token: int) -> list[pa.RecordBatch] | None:
        """The rows that wait, where this process has them."""
        return [] if token == _NONE else _kept.take(query, shard, token)

    def _keep(self, query: str, shard: int, token: int, rows: list[pa.RecordBatch] | None) -> None:
        if rows:
            _kept.put(query, shard, token, rows, sum(batch.nbytes for batch in rows))

    def _arm(self, shard: int, armed: int | None, at: int | None, token: int, fired: int | None = None) -> None:
        if at != armed:
            if armed is not None and armed != fired:
                self._handle.deleteTimer(armed)
            if at is not None:
                self._handle.registerTimer(at)
        if at is None:
            self._timer.clear()
        elif (at, token) != self._told[shard]:
            self._timer.update((at, token))
        self._told[shard] = (at, token)


def in_order(batches: list[pa.RecordBatch], ordering: int) -> pa.RecordBatch:
    """Rows in the order of their first columns; what is equal there goes by its values, the same whenever it is done again."""
    (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    times = batch.column(0).to_numpy()
    if np.all(times[1:] > times[:-1]):
        return batch
    # By ordinal: the names of a door are those of an app, which may be anything.
    batch = batch.rename_columns([f"o{n}" for n in range(batch.num_columns)])
    keys = [(f"o{n}", "ascending") for n in range(batch.num_columns)]
    ordered = batch.take(pc.sort_indices(batch, sort_keys=keys[:ordering]))
    if _has_ties(ordered, ordering):
        ordered = batch.take(pc.sort_indices(batch, sort_keys=keys))
    return ordered


def _has_ties(rows: pa.RecordBatch, ordering: int) -> bool:
    """Whether neighbours are equal in all of the first columns."""
    equal = np.ones(rows.num_rows - 1, bool)
    for n in range(ordering):
        column = rows.column(n)
        if column.null_count:  # of rows that an earlier version put there
            column = pc.fill_null(column, -1)
        values = column.to_numpy()
        equal &= values[1:] == values[:-1]
        if not equal.any():
            return False
    return True


def _divided(batches: list[pa.RecordBatch], watermark: int) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
    """Rows below the watermark, and the others."""
    ready, rest = [], []
    for batch in batches:
        passed = pc.less(batch.column(0), watermark)
        n = pc.sum(passed).as_py() or 0
        if n == batch.num_rows:
            ready.append(batch)
        elif not n:
            rest.append(batch)
        else:
            ready.append(batch.filter(passed))
            rest.append(batch.filter(pc.invert(passed)))
    return [b for b in ready if b.num_rows], [b for b in rest if b.num_rows]
