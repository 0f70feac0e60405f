"""Rows of streams whose event time lies ahead of the clock: one of them would move the watermark, and make all others late."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siddhi.spark.workers.late import LatePolicy

__all__ = ["FUTURE_ROWS", "drop_future_rows"]

FUTURE_ROWS = "ahead_of_clock_"
"""Start of the names under which Spark counts them, stream by stream."""
_FLAG = "__ahead"


def drop_future_rows(
    frame: DataFrame, time: Column, limit_ms: int, *, stream: str, app: str, late: LatePolicy
) -> DataFrame:
    """The rows that are not further ahead of the clock than this; it stands still within a micro-batch, also when that is
    done again.

    Args:
        frame: a streaming DataFrame, before its watermark.
        time: its event time, as a timestamp.
        limit_ms: how far ahead of the clock it may be.
        stream: its name.
        app: what it is called in the message of ``late='error'``.
        late: ``'error'`` to fail on one, else they are counted and dropped.
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
