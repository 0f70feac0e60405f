"""Sinks of streams, and those that annotations of an app name."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from siddhi.spark import files
from siddhi.spark.connectors import FILE_FORMATS, Connector, require_kafka

__all__ = ["DeclaredSink", "FileSink", "KafkaSink", "LogSink", "MemorySink", "declared_sinks"]

logger = logging.getLogger("siddhi")


class FileSink:
    """Writes every micro-batch to a folder of its own, ``batch=<number>``; one that comes again is written once.

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
        self.options = dict(options or {})

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Write the rows of a micro-batch, under another name first."""
        spark = frame.sparkSession
        goal = f"{self.path}/batch={batch}"
        if files.exists(spark, goal):
            return
        fresh = f"{self.path}/_writing-{batch}-{uuid.uuid4().hex}"
        frame.write.format(self.format).options(**self.options).save(fresh)
        files.move(spark, fresh, goal)

    def write_all(self, frame: DataFrame) -> None:
        """Write rows that end."""
        frame.write.mode("overwrite").format(self.format).options(**self.options).save(self.path)


class KafkaSink:
    """Writes rows as JSON; at least once: a batch that comes again is written again.

    Args:
        options: of Spark's Kafka writer.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = dict(options)

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Write the rows of a micro-batch."""
        del batch
        self.write_all(frame)

    def write_all(self, frame: DataFrame) -> None:
        """Write rows that end."""
        require_kafka(frame.sparkSession)
        from pyspark.sql import functions as F

        columns = [name for name in frame.columns if name != "_timestamp"]
        rows = frame.select(F.to_json(F.struct(*(F.col(f"`{name}`") for name in columns))).alias("value"))
        rows.write.format("kafka").options(**self.options).save()


class MemorySink:
    """Keeps rows in this process, for tests; a batch that comes again is kept once."""

    def __init__(self) -> None:
        self.batches: dict[int, list[tuple[object, ...]]] = {}

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Keep the rows of a micro-batch."""
        self.batches[batch] = [tuple(row) for row in frame.collect()]

    @property
    def rows(self) -> list[tuple[object, ...]]:
        """All rows, in the order of batches."""
        return [row for batch in sorted(self.batches) for row in self.batches[batch]]


class LogSink:
    """Logs every row (logger ``siddhi``)."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Log the rows of a micro-batch."""
        del batch
        self.write_all(frame)

    def write_all(self, frame: DataFrame) -> None:
        """Log rows that end."""
        for row in frame.toLocalIterator():
            logger.info("%s : %s", self.prefix, row.asDict())


DeclaredSink = FileSink | KafkaSink | LogSink


def declared_sinks(app: str, connectors: Sequence[Connector]) -> dict[str, DeclaredSink]:
    """The sinks of an app's annotations, by stream.

    Args:
        app: its name.
        connectors: of the app.
    """
    found: dict[str, DeclaredSink] = {}
    for connector in connectors:
        if connector.direction != "sink":
            continue
        if connector.type == "file":
            found[connector.stream] = FileSink(connector.options["file.uri"], connector.format, connector.extra())
        elif connector.type == "kafka":
            servers = connector.options["bootstrap.servers"]
            found[connector.stream] = KafkaSink(
                {"kafka.bootstrap.servers": servers, "topic": connector.options["topic"]}
            )
        else:
            found[connector.stream] = LogSink(connector.options.get("prefix", f"{app} : {connector.stream}"))
    return found
