"""Time that no row brings: marks in a small source of every stream, which move its watermark and are dropped behind it."""

from __future__ import annotations

import io
import re
import uuid
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from siddhi.spark import files

__all__ = ["LAST_CLOCK", "folder_of", "interval_ms", "last_mark", "make_folders", "write_mark"]

LAST_CLOCK = 221_845_392_000_000
"""9000-01-01 in ms: a watermark from here on says that the stream has ended for good."""

_NAME = re.compile(r"mark-(-?[0-9]+)-")


def folder_of(checkpoint: str, stream: str) -> str:
    """Where the marks of a stream are."""
    return f"{checkpoint}/siddhi/punctuation/{stream}"


def make_folders(spark: SparkSession, checkpoint: str, streams: Iterable[str]) -> dict[str, str]:
    """The folders of these streams, made where they are not there."""
    found = {stream: folder_of(checkpoint, stream) for stream in streams}
    for folder in found.values():
        files.make_folder(spark, folder)
    return found


def write_mark(spark: SparkSession, checkpoint: str, stream: str, at: int) -> None:
    """A row without values at this event time (ms): the watermark follows it by the grace of the stream.

    The query deletes marks that it has passed, so the last one is noted: before, that no kill can lose it.
    """
    last = last_mark(spark, checkpoint, stream)
    if last is None or at > last:
        files.write_text(spark, _noted(checkpoint, stream), str(at))
    mark = pa.table({"__at": pa.array([at * 1000], pa.timestamp("us", tz="UTC"))})
    sink = io.BytesIO()
    pq.write_table(mark, sink)
    files.write_new(spark, folder_of(checkpoint, stream), f"mark-{at}-{uuid.uuid4().hex}.parquet", sink.getvalue())


def last_mark(spark: SparkSession, checkpoint: str, stream: str) -> int | None:
    """The latest mark of a stream (ms), or None."""
    noted = files.text_of(spark, _noted(checkpoint, stream))
    if noted is not None:
        return int(noted)
    folder = folder_of(checkpoint, stream)
    names = [name for name in files.names(spark, folder) if name.endswith(".parquet") and not name.startswith("_")]
    found = [int(match[1]) for match in map(_NAME.match, names) if match is not None]
    if len(found) < len(names):  # of an earlier version, whose names don't tell
        marks = spark.read.schema("__at timestamp").parquet(folder)
        found.append(marks.select(F.unix_millis(F.max("__at")).alias("at")).collect()[0]["at"])
    return max(found, default=None)


def _noted(checkpoint: str, stream: str) -> str:
    return f"{checkpoint}/siddhi/marked/{stream}"


def interval_ms(spark: SparkSession, text: str) -> int:
    """How long ``'10 seconds'`` is, as Spark reads it.

    Raises:
        ValueError: it is no time.
    """
    micros = F.expr(f"unix_millis(timestamp_millis(0) + INTERVAL {text})")
    try:
        found = int(spark.range(1).select(micros.alias("ms")).collect()[0]["ms"])
    except Exception as error:
        raise ValueError(f"{text!r} is no time such as '10 seconds'") from error
    if found < 0:
        raise ValueError(f"{text!r} is less than no time")
    return found
