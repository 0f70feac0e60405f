"""The rows of a shard that wait for the watermark: in the store, and decoded in the worker that put them there."""

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
"""The token of what is kept: chunks have numbers that say which they are."""
_kept: WorkerCache[dict[int, pa.RecordBatch]] = WorkerCache(_MAX_BYTES)

Chunk = tuple[int, int]
"""Rows that wait, written once and never changed: their number, and their first event time."""


def new_token() -> int:
    """A name for a state as this attempt writes it."""
    return secrets.randbits(62) + 1


class WatermarkBuffer:
    """Rows that wait, and the one timer of a shard.

    A chunk is written when its rows come, and deleted when the watermark has passed the first of them; what it has not
    passed then becomes a chunk of its own. So a step of the watermark costs what it releases, however much goes on waiting.

    Args:
        pending: Spark's map of packed rows, by the number of their chunk.
        timer: Spark's value of when the timer is to fire, and of the chunks.
        handle: that registers timers.
        ordering: how many columns order rows; the first is event time.
    """

    def __init__(self, pending: Any, timer: Any, handle: Any, ordering: int) -> None:
        self._pending = pending
        self._timer = timer
        self._handle = handle
        self._ordering = ordering
        self._told: dict[int, tuple[int | None, list[Chunk]]] = {}

    def add(self, query: str, shard: int, rows: Iterable[tuple[bytes, pa.RecordBatch]]) -> None:
        """Put rows aside, packed and not; the timer fires when the watermark has passed the first of them."""
        armed, chunks = self._state(shard)
        held = self._held(query, shard, chunks)
        fresh = []
        taken = {number for number, _ in chunks}
        for data, batch in rows:
            chunk = self._write(data, batch, taken)
            fresh.append(chunk)
            taken.add(chunk[0])
            held[chunk[0]] = batch
        if fresh:
            at = min(first for _, first in fresh) + 1
            self._arm(shard, at if armed is None else min(armed, at), [*chunks, *fresh])
        self._keep(query, shard, held)

    def split(
        self,
        query: str,
        shard: int,
        watermark: int,
        upgrade_rows: Callable[[pa.RecordBatch], pa.RecordBatch] = lambda rows: rows,
    ) -> tuple[pa.RecordBatch | None, list[Chunk]]:
        """What the watermark has passed, in order, or None; and what goes on waiting. The store has only the latter then.

        ``let_in``: makes of rows as they were put there such as are wanted; it may leave some out.
        """
        _, chunks = self._state(shard)
        held = self._held(query, shard, chunks)
        ready: list[pa.RecordBatch] = []
        rest: list[Chunk] = []
        taken = {number for number, _ in chunks}
        for number, first in chunks:
            if first >= watermark:
                rest.append((number, first))
                continue
            batch = held.pop(number, None)
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
            held[chunk[0]] = waiting
            taken.add(chunk[0])
        self._keep(query, shard, held)
        return (in_order(ready, self._ordering) if ready else None), rest

    def rearm(self, shard: int, rest: list[Chunk], due: int | None, fired: int | None) -> None:
        """Let the timer wait for what is left, and for what is due in the engine.

        Args:
            rest: the chunks that wait now.
            due: when the engine's next timer is due (ms).
            fired: the timer that just fired; Spark deletes it.
        """
        nexts = [first + 1 for _, first in rest]
        nexts += [] if due is None else [due + 1]
        self._arm(shard, min(nexts, default=None), rest, fired)

    def put(self, shard: int, rows: Iterable[tuple[bytes, int, int, int]], at: int) -> None:
        """Write what a shard has that has nothing in the store yet.

        Args:
            rows: that wait: (packed, first event time, last event time, how many); only the store gets them.
            at: when the timer is to fire (ms); no later than the watermark passes the first of them.
        """
        chunks: dict[int, int] = {}
        for data, first, last, n in rows:
            number = _number(data, chunks)
            self._pending.updateValue((number,), (data, first, last, n))
            chunks[number] = first
        self._arm(shard, at, list(chunks.items()))

    def clear(self, shard: int, fired: int | None) -> None:
        """Forget the rows of a shard, and its timer.

        Args:
            fired: the timer that just fired; Spark deletes it.
        """
        self._pending.clear()
        self._arm(shard, None, [], fired)

    # --- what the store says

    def _state(self, shard: int) -> tuple[int | None, list[Chunk]]:
        """When the timer is to fire, and the chunks; asked for once per task."""
        if shard not in self._told:
            held = self._timer.get()
            self._told[shard] = (None, []) if held is None else (held[0], _listed(bytes(held[1])))
        return self._told[shard]

    def _read(self, shard: int, number: int) -> pa.RecordBatch:
        written = self._pending.getValue((number,))
        if written is None:
            raise SparkRunError(
                f"the checkpoint is damaged: rows that wait in shard {shard} are not there; are files of its state missing, or left "
                "from another attempt at a batch?"
            )
        return decode(bytes(written[0]))

    def _write(self, data: bytes, batch: pa.RecordBatch, taken: Collection[int]) -> Chunk:
        bounds = pc.min_max(batch.column(0)).as_py()
        number = _number(data, taken)
        self._pending.updateValue((number,), (data, bounds["min"], bounds["max"], batch.num_rows))
        return number, bounds["min"]

    def _held(self, query: str, shard: int, chunks: list[Chunk]) -> dict[int, pa.RecordBatch]:
        """Those of the chunks that this process has decoded; of other states it may have others."""
        held = _kept.take(query, shard, _NUMBERED) or {}
        return {number: held[number] for number, _ in chunks if number in held}

    def _keep(self, query: str, shard: int, held: dict[int, pa.RecordBatch]) -> None:
        if held:
            _kept.put(query, shard, _NUMBERED, held, sum(batch.nbytes for batch in held.values()))

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
        self._told[shard] = (at, chunks)


def _number(data: bytes, taken: Collection[int]) -> int:
    """The number of a chunk: that of its bytes, so that an attempt at a batch which is done again writes the same state. Stores
    may keep some of what the first attempt wrote, and some of what the next one did."""
    number = int.from_bytes(blake2b(data, digest_size=8).digest(), "little") >> 2
    while number in taken:
        number += 1
    return number


def _listed(chunks: bytes) -> list[Chunk]:
    return [(number, first) for number, first in np.frombuffer(chunks, "<i8").reshape(-1, 2).tolist()]


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
        values = column.to_numpy()
        equal &= values[1:] == values[:-1]
        if not equal.any():
            return False
    return True
