"""Batch: the rows of an island sorted by shard and time go through one engine after the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from siddhi.spark.program import IslandProgram
from siddhi.spark.shard import Shard, tagged
from siddhi.spark.worker import spare_modules

__all__ = ["EndOfInput", "sorted_rows", "unsorted_rows"]

BatchFunction = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class EndOfInput:
    """``flush``: time goes on until nothing waits for it; else the clock ends at the last event of the whole input."""

    flush: bool


def sorted_rows(program: IslandProgram, end: EndOfInput, work: str) -> BatchFunction:
    """The function for ``mapInArrow`` over rows sorted by shard and time.

    Rows have the columns shard and event time; first and last event time of the whole input where time alone makes
    something come out; then those of the door.

    Args:
        program: of the island.
        end: of the input.
        work: identifies the computation; a task that is repeated makes the same UUIDs in it.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        spare_modules()
        worker = _Worker(program, end, work)
        for batch in batches:
            shards = batch.column(0).to_numpy()
            if not len(shards):
                continue
            starts = [0, *(np.flatnonzero(np.diff(shards)) + 1).tolist(), len(shards)]
            for start, stop in itertools.pairwise(starts):
                yield from worker.take(batch.slice(start, stop - start), int(shards[start]))
        yield from worker.finish()

    return run


def unsorted_rows(program: IslandProgram, work: str) -> BatchFunction:
    """The same for an island that keeps nothing: rows in any order, all in one engine."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        spare_modules()
        context = TaskContext.get()
        partition = "" if context is None else context.partitionId()
        worker = _Worker(program, None, f"{work} {partition}")
        for batch in batches:
            if batch.num_rows:
                yield from worker.take(batch, 0)
        yield from worker.finish()

    return run


class _Worker:
    """Feeds an engine, and starts over where the shard changes."""

    def __init__(self, program: IslandProgram, end: EndOfInput | None, work: str) -> None:
        self._work = work
        self._program = program
        self._end = end
        self._shard: Shard | None = None
        self._last = 0
        self._made = 0

    def take(self, rows: pa.RecordBatch, number: int) -> Iterator[pa.RecordBatch]:
        if self._shard is None:
            self._shard = Shard(self._program)
        shard = self._shard
        if shard.number != number:
            if shard.number >= 0:
                yield from self._close(shard)
            shard.seed(f"{self._work} {number}")
            shard.open(number, rows.column(2 if self._program.timed else 1)[0].as_py())
        if self._program.timed:
            self._last = rows.column(3)[0].as_py()
        columns = [rows.column(n) for n in range(4 if self._program.timed else 2, rows.num_columns)]
        shard.send(pa.RecordBatch.from_arrays(columns, names=list(self._program.columns)), rows.column(1))
        yield from self._drained(shard)

    def finish(self) -> Iterator[pa.RecordBatch]:
        if self._shard is not None:
            yield from self._close(self._shard)
            self._shard.close()

    def _close(self, shard: Shard) -> Iterator[pa.RecordBatch]:
        if self._end is None:
            return
        if self._end.flush:
            shard.advance_to_end()
        elif self._program.timed:
            shard.advance(self._last)
        yield from self._drained(shard)
        if self._program.answer is not None:
            for batch in shard.answer(self._program.asked, self._program.answer):
                yield tagged(0, batch, self._program.answer, self._program.slots, 0)

    def _drained(self, shard: Shard) -> Iterator[pa.RecordBatch]:
        for number, batch in shard.drain():
            yield tagged(number, batch, self._program.outputs[number], self._program.slots, self._made)
            self._made += batch.num_rows
