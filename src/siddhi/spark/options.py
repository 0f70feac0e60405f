"""Check the options of a runtime."""

from __future__ import annotations

from pyspark.sql import SparkSession

from siddhi.spark.spans import interval_ms
from siddhi.spark.workers.late import LATE_POLICIES

__all__ = ["check_options"]


def check_options(
    spark: SparkSession,
    *,
    shards: object,
    tasks: object,
    prefer: str,
    end_of_input: str,
    late: str,
    max_clock_skew: str | None,
) -> None:
    """Check the options of :class:`siddhi.spark.SparkRuntime`.

    Raises:
        ValueError: an option has an invalid value.
        TypeError: shards or tasks is not an integer.
    """
    if type(shards) is not int:
        raise TypeError(f"invalid shards {shards!r}: expected an integer")
    if shards < 1:
        raise ValueError(f"invalid shards {shards}: expected at least 1")
    if tasks is not None and type(tasks) is not int:
        raise TypeError(f"invalid tasks {tasks!r}: expected an integer or None")
    if tasks is not None and not 1 <= tasks <= shards:
        raise ValueError(f"invalid tasks {tasks}: expected 1 to {shards}, the number of shards")
    if prefer not in ("native", "engine"):
        raise ValueError(f"invalid prefer {prefer!r}: expected 'native' or 'engine'")
    if end_of_input not in ("hold", "flush"):
        raise ValueError(f"invalid end_of_input {end_of_input!r}: expected 'hold' or 'flush'")
    if late not in LATE_POLICIES:
        raise ValueError(f"invalid late {late!r}: expected 'drop', 'side' or 'error'")
    if max_clock_skew is not None:
        try:
            interval_ms(spark, max_clock_skew)
        except ValueError as error:
            raise ValueError(f"max_clock_skew: {error}") from error
