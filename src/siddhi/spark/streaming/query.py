"""A running stream: one query for all outputs."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from siddhi.errors import SparkRunError
from siddhi.spark.catalyst.frames import Base, frame_of
from siddhi.spark.failures import cleared_away, message_of, run_error, run_errors, stream_errors
from siddhi.spark.query_settings import query_settings, with_settings
from siddhi.spark.sinks.declared import CountingSink
from siddhi.spark.streaming.emitted_rows import counted, late_rows_of, numbers_of, rows_of
from siddhi.spark.streaming.last_times import LastTimes, future_rows_of_batch, times_of_batch
from siddhi.spark.streaming.plan import Streaming
from siddhi.spark.workers.late import late_stream
from siddhi.spark.workers.stateful import LATE

__all__ = [
    "Sink",
    "SparkQuery",
    "new_run",
    "start_query",
]

Sink = Callable[[DataFrame, int], object]
"""Takes the rows of an output of one micro-batch and the number of the batch; may be called again for the same batch."""


@dataclass
class SparkQuery:
    """A running stream. ``late_rows``: number of late rows since this start; ``ahead_rows``: number of rows that were dropped
    because they were ahead of the clock by more than ``max_clock_skew``."""

    name: str
    query: Any
    late_rows: int = 0
    ahead_rows: int = 0
    written: dict[str, int] = field(default_factory=dict)
    _begun: threading.Event = field(default_factory=threading.Event, repr=False)
    _sink_error: SparkRunError | None = field(default=None, repr=False)

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait for the end, at most the given number of seconds; return whether the query has ended.

        Raises:
            SparkRunError: the app, a sink or Spark failed.
        """
        with stream_errors(lambda: self._sink_error):
            ended = self.query.awaitTermination(timeout) if timeout is not None else self.query.awaitTermination()
        return ended is not False

    def process_all_available(self) -> None:
        """Wait until all available rows have been processed; for tests.

        Raises:
            SparkRunError: the app, a sink or Spark failed.
        """
        with stream_errors(lambda: self._sink_error):
            self.query.processAllAvailable()

    def stop(self) -> None:
        """Stop the query; buffered rows stay in the checkpoint."""
        self.query.stop()

    @property
    def is_active(self) -> bool:
        """Whether the query runs."""
        return bool(self.query.isActive)

    @property
    def last_progress(self) -> Any:
        """Spark's last progress report, or None."""
        return self.query.lastProgress


def start_query(
    spark: SparkSession,
    streaming: Streaming,
    checkpoint: str,
    sinks: Mapping[str, Sink],
    *,
    trigger: Mapping[str, Any],
    partitions: int,
    name: str | None = None,
    times: LastTimes | None = None,
    first_batch: int = 0,
    settle: Callable[[], None] | None = None,
) -> SparkQuery:
    """Start the one query of an app.

    Args:
        sinks: sinks by stream.
        trigger: Spark's trigger, as ``{"availableNow": True}``.
        partitions: number of tasks of the stateful operator.
        times: gets the last event times before each batch is committed.
        first_batch: number that sinks get for Spark's batch 0.
        settle: called after all checks, right before the query starts.

    Raises:
        ValueError: Spark refuses the trigger.
    """
    started = SparkQuery(streaming.plan.name, None)
    if streaming.streaming.programs:
        frame, take = counted(streaming.emitted(spark)), _taking(streaming, sinks, started, times)
    else:
        ((source, base),) = streaming.bases(spark).items()
        frame, take = base.frame, _plain(streaming, source, base, sinks, started)
    numbered = take if not first_batch else lambda rows, batch: take(rows, batch + first_batch)
    with with_settings(spark, query_settings(partitions)), run_errors():
        writer = (
            frame.writeStream.foreachBatch(numbered).option("checkpointLocation", f"{checkpoint}").outputMode("append")
        )
        if name is not None:
            writer = writer.queryName(name)
        if trigger:
            try:
                writer = writer.trigger(**trigger)
            except Exception as error:
                raise ValueError(f"invalid trigger {dict(trigger)!r}: {message_of(error)}") from error
        if settle is not None:
            settle()
        started.query = writer.start()
        started._begun.set()
    return started


def _plain(
    streaming: Streaming, source: str, base: Base, sinks: Mapping[str, Sink], started: SparkQuery
) -> Callable[[DataFrame, int], None]:
    """Return the function for ``foreachBatch`` if nothing keeps state: Catalyst stages over the rows of each batch."""

    def take(frame: DataFrame, batch: int) -> None:
        bases = {source: Base(frame, base.source, base.sequence)}
        if len(sinks) > 1 or streaming.max_future_ms is not None:  # rows that are read twice are counted twice
            frame.persist()
        try:
            for stream, sink in sinks.items():
                branches = streaming.branches(bases, stream)
                rows = frame_of(branches, streaming.plan.streams[stream].attributes, timestamp="_timestamp")
                with _blamed(f"sink of '{stream}'", batch, started):
                    n = 0 if rows is None else _given(sink, rows, batch)
                started.written[stream] = started.written.get(stream, 0) + n
            _count_future_rows(streaming, started)
        finally:
            frame.unpersist()

    return take


@contextmanager
def _blamed(what: str, batch: int, started: SparkQuery) -> Iterator[None]:
    """Record an error of a sink or another writer, as Spark's own error buries its text; "": an error without origin."""
    try:
        yield
    except Exception as error:
        if run_error(error) is None:  # errors of the app are raised wherever its rows are read
            described = message_of(error)
            if what and "[FAILED_READ_FILE" not in described:  # as are errors of reading
                described = f"{described} ({what}, batch {batch}, {type(error).__name__})"
            if cleared_away(error):
                described = (
                    "another process seems to use this checkpoint, which only one may do at a time: it deleted what this one was "
                    f"writing: {described}"
                )
            started._sink_error = SparkRunError(described)
        raise


def _given(sink: Sink, rows: DataFrame, batch: int) -> int:
    """Pass a sink rows that are not computed yet; return their number."""
    if isinstance(sink, CountingSink):
        return sink(rows, batch)
    rows.persist()
    try:
        sink(rows, batch)
        return int(rows.count())
    finally:
        rows.unpersist()


def _count_future_rows(streaming: Streaming, started: SparkQuery) -> None:
    """Add the number of future rows that this batch, which has been read, dropped."""
    if streaming.max_future_ms is not None and started._begun.wait(60):
        started.ahead_rows += future_rows_of_batch(started.query)


def _taking(
    streaming: Streaming, sinks: Mapping[str, Sink], started: SparkQuery, times: LastTimes | None
) -> Callable[[DataFrame, int], None]:
    """Return the function for ``foreachBatch`` that passes the output of the operator to the sinks."""

    def take(frame: DataFrame, batch: int) -> None:
        frame.persist()
        try:
            counts: Counter[int] = Counter()
            with _blamed("", batch, started):
                for row in frame.select("out", "n").collect():  # a row per shard and output, too few for a shuffle
                    counts[row["out"]] += row["n"]
            if times is not None and started._begun.wait(60):
                with _blamed("times of streams", batch, started):
                    times.note(times_of_batch(started.query))
            _count_future_rows(streaming, started)
            for out, n in counts.items():
                if out >= LATE:
                    started.late_rows += n
            for stream, sink in sinks.items():
                bound = late_stream(stream, streaming.late)
                numbers = [n for n in numbers_of(streaming, stream) if n in counts]
                if bound is not None:
                    late_reporter = streaming.late_reporter(bound)
                    if late_reporter is not None and LATE + late_reporter[0] in counts:
                        with _blamed(f"sink of '{stream}'", batch, started):
                            sink(late_rows_of(streaming, frame, bound), batch)
                elif numbers:
                    with _blamed(f"sink of '{stream}'", batch, started):
                        sink(rows_of(streaming, frame, stream, numbers), batch)
                    started.written[stream] = started.written.get(stream, 0) + sum(counts[n] for n in numbers)
        finally:
            frame.unpersist()

    return take


def new_run() -> str:
    """Return an id for a run of a query."""
    return uuid.uuid4().hex
