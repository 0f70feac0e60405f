"""Spans of time such as ``'10 seconds'``, and where time ends."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

__all__ = ["LAST_CLOCK", "interval_ms"]

LAST_CLOCK = 221_845_392_000_000
"""9000-01-01 in ms: a watermark from here on says that the stream has ended for good."""


def interval_ms(spark: SparkSession, text: str) -> int:
    """How long ``'10 seconds'`` is, as Spark reads it.

    Raises:
        ValueError: it is not a time.
    """
    micros = F.expr(f"unix_millis(timestamp_millis(0) + INTERVAL {text})")
    try:
        found = int(spark.range(1).select(micros.alias("ms")).collect()[0]["ms"])
    except Exception as error:
        raise ValueError(f"{text!r} is not a time such as '10 seconds'") from error
    if found < 0:
        raise ValueError(f"{text!r} is less than no time")
    return found
