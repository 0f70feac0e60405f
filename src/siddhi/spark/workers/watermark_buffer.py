"""Watermark buffer: rows of a shard above the watermark, in the store and decoded in the worker that wrote them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siddhi.errors import SparkRunError
from siddhi.spark.workers.record_batch import decode, encode
from siddhi.spark.workers.worker import WorkerCache

__all__ = ["WatermarkBuffer", "in_order", "new_token"]

_MAX_BYTES = 256 << 20
_NUMBERED = 0
"""Token of cached rows: the numbers of their chunks identify them."""
_kept: WorkerCache[dict[int, pa.RecordBatch]] = WorkerCache(_MAX_BYTES)

Chunk = tuple[int, int]
"""Number and first event time of a chunk: buffered rows that are written once and never changed."""


def new_token() -> int:
    """Return a name for a state, unique to this attempt to write it."""
    return secrets.randbits(62) + 1


class WatermarkBuffer:
    """The buffered rows and the one timer of a shard.

    A chunk is written when its rows arrive and deleted when the watermark passes the first of them; the rest becomes a new chunk.
    A watermark step therefore costs what it emits, however many rows stay buffered.

    Args:
        pending: Spark's map from chunk numbers to encoded rows.
        timer: Spark's value with the time of the timer and the list of chunks.
        handle: Spark's handle, which registers timers.
        ordering: number of order columns; the first is event time.
    """

    def __init__(self, pending: Any, timer: Any, handle: Any, ordering: int) -> None:
        self._pending = pending
        self._timer = timer
        self._handle = handle
        self._ordering = ordering
        self._cached: dict[int, tuple[int | None, list[Chunk]]] = {}

    def add(self, query: str, shard: int, rows: Iterable[tuple[bytes, pa.RecordBatch]]) -> None:
        """Add rows, encoded and decoded; the timer fires when the watermark passes the first of them."""
        armed, chunks = self._state(shard)
        cached = self._decoded(query, shard, chunks)
        fresh = []
        taken = {number for number, _ in chunks}
        for data, batch in rows:
            chunk = self._write(data, batch, taken)
            fresh.append(chunk)
            taken.add(chunk[0])
            cached[chunk[0]] = batch
        if fresh:
            at = min(first for _, first in fresh) + 1
            self._arm(shard, at if armed is None else min(armed, at), [*chunks, *fresh])
        self._keep(query, shard, cached)

    def split(
        self,
        query: str,
        shard: int,
        watermark: int,
        upgrade_rows: Callable[[pa.RecordBatch], pa.RecordBatch] = lambda rows: rows,
    ) -> tuple[pa.RecordBatch | None, list[Chunk]]:
        """Remove the rows that the watermark has passed; return them in order, or None, and the chunks that are left.

        Args:
            upgrade_rows: upgrades rows as they were written to the current input schema; may drop rows.
        """
        _, chunks = self._state(shard)
        cached = self._decoded(query, shard, chunks)
        ready: list[pa.RecordBatch] = []
        rest: list[Chunk] = []
        taken = {number for number, _ in chunks}
        for number, first in chunks:
            if first >= watermark:
                rest.append((number, first))
                continue
            batch = cached.pop(number, None)
            if batch is None:
                batch = upgrade_rows(self._read(shard, number))
            self._pending.removeKey((number,))
            if not batch.num_rows:
                continue
            passed = pc.less(batch.column(0), watermark)
            if pc.all(passed).as_py():
                ready.append(batch)
                continue
            if pc.any(passed).as_py():
                ready.append(batch.filter(passed))
            waiting = batch.filter(pc.invert(passed))
            chunk = self._write(encode(waiting), waiting, taken)
            rest.append(chunk)
            cached[chunk[0]] = waiting
            taken.add(chunk[0])
        self._keep(query, shard, cached)
        return (in_order(ready, self._ordering) if ready else None), rest

    def rearm(self, shard: int, rest: list[Chunk], due: int | None, fired: int | None) -> None:
        """Set the timer for the rows that are left and for the engine.

        Args:
            rest: the chunks that are left.
            due: time of the engine's next timer (ms).
            fired: the timer that just fired, which Spark deletes.
        """
        nexts = [first + 1 for _, first in rest]
        nexts += [] if due is None else [due + 1]
        self._arm(shard, min(nexts, default=None), rest, fired)

    def put(self, shard: int, rows: Iterable[tuple[bytes, int, int, int]], at: int) -> None:
        """Write the rows of a shard that has nothing in the store yet.

        Args:
            rows: (encoded rows, first event time, last event time, number of rows); they are not cached.
            at: time of the timer (ms), at most that of the first row plus 1.
        """
        chunks: dict[int, int] = {}
        for data, first, last, n in rows:
            number = _number(data, chunks)
            self._pending.updateValue((number,), (data, first, last, n))
            chunks[number] = first
        self._arm(shard, at, list(chunks.items()))

    def clear(self, shard: int, fired: int | None) -> None:
        """Delete the rows and the timer of a shard.

        Args:
            fired: the timer that just fired, which Spark deletes.
        """
        self._pending.clear()
        self._arm(shard, None, [], fired)

    # --- the store

    def _state(self, shard: int) -> tuple[int | None, list[Chunk]]:
        """Return the time of the timer and the chunks; read once per task."""
        if shard not in self._cached:
            cached = self._timer.get()
            self._cached[shard] = (None, []) if cached is None else (cached[0], _listed(bytes(cached[1])))
        return self._cached[shard]

    def _read(self, shard: int, number: int) -> pa.RecordBatch:
        written = self._pending.getValue((number,))
        if written is None:
            raise SparkRunError(
                f"damaged checkpoint: buffered rows of shard {shard} are missing in the state; restore the checkpoint from a backup or "
                "start a new one from the beginning of the input"
            )
        return decode(bytes(written[0]))

    def _write(self, data: bytes, batch: pa.RecordBatch, taken: Collection[int]) -> Chunk:
        bounds = pc.min_max(batch.column(0)).as_py()
        number = _number(data, taken)
        self._pending.updateValue((number,), (data, bounds["min"], bounds["max"], batch.num_rows))
        return number, bounds["min"]

    def _decoded(self, query: str, shard: int, chunks: list[Chunk]) -> dict[int, pa.RecordBatch]:
        """Return the decoded chunks that this process has cached and the state lists."""
        cached = _kept.take(query, shard, _NUMBERED) or {}
        return {number: cached[number] for number, _ in chunks if number in cached}

    def _keep(self, query: str, shard: int, cached: dict[int, pa.RecordBatch]) -> None:
        if cached:
            _kept.put(query, shard, _NUMBERED, cached, sum(batch.nbytes for batch in cached.values()))

    def _arm(self, shard: int, at: int | None, chunks: list[Chunk], fired: int | None = None) -> None:
        armed, before = self._state(shard)
        if at != armed:
            if armed is not None and armed != fired:
                self._handle.deleteTimer(armed)
            if at is not None:
                self._handle.registerTimer(at)
        if at is None:
            self._timer.clear()
        elif (at, chunks) != (armed, before):
            self._timer.update((at, np.array(chunks, "<i8").tobytes()))
        self._cached[shard] = (at, chunks)


def _number(data: bytes, taken: Collection[int]) -> int:
    """Return a number derived from the bytes of a chunk, so that a repeated attempt at a batch writes the same state: a store may
    keep values of both attempts."""
    number = int.from_bytes(blake2b(data, digest_size=8).digest(), "little") >> 2
    while number in taken:
        number += 1
    return number


def _listed(chunks: bytes) -> list[Chunk]:
    return [(number, first) for number, first in np.frombuffer(chunks, "<i8").reshape(-1, 2).tolist()]


def in_order(batches: list[pa.RecordBatch], ordering: int) -> pa.RecordBatch:
    """Return rows in the order of their first columns; ties are ordered by all values, so the order is reproducible."""
    (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    times = batch.column(0).to_numpy()
    if np.all(times[1:] > times[:-1]):
        return batch
    # Renamed by position: names of attributes may clash with others.
    batch = batch.rename_columns([f"o{n}" for n in range(batch.num_columns)])
    keys = [(f"o{n}", "ascending") for n in range(batch.num_columns)]
    ordered = batch.take(pc.sort_indices(batch, sort_keys=keys[:ordering]))
    if _has_ties(ordered, ordering):
        ordered = batch.take(pc.sort_indices(batch, sort_keys=keys))
    return ordered


def _has_ties(rows: pa.RecordBatch, ordering: int) -> bool:
    """Return whether neighbours are equal in all order columns."""
    equal = np.ones(rows.num_rows - 1, bool)
    for n in range(ordering):
        column = rows.column(n)
        values = column.to_numpy()
        equal &= values[1:] == values[:-1]
        if not equal.any():
            return False
    return True
