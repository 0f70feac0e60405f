"""Sinks of streams, and the sinks of an app's annotations."""

from __future__ import annotations

import logging
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from siddhi.spark import files
from siddhi.spark.sinks import replaced
from siddhi.spark.sinks.ownership import Owner, claim, require_own, require_still_own
from siddhi.spark.sinks.written_batch import put, rows_written
from siddhi.spark.sinks.written_format import require_format
from siddhi.spark.sources.annotations import FILE_FORMATS, LOG_LEVELS, Connector
from siddhi.spark.sources.files import CSV_DIALECT
from siddhi.spark.sources.kafka import kafka_options, require_kafka

__all__ = [
    "CountingSink",
    "DeclaredSink",
    "DeclaredSinks",
    "FileSink",
    "KafkaSink",
    "LogSink",
    "MemorySink",
    "declared_sinks",
    "file_sinks",
    "require_callable",
    "require_replaceable",
]

logger = logging.getLogger("siddhi")

_DEFAULTS: Mapping[str, Mapping[str, str]] = {"csv": CSV_DIALECT, "json": {"ignoreNullFields": "false"}}
"""Options with which files are read as they were written."""


class CountingSink(ABC):
    """A sink that returns the number of rows it took; for other sinks it is counted."""

    @abstractmethod
    def __call__(self, frame: DataFrame, batch: int) -> int:
        """Write the rows of a micro-batch; return their number."""


def _counted(frame: DataFrame) -> tuple[DataFrame, Observation]:
    """Return the rows and an observation that counts them as they are written."""
    count = Observation()
    return frame.observe(count, F.count(F.lit(1)).alias("rows")), count


class FileSink(CountingSink):
    """Writes every micro-batch once, to a folder ``batch=<number>``.

    A batch is complete once its folder has ``_siddhi_batch``, which is written last and names the files. A folder without it, as
    after a kill on an object store, is written again.

    The folder belongs to the checkpoint that began to write it, or to one that was migrated from that. Another checkpoint, whose
    batches have the same numbers, is refused at its start, and so is a batch of one that has lost the folder since. All batches of
    a folder have one format.

    In batch, :meth:`write_all` replaces the rows that the last one wrote, without folders of batches.

    CSV has a header and doubled quotes, JSON has nulls, as in the embedded engine, unless the options say otherwise.

    Args:
        path: path of the folder.
        format: ``parquet``, ``csv``, ``json`` or ``orc``.
        options: options of Spark's writer.
    """

    def __init__(self, path: str, format: str = "parquet", options: Mapping[str, str] | None = None) -> None:  # noqa: A002
        if format not in FILE_FORMATS:
            raise ValueError(f"invalid format {format!r}: expected one of {', '.join(FILE_FORMATS)}")
        self.path = path
        self.format = format
        given = {name.lower() for name in options or {}}
        defaults = {key: value for key, value in _DEFAULTS.get(format, {}).items() if key.lower() not in given}
        self.options = {**defaults, **(options or {})}
        self._swept = False
        self._owner: Owner | None = None

    def __call__(self, frame: DataFrame, batch: int) -> int:
        """Write the rows of a micro-batch to a temporary folder, and rename it."""
        spark = frame.sparkSession
        self._require_still_own(spark)
        self._sweep(spark, batch)
        goal = f"{self.path}/batch={batch}"
        written = rows_written(spark, goal)
        if written is not None:
            return written
        fresh = f"{self.path}/_writing-{batch}-{uuid.uuid4().hex}"
        rows, count = _counted(frame)
        rows.write.format(self.format).options(**self.options).save(fresh)
        self._require_still_own(spark)  # another checkpoint may have claimed the folder during the write
        taken = int(count.get["rows"])
        put(spark, fresh, goal, taken, is_own=self._owner is not None)
        return taken

    def require_own(self, spark: SparkSession, owner: Owner) -> None:
        """Check that a checkpoint may write to the folder.

        Raises:
            SparkRunError: it has files of another checkpoint, files that no stream wrote, or batches of another format.
        """
        require_own(spark, self.path, owner)
        require_format(spark, self.path, self.format)

    def claim(self, spark: SparkSession, owner: Owner) -> None:
        """Claim the folder for a checkpoint that is about to start."""
        claim(spark, self.path, owner)
        self._owner = owner
        self._swept = False

    def _require_still_own(self, spark: SparkSession) -> None:
        """Check before every batch: a batch of another checkpoint with this number would count as written."""
        if self._owner is not None:
            require_still_own(spark, self.path, self._owner)

    def _sweep(self, spark: SparkSession, batch: int) -> None:
        """Delete what a killed process left of this batch, the first one that is repeated."""
        if not self._swept:
            for name in files.names(spark, self.path):
                if name.startswith(f"_writing-{batch}-"):
                    files.delete(spark, f"{self.path}/{name}")
            self._swept = True

    def require_replaceable(self, spark: SparkSession) -> None:
        """Check that :meth:`write_all` may write to the folder.

        Raises:
            SparkRunError: it has anything but the rows of another ``write_all``.
        """
        if files.is_reachable(spark):
            replaced.require_replaceable(spark, self.path)

    def write_all(self, frame: DataFrame) -> None:
        """Write the rows of a batch in place of those of the last one; over Spark Connect, the folder must be new.

        Raises:
            SparkRunError: the folder has rows of a stream or other files, which stay.
        """
        spark, mode = frame.sparkSession, "error"
        if files.is_reachable(spark):
            replaced.clear(spark, self.path)
            mode = "append"
        frame.write.mode(mode).format(self.format).options(**self.options).save(self.path)


class KafkaSink(CountingSink):
    """Writes rows as JSON, at least once: a repeated batch is written again.

    Args:
        options: options of Spark's Kafka writer.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = dict(options)

    def __call__(self, frame: DataFrame, batch: int) -> int:
        """Write the rows of a micro-batch."""
        del batch
        rows, count = _counted(frame.drop("_timestamp"))
        self.write_all(rows)
        return int(count.get["rows"])

    def write_all(self, frame: DataFrame) -> None:
        """Write the rows of a batch."""
        require_kafka(frame.sparkSession)
        rows = frame.select(F.to_json(F.struct(*(F.col(f"`{name}`") for name in frame.columns))).alias("value"))
        rows.write.format("kafka").options(**self.options).save()


class MemorySink(CountingSink):
    """Keeps rows in this process, for tests; a repeated batch is kept once."""

    def __init__(self) -> None:
        self.batches: dict[int, list[tuple[object, ...]]] = {}

    def __call__(self, frame: DataFrame, batch: int) -> int:
        """Keep the rows of a micro-batch."""
        self.batches[batch] = [tuple(row) for row in frame.collect()]
        return len(self.batches[batch])

    @property
    def rows(self) -> list[tuple[object, ...]]:
        """All rows, in the order of batches."""
        return [row for batch in sorted(self.batches) for row in self.batches[batch]]


class LogSink(CountingSink):
    """Logs every row (logger ``siddhi``); without level, none."""

    def __init__(self, prefix: str, level: int | None = logging.INFO) -> None:
        self.prefix = prefix
        self.level = level

    def __call__(self, frame: DataFrame, batch: int) -> int:
        """Log the rows of a micro-batch."""
        del batch
        return self._log(frame)

    def write_all(self, frame: DataFrame) -> None:
        """Log the rows of a batch."""
        self._log(frame)

    def _log(self, frame: DataFrame) -> int:
        if self.level is None:
            return int(frame.count())
        taken = 0
        for row in frame.toLocalIterator():
            logger.log(self.level, "%s : %s", self.prefix, row.asDict())
            taken += 1
        return taken


DeclaredSink = FileSink | KafkaSink | LogSink


class DeclaredSinks(CountingSink):
    """All sinks of an app for a stream; if one fails, all get the batch again."""

    def __init__(self, sinks: Sequence[DeclaredSink]) -> None:
        self.sinks = list(sinks)

    def __call__(self, frame: DataFrame, batch: int) -> int:
        """Pass each sink the rows of a micro-batch, with the attributes that the app declares, as in batch."""
        frame = frame.drop("_timestamp")
        return max(sink(frame, batch) for sink in self.sinks)

    def write_all(self, frame: DataFrame) -> None:
        """Pass each sink the rows of a batch."""
        for sink in self.sinks:
            sink.write_all(frame)


def file_sinks(sink: object) -> list[FileSink]:
    """Return the file sinks that a sink consists of."""
    found = sink.sinks if isinstance(sink, DeclaredSinks) else [sink]
    return [each for each in found if isinstance(each, FileSink)]


def require_callable(sinks: Mapping[str, object]) -> None:
    """Check that all sinks are callable.

    Raises:
        TypeError: one is not.
    """
    for stream, sink in sinks.items():
        if not callable(sink):
            raise TypeError(
                f"invalid sink {sink!r} of '{stream}': expected a function sink(frame, batch), such as FileSink(path)"
            )


def require_replaceable(spark: SparkSession, sinks: Mapping[str, object]) -> None:
    """Check that a batch may write to all folders, before it writes to one.

    Raises:
        SparkRunError: one has anything but the rows of another batch.
    """
    for sink in sinks.values():
        for each in file_sinks(sink):
            each.require_replaceable(spark)


def declared_sinks(app: str, connectors: Sequence[Connector]) -> dict[str, DeclaredSinks]:
    """Return the sinks of an app's annotations, by stream.

    Args:
        app: name of the app.
        connectors: connectors of the app.
    """
    found: dict[str, list[DeclaredSink]] = {}
    for connector in connectors:
        if connector.direction == "sink":
            found.setdefault(connector.stream, []).append(_declared(app, connector))
    return {stream: DeclaredSinks(sinks) for stream, sinks in found.items()}


def _declared(app: str, connector: Connector) -> DeclaredSink:
    options = connector.options
    if connector.type == "file":
        return FileSink(options["file.uri"], connector.format, connector.extra())
    if connector.type == "kafka":
        return KafkaSink(kafka_options(connector))
    level = LOG_LEVELS[options.get("priority", "INFO").upper()]
    return LogSink(options.get("prefix", f"{app} : {connector.stream}"), level)
