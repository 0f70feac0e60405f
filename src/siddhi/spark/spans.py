"""Time intervals such as ``'10 seconds'``, and the end of time."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

__all__ = ["LAST_CLOCK", "interval_ms"]

LAST_CLOCK = 221_845_392_000_000
"""9000-01-01 in ms: a watermark from here on means that the stream has ended for good."""


def interval_ms(spark: SparkSession, text: str) -> int:
    """Return the length of an interval such as ``'10 seconds'``, as Spark reads it.

    Raises:
        ValueError: it is not a positive interval.
    """
    micros = F.expr(f"unix_millis(timestamp_millis(0) + INTERVAL {text})")
    try:
        found = int(spark.range(1).select(micros.alias("ms")).collect()[0]["ms"])
    except Exception as error:
        raise ValueError(f"invalid interval {text!r}: expected one such as '10 seconds'") from error
    if found < 0:
        raise ValueError(f"invalid interval {text!r}: it is negative")
    return found
