"""Drop rows with event times far in the future: one would move the watermark so that all other rows are late."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siddhi.spark.workers.late import LatePolicy

__all__ = ["FUTURE_ROWS", "drop_future_rows"]

FUTURE_ROWS = "ahead_of_clock_"
"""Prefix of the observed metrics that count them, one per stream."""
_FLAG = "__ahead"


def drop_future_rows(
    frame: DataFrame, time: Column, limit_ms: int, *, stream: str, app: str, late: LatePolicy
) -> DataFrame:
    """Return the rows that are at most a limit ahead of the clock, which is that of the micro-batch, also if it is repeated.

    Args:
        frame: a streaming DataFrame, before its watermark.
        time: event time as a timestamp.
        limit_ms: the limit.
        stream: name of the stream.
        app: the app in the message of ``late='error'``.
        late: ``'error'`` fails on the first such row; otherwise rows are counted and dropped.
    """
    millis = F.unix_millis(time)
    ahead = F.coalesce(millis > F.unix_millis(F.current_timestamp()) + F.lit(limit_ms), F.lit(False))
    if late == "error":
        message = F.concat(
            F.lit(f"SparkRunError: {app}: a row of '{stream}' is ahead of the clock by more than max_clock_skew, at "),
            millis.cast("string"),
            F.lit(" (late='error')"),
        )
        ahead = F.when(ahead, F.raise_error(message).cast("boolean")).otherwise(F.lit(False))
    trace = frame.withColumn(_FLAG, ahead)
    counted = trace.observe(f"{FUTURE_ROWS}{stream}", F.count_if(F.col(_FLAG)).alias("n"))
    return counted.where(~F.col(_FLAG)).drop(_FLAG)
