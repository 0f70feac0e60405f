"""Sinks of streams, and those that annotations of an app name."""

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
"""What makes files that are read as what they were written from."""


class CountingSink(ABC):
    """A sink that says how many rows it took; those of others are counted for it."""

    @abstractmethod
    def __call__(self, frame: DataFrame, batch: int) -> int:
        """Take the rows of a micro-batch; how many there are."""


def _counted(frame: DataFrame) -> tuple[DataFrame, Observation]:
    """The rows, which are counted as they are written."""
    count = Observation()
    return frame.observe(count, F.count(F.lit(1)).alias("rows")), count


class FileSink(CountingSink):
    """Writes every micro-batch to a folder of its own, ``batch=<number>``; one that comes again is written once.

    A batch is whole once ``_siddhi_batch`` lies in its folder, which is written last and names its files; what is there
    without it, as after a kill on an object store, is written anew.

    The folder belongs to the checkpoint that began to write there, or to one that was migrated from it: another one, whose
    batches have the same numbers, is refused when it starts, and so is a batch of one that has lost it meanwhile. A folder keeps
    the format of its batches.

    In batch, :meth:`write_all` puts rows in the place of those that the last one left there, without folders of batches.

    CSV has a header and doubles quotes, JSON writes nulls, as the embedded engine does, unless the options say otherwise.

    Args:
        path: of the folder.
        format: ``parquet``, ``csv``, ``json`` or ``orc``.
        options: of Spark's writer.
    """

    def __init__(self, path: str, format: str = "parquet", options: Mapping[str, str] | None = None) -> None:  # noqa: A002
        if format not in FILE_FORMATS:
            raise ValueError(f"files are {', '.join(FILE_FORMATS)}, not {format!r}")
        self.path = path
        self.format = format
        given = {name.lower() for name in options or {}}
        defaults = {key: value for key, value in _DEFAULTS.get(format, {}).items() if key.lower() not in given}
        self.options = {**defaults, **(options or {})}
        self._swept = False
        self._owner: Owner | None = None

    def __call__(self, frame: DataFrame, batch: int) -> int:
        """Write the rows of a micro-batch, under another name first."""
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
        self._require_still_own(spark)  # writing takes time, in which another one may have begun
        taken = int(count.get["rows"])
        put(spark, fresh, goal, taken, is_own=self._owner is not None)
        return taken

    def require_own(self, spark: SparkSession, owner: Owner) -> None:
        """See to it that a checkpoint may write there.

        Raises:
            SparkRunError: another one did, there are files that no stream wrote, or batches of another format.
        """
        require_own(spark, self.path, owner)
        require_format(spark, self.path, self.format)

    def claim(self, spark: SparkSession, owner: Owner) -> None:
        """Mark the folder as that of a checkpoint, which is about to start."""
        claim(spark, self.path, owner)
        self._owner = owner
        self._swept = False

    def _require_still_own(self, spark: SparkSession) -> None:
        """Every batch anew: another checkpoint's batch of this number would pass for this one's."""
        if self._owner is not None:
            require_still_own(spark, self.path, self._owner)

    def _sweep(self, spark: SparkSession, batch: int) -> None:
        """Clear away what a killed process left of this batch, which is the first that comes again."""
        if not self._swept:
            for name in files.names(spark, self.path):
                if name.startswith(f"_writing-{batch}-"):
                    files.delete(spark, f"{self.path}/{name}")
            self._swept = True

    def require_replaceable(self, spark: SparkSession) -> None:
        """See to it that :meth:`write_all` may write there.

        Raises:
            SparkRunError: the folder holds something else than what another ``write_all`` left.
        """
        if files.is_reachable(spark):
            replaced.require_replaceable(spark, self.path)

    def write_all(self, frame: DataFrame) -> None:
        """Write rows that end, in the place of those that the last one left; over Spark Connect, to a folder that is new.

        Raises:
            SparkRunError: the folder holds something else: rows of a stream, or files of somebody. They are left alone.
        """
        spark, mode = frame.sparkSession, "error"
        if files.is_reachable(spark):
            replaced.clear(spark, self.path)
            mode = "append"
        frame.write.mode(mode).format(self.format).options(**self.options).save(self.path)


class KafkaSink(CountingSink):
    """Writes rows as JSON; at least once: a batch that comes again is written again.

    Args:
        options: of Spark's Kafka writer.
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
        """Write rows that end."""
        require_kafka(frame.sparkSession)
        rows = frame.select(F.to_json(F.struct(*(F.col(f"`{name}`") for name in frame.columns))).alias("value"))
        rows.write.format("kafka").options(**self.options).save()


class MemorySink(CountingSink):
    """Keeps rows in this process, for tests; a batch that comes again is kept once."""

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
    """Logs every row (logger ``siddhi``); with no level, none."""

    def __init__(self, prefix: str, level: int | None = logging.INFO) -> None:
        self.prefix = prefix
        self.level = level

    def __call__(self, frame: DataFrame, batch: int) -> int:
        """Log the rows of a micro-batch."""
        del batch
        return self._log(frame)

    def write_all(self, frame: DataFrame) -> None:
        """Log rows that end."""
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
    """All sinks that the app names for a stream; where one fails, the batch comes again to all."""

    def __init__(self, sinks: Sequence[DeclaredSink]) -> None:
        self.sinks = list(sinks)

    def __call__(self, frame: DataFrame, batch: int) -> int:
        """Give each the rows of a micro-batch, with the attributes that the app declares, as in batch."""
        frame = frame.drop("_timestamp")
        return max(sink(frame, batch) for sink in self.sinks)

    def write_all(self, frame: DataFrame) -> None:
        """Give each rows that end."""
        for sink in self.sinks:
            sink.write_all(frame)


def file_sinks(sink: object) -> list[FileSink]:
    """The sinks to files that a sink is made of."""
    found = sink.sinks if isinstance(sink, DeclaredSinks) else [sink]
    return [each for each in found if isinstance(each, FileSink)]


def require_callable(sinks: Mapping[str, object]) -> None:
    """Whether all can take the rows of a micro-batch.

    Raises:
        TypeError: one can't.
    """
    for stream, sink in sinks.items():
        if not callable(sink):
            raise TypeError(
                f"the sink of '{stream}' is {sink!r}: it is called as sink(frame, batch), such as FileSink(path)"
            )


def require_replaceable(spark: SparkSession, sinks: Mapping[str, object]) -> None:
    """See to it that a batch may write to all folders, before it writes to one.

    Raises:
        SparkRunError: one holds something else than what another batch left.
    """
    for sink in sinks.values():
        for each in file_sinks(sink):
            each.require_replaceable(spark)


def declared_sinks(app: str, connectors: Sequence[Connector]) -> dict[str, DeclaredSinks]:
    """The sinks of an app's annotations, by stream.

    Args:
        app: its name.
        connectors: of the app.
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
