"""A shard of an engine fragment: an engine that takes and returns columns, in the order of time."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi._version import __version__
from siddhi.errors import SiddhiAppError, SparkRunError
from siddhi.spark.workers.extension_modules import import_modules
from siddhi.spark.workers.program import FragmentProgram, OutputShape

__all__ = ["ARROW_TYPES", "Shard", "with_output_index"]

ARROW_TYPES = {
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
}
_TIME = "__siddhi_time"
_ROWS_PER_BATCH = 50_000

logger = logging.getLogger("siddhi")


class Shard:
    """An engine that runs one shard after the other, as resetting an engine costs less than building one.

    Args:
        program: program of the fragment.
    """

    def __init__(self, program: FragmentProgram) -> None:
        if program.version != __version__:
            raise SparkRunError(
                f"version mismatch: the driver runs siddhi {program.version} and this worker siddhi {__version__}; install the same "
                "version everywhere"
            )
        import_modules(program.modules)
        self.program = program
        self._failure: tuple[str, Exception, int] | None = None
        self.number = -1
        self._runtime = self._build()
        self._empty = self._runtime.snapshot()
        self._handler = self._runtime.input_handler(program.input_stream)
        self._used = False

    def _build(self) -> SiddhiAppRuntime:
        runtime = SiddhiManager().create_siddhi_app_runtime(self.program.text, policy=self.program.policy)
        runtime.collect(*(output.collected for output in self.program.outputs), timestamp=_TIME, chunk=None)
        runtime.handle_exception_with(self._note)
        runtime.start()
        for table in self.program.tables:
            with pa.ipc.open_stream(table.rows) as reader:
                for batch in reader:
                    runtime.input_handler(table.stream).send_batch(batch)  # without times, so the clock stays
        for name, _ in self.program.fills:
            # Filled at every start, and too large to be written with each batch.
            runtime.sharding.leave_out(f"table '{name}'")
        return runtime

    def open(self, number: int, clock: int) -> None:
        """Start a shard without state, except the rows of read-only tables.

        Args:
            number: number of the shard.
            clock: start of its time, in ms.
        """
        if self._used:
            self._runtime.restore(self._empty)
        self._take(number)
        self._runtime.advance_clock(clock)

    def _take(self, number: int) -> None:
        self.number = number
        self._used = True
        if self.program.labels:
            # The shards of a fragment are a range that starts at a multiple of their number.
            shard_index = number % self.program.shards
            mine = {label for label, shard in self.program.labels if shard == shard_index}
            self._runtime.sharding.look_for_ranges(mine.__contains__)

    def seed(self, what: str) -> None:
        """Seed the UUIDs of the work that follows, so that a repeated task generates the same ones."""
        if self.program.random:
            self._runtime.sharding.seed_uuids(what.encode())

    def send(self, rows: pa.RecordBatch, times: pa.Array) -> None:
        """Process rows of the input schema in the order of time.

        Raises:
            SparkRunError: the app failed on a row.
        """
        self._handler.send_batch(rows, timestamp=times)
        self._raise()

    def advance(self, clock: int) -> None:
        """Advance the clock; timers due by then fire at their own time.

        Timers that the last event left overdue wait until time advances, as in an app that ends with this event.

        Raises:
            SparkRunError: the app failed.
        """
        if clock > self._runtime.now:
            self._runtime.advance_clock(clock)
            self._raise()

    def advance_to_end(self) -> None:
        """Fire timers until none is left.

        Raises:
            SparkRunError: the app failed.
        """
        self._runtime.advance_to_end()
        self._raise()

    @property
    def next_due(self) -> int | None:
        """Time of the next timer (ms), or None."""
        return self._runtime.next_due

    def drain(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the rows emitted since the last call: index of the output, and its attributes followed by event time."""
        found = self._runtime.drain()
        for number, output in enumerate(self.program.outputs):
            batch = found[output.collected]
            if len(batch):
                yield number, pa.record_batch(batch)

    def answer(self, on_demand: str, shape: OutputShape) -> Iterator[pa.RecordBatch]:
        """Yield the rows of an on-demand query, its attributes followed by event time.

        Raises:
            SparkRunError: it failed.
        """
        try:
            rows = [event.data for event in self._runtime.query(on_demand)]
        except SiddhiAppError as error:
            raise SparkRunError(f"{error.message} ({self.program.app}, shard {self.number})") from error
        types = [ARROW_TYPES[kind] for kind in shape.types]
        for start in range(0, len(rows), _ROWS_PER_BATCH):
            some = rows[start : start + _ROWS_PER_BATCH]
            columns = [pa.array(column, type_) for column, type_ in zip(zip(*some, strict=True), types, strict=True)]
            columns.append(pa.array(np.full(len(some), self._runtime.now, np.int64)))
            yield pa.RecordBatch.from_arrays(columns, names=[*(f"c{n}" for n in range(len(types))), _TIME])

    def blocks(self) -> dict[bytes, bytes]:
        """Return the snapshot blocks of the state by name; ``b""`` lists the others."""
        return {name: data for name, data in self._runtime.snapshot_blocks().items() if data is not None}

    def restore(self, number: int, blocks: Mapping[bytes, bytes]) -> None:
        """Restore a shard from its snapshot blocks.

        Raises:
            CannotRestoreStateError: the state is damaged, or that of another app.
        """
        self._runtime.restore_blocks(blocks)
        self._take(number)

    def close(self) -> None:
        """Stop the engine."""
        self._runtime.shutdown()

    def _note(self, error: Exception, origin: str, _: Sequence[object]) -> None:
        if origin in self.program.tolerated:
            logger.warning("%s, %s: %s: %s", self.program.app, origin, type(error).__name__, error)
        elif self._failure is None:
            self._failure = (origin, error, self._runtime.now)

    def _raise(self) -> None:
        if self._failure is None:
            return
        (origin, error, at), self._failure = self._failure, None
        raise SparkRunError(
            f"{type(error).__name__}: {error} ({self.program.app}, {origin}, shard {self.number}, event time {at})"
        ) from error


def with_output_index(
    number: int, batch: pa.RecordBatch, output: OutputShape, union_types: Sequence[str], sequence: int
) -> pa.RecordBatch:
    """Return rows of an output in the union schema: output index, event time, running number, union columns."""
    n = batch.num_rows
    columns: list[pa.Array] = [
        pa.array(np.full(n, number, np.int32)),
        batch.column(batch.num_columns - 1),
        pa.array(np.arange(sequence, sequence + n, dtype=np.int64)),
    ]
    positions = {index: position for position, index in enumerate(output.union_indexes)}
    for index, kind in enumerate(union_types):
        type_ = ARROW_TYPES[kind]
        if index in positions:
            column = batch.column(positions[index])
            columns.append(column if column.type == type_ else column.cast(type_))
        else:
            columns.append(pa.nulls(n, type_))
    return pa.RecordBatch.from_arrays(
        columns, names=["out", "__t", "__seq0", *(f"c{n}" for n in range(len(union_types)))]
    )
