"""Batch: rows sorted by shard and time pass through one engine, shard after shard."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from siddhi.spark.workers.program import FragmentProgram
from siddhi.spark.workers.shard import Shard, with_output_index
from siddhi.spark.workers.worker import freeze_modules

__all__ = ["EndOfInput", "RowOrder", "sorted_rows", "unsorted_rows"]

_RUNNING_BITS = 44
BatchFunction = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class EndOfInput:
    """``flush``: time advances until no timer is left; otherwise the clock ends at the last event of the whole input."""

    flush: bool


@dataclass(frozen=True, slots=True)
class RowOrder:
    """How output rows carry the order of their input rows.

    Attributes:
        sequence: number of columns that order rows of one time and source; the position in the fragment's input follows.
        own: the one of these columns that orders the output rows of one input row.
        source: source number of output rows without input row.
    """

    sequence: int
    own: int
    source: int

    @property
    def columns(self) -> int:
        """The number of order columns of a row."""
        return self.sequence + 2


def sorted_rows(program: FragmentProgram, end: EndOfInput, work: str, carried: RowOrder | None = None) -> BatchFunction:
    """Return the function for ``mapInArrow`` over rows sorted by shard and time.

    The columns are shard and event time; first and last event time of the whole input, for a timed program; source, sequence
    and position, if the order is carried; then those of the input schema.

    Args:
        program: program of the fragment.
        end: end of the input.
        work: id of the computation; a repeated task generates the same UUIDs.
        carried: how the output carries the order of the input; None: it does not.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_modules()
        worker = _Worker(program, end, work, carried)
        for batch in batches:
            shards = batch.column(0).to_numpy()
            if not len(shards):
                continue
            starts = [0, *(np.flatnonzero(np.diff(shards)) + 1).tolist(), len(shards)]
            for start, stop in itertools.pairwise(starts):
                yield from worker.take(batch.slice(start, stop - start), int(shards[start]))
        yield from worker.finish()

    return run


def unsorted_rows(program: FragmentProgram, work: str, carried: RowOrder | None = None) -> BatchFunction:
    """Return the function for a stateless fragment: rows in any order, all in one engine."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_modules()
        context = TaskContext.get()
        partition = "" if context is None else context.partitionId()
        worker = _Worker(program, None, f"{work} {partition}", carried)
        for batch in batches:
            if batch.num_rows:
                yield from worker.take(batch, 0)
        yield from worker.finish()

    return run


class _Worker:
    """Feeds an engine, and resets it when the shard changes."""

    def __init__(self, program: FragmentProgram, end: EndOfInput | None, work: str, carried: RowOrder | None) -> None:
        self._work = work
        self._program = program
        self._end = end
        self._carried = carried
        self._order: list[np.ndarray] = []
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
        at = 4 if self._program.timed else 2
        if self._carried is not None:
            self._order = [rows.column(at + n).to_numpy() for n in range(self._carried.columns)]
            at += self._carried.columns
        columns = [rows.column(n) for n in range(at, rows.num_columns)]
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
            for batch in shard.answer(self._program.on_demand, self._program.answer):
                yield with_output_index(0, batch, self._program.answer, self._program.union_types, 0)

    def _drained(self, shard: Shard) -> Iterator[pa.RecordBatch]:
        for number, batch in shard.drain():
            shape = self._program.outputs[number]
            origins = None
            if shape.trace is not None:
                marks = batch.column(0).to_numpy(zero_copy_only=False)
                origins = (np.cumsum(marks) - 1)[~marks]
                batch = batch.filter(pa.array(~marks)).remove_column(0)
            out = with_output_index(number, batch, shape, self._program.union_types, self._made)
            self._made += batch.num_rows
            if self._carried is not None:
                out = self._placed(out, origins, self._carried)
            if out.num_rows:
                yield out

    def _placed(self, rows: pa.RecordBatch, origins: np.ndarray | None, carried: RowOrder) -> pa.RecordBatch:
        """Return output rows with the order of their input rows in place of a running number."""
        running = rows.column(2).to_numpy()
        order = [np.zeros(rows.num_rows, np.int64) for _ in range(carried.sequence)]
        if origins is None:
            source = np.full(rows.num_rows, carried.source, np.int32)
            order[0] = running
        else:
            source, *order, position = (column[origins] for column in self._order)
            order[carried.own] = (position.astype(np.int64) << _RUNNING_BITS) | running
        names = ["source", *(f"__seq{n}" for n in range(carried.sequence))]
        columns = [pa.array(source.astype(np.int32)), *(pa.array(column) for column in order)]
        return pa.RecordBatch.from_arrays(
            [*rows.columns[:2], *columns, *rows.columns[3:]],
            names=[*rows.schema.names[:2], *names, *rows.schema.names[3:]],
        )
