"""The stateful operator of a stream: each key is a shard, whose watermark buffer holds rows until the watermark passes them.

An engine gets rows in the order of time and below the watermark only, so its results are those of an embedded engine for any
micro-batches. All work is done when a timer fires: one read and one write of state per shard and watermark step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from siddhi._version import __version__
from siddhi.errors import CannotRestoreStateError, SparkRunError
from siddhi.spark.plan.state_keys import StateKeys
from siddhi.spark.workers.input_schema import upgrade_rows
from siddhi.spark.workers.program import FragmentProgram
from siddhi.spark.workers.record_batch import decode, encode
from siddhi.spark.workers.shard import Shard
from siddhi.spark.workers.shard_range import ShardRange
from siddhi.spark.workers.stored_state import StoredState
from siddhi.spark.workers.watermark_buffer import WatermarkBuffer, new_token
from siddhi.spark.workers.worker import WorkerCache, freeze_modules

if TYPE_CHECKING:
    import pandas as pd

    from siddhi.spark.workers.late import LatePolicy

__all__ = ["LATE", "LAYOUT_VERSION", "FragmentProcessor"]

LAYOUT_VERSION = 4
"""Version of the layout of the state variables; a checkpoint with another one is refused."""
LATE = 1 << 20
"""``out`` of late rows: this plus the index of the fragment."""
_MAX_CACHED = 512
_engines: WorkerCache[StoredState] = WorkerCache(_MAX_CACHED, lambda kept: kept.shard.close())


class FragmentProcessor(StatefulProcessor):
    """Runs the engine fragments of an app, with ``shards`` keys for each.

    Args:
        programs: programs of the fragments.
        shards: number of shards per fragment.
        ordering: number of order columns; the first is event time. The last is odd if another copy of the row reports it as
            late.
        run: id of this run of the query, for cached engines.
        late: policy for late rows.
        last_clock: watermark from which on time advances to its end, as in a flushed stream.
        ranges: shards of each fragment. A shard in none of them is retired.
        keys: state keys of the shards.
    """

    def __init__(
        self,
        programs: tuple[FragmentProgram, ...],
        shards: int,
        ordering: int,
        run: str,
        late: LatePolicy,
        last_clock: int,
        ranges: Sequence[ShardRange],
        keys: StateKeys,
    ) -> None:
        self._programs = programs
        self._shards = shards
        self._ordering = ordering
        self._run = self._query = self._checkpoint = run
        self._late = late
        self._last_clock = last_clock
        self._ranges = tuple(ranges)
        self._keys = keys

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state variables."""
        self._handle = handle
        context = TaskContext.get()
        if context is not None:  # a DataFrame may be started more than once
            self._checkpoint = context.getLocalProperty("sql.streaming.queryId") or self._run
            self._query = f"{self._run} {self._checkpoint}"
        self._meta = handle.getValueState(
            "meta", "format int, plan string, engine string, version bigint, clock bigint, token bigint"
        )
        self._engine = handle.getMapState("engine", "part string", "v int, blob binary")
        pending = handle.getMapState("pending", "chunk bigint", "ipc binary, min_t bigint, max_t bigint, n int")
        timer = handle.getValueState("timer", "at bigint, chunks binary")
        self._buffer = WatermarkBuffer(pending, timer, handle, self._ordering)
        freeze_modules()

    def handleInputRows(
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,
    ) -> Iterator[pd.DataFrame]:
        """Buffer rows until the watermark passes them; emit late rows as such."""
        watermark = timerValues.getCurrentWatermarkInMs()
        shard = self._keys.number(int(key[0]))
        late: list[pa.RecordBatch] = []
        kept: list[tuple[bytes, pa.RecordBatch]] = []
        for frame in rows:
            for data in frame["rows"]:
                batch = decode(data)
                first = pc.min(batch.column(0)).as_py()
                if first < 0 and watermark <= 0:  # Spark's watermark starts at 0, so such rows could not be ordered
                    raise SparkRunError(self._before_1970(shard, first))
                if first >= watermark:
                    kept.append((data, batch))
                    continue
                is_late = pc.less(batch.column(0), watermark)
                late.append(_reported_once(batch.filter(is_late), self._ordering - 1))
                batch = batch.filter(pc.invert(is_late))
                if batch.num_rows:
                    kept.append((encode(batch), batch))
        fragment = self._fragment(shard)
        # A fragment without elements only reports late rows.
        self._buffer.add(self._query, shard, kept if fragment is None or self._programs[fragment].names else ())
        for batch in filter(len, late):
            if self._late == "error":
                n = batch.num_rows
                raise SparkRunError(
                    f"{self._programs[0].app}: {n} late {'row' if n == 1 else 'rows'}, behind the watermark {watermark}; the first "
                    f"has event time {batch.column(0)[0].as_py()} (late='error': increase the watermark delay, or use late='drop')"
                )
            blob = encode(batch) if self._late == "side" else b""
            yield _emitted(LATE + (fragment or 0), shard, batch.num_rows, blob)

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: Any,
        expiredTimerInfo: Any,
    ) -> Iterator[pd.DataFrame]:
        """Process the rows that the watermark has passed, in the order of time, and the timers due by then."""
        watermark = timerValues.getCurrentWatermarkInMs()
        shard_number = self._keys.number(int(key[0]))
        fired = None if expiredTimerInfo is None else expiredTimerInfo.getExpiryTimeInMs()
        fragment = self._fragment(shard_number)
        if fragment is None or not self._programs[fragment].names:
            self._retire(shard_number, fired)
            return
        program = self._programs[fragment]
        now, earlier = self._ranges[fragment].schema, self._ranges[fragment].earlier_schemas
        ready, rest = self._buffer.split(
            self._query, shard_number, watermark, lambda rows: upgrade_rows(rows, now, earlier)
        )
        kept, version = self._load(shard_number, fragment, watermark if ready is None else ready)
        shard = kept.shard
        shard.seed(f"{self._checkpoint} {shard_number} {version}")
        if ready is not None:
            columns = [ready.column(n) for n in range(self._ordering, ready.num_columns)]
            shard.send(pa.RecordBatch.from_arrays(columns, names=list(program.columns)), ready.column(0))
        if watermark >= self._last_clock:
            shard.advance_to_end()
        else:
            shard.advance(watermark - 1)
        for number, batch in shard.drain():
            first = sum(len(p.outputs) for p in self._programs[:fragment])
            yield _emitted(first + number, shard_number, batch.num_rows, encode(batch))
        self._store(kept, shard_number, version + 1, watermark)
        due = shard.next_due
        # Overdue timers wait for the next watermark step.
        self._buffer.rearm(shard_number, rest, None if due is None else max(due, watermark), fired)

    def close(self) -> None:
        """Keep the engines for the next batch."""

    # --- state

    def _fragment(self, shard: int) -> int | None:
        """Return the index of the fragment of a shard; None: the shard is retired."""
        return next(
            (n for n, key_range in enumerate(self._ranges) if 0 <= shard - key_range.first < self._shards), None
        )

    def _before_1970(self, shard: int, at: int) -> str:
        program = self._programs[self._fragment(shard) or 0]
        streams = " or ".join(name for name, _ in program.inputs)
        return (
            f"{program.app}: a row of {streams} has event time {at} ms, and event time of Spark streams starts in 1970: filter such "
            "rows before the stream is bound"
        )

    def _retire(self, shard: int, fired: int | None) -> None:
        """Delete the state of a retired shard."""
        self._meta.clear()
        self._engine.clear()
        self._buffer.clear(shard, fired)

    def _load(self, number: int, fragment: int, first: pa.RecordBatch | int) -> tuple[StoredState, int]:
        """Return the engine of a shard and the version of its state; the clock of a new one starts with its first row."""
        program = self._programs[fragment]
        meta = self._meta.get()
        if meta is None:
            return self._begun(number, program, first), 0
        format_, plan, engine, version, _, token = meta
        if format_ != LAYOUT_VERSION or plan not in self._ranges[fragment].accepted:
            raise SparkRunError(
                f"the state of shard {number} was written by siddhi {engine} for another form of {program.app}: start with the app "
                "and the siddhi version that wrote it"
            )
        if plan in self._ranges[fragment].left:
            self._engine.clear()
            return self._begun(number, program, first), version
        cached = _engines.take(self._query, number, token)
        if cached is not None:
            return cached, version
        kept = StoredState(Shard(program))
        try:
            kept.read(number, self._engine)
        except CannotRestoreStateError as error:
            raise SparkRunError(f"shard {number} of {program.app}: {error}") from error
        return kept, version

    def _begun(self, number: int, program: FragmentProgram, first: pa.RecordBatch | int) -> StoredState:
        shard = Shard(program)
        shard.open(number, first if isinstance(first, int) else first.column(0)[0].as_py())
        return StoredState(shard)

    def _store(self, kept: StoredState, number: int, version: int, watermark: int) -> None:
        program, token = kept.shard.program, new_token()
        kept.write(self._engine, version)
        self._meta.update((LAYOUT_VERSION, program.fingerprint, __version__, version, watermark, token))
        _engines.put(self._query, number, token, kept)


def _reported_once(rows: pa.RecordBatch, column: int) -> pa.RecordBatch:
    """Return the rows that no other copy reports: their order column is even."""
    return rows.filter(pc.equal(pc.bit_wise_and(rows.column(column), 1), 0))


def _emitted(out: int, shard: int, n: int, rows: bytes) -> pd.DataFrame:
    import pandas as pd  # lazily: Spark starts a process just to list the state variables

    emitted: pd.DataFrame = pd.DataFrame({"out": [out], "shard": [shard], "n": [n], "rows": [rows]})
    return emitted
