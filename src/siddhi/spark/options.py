"""What the options of a runtime may be."""

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
    """Whether options of :class:`siddhi.spark.SparkRuntime` have values that they may have.

    Raises:
        ValueError: an option has no such value.
        TypeError: shards or tasks is not an integer.
    """
    if type(shards) is not int:
        raise TypeError(f"shards is a whole number, not {shards!r}")
    if shards < 1:
        raise ValueError(f"shards must be at least 1, not {shards}")
    if tasks is not None and type(tasks) is not int:
        raise TypeError(f"tasks is a whole number, or None, not {tasks!r}")
    if tasks is not None and not 1 <= tasks <= shards:
        raise ValueError(f"tasks must be from 1 to {shards}, the number of shards, not {tasks}")
    if prefer not in ("native", "engine"):
        raise ValueError(f"prefer is 'native' or 'engine', not {prefer!r}")
    if end_of_input not in ("hold", "flush"):
        raise ValueError(f"end_of_input is 'hold' or 'flush', not {end_of_input!r}")
    if late not in LATE_POLICIES:
        raise ValueError(f"late is 'drop', 'side' or 'error', not {late!r}")
    if max_clock_skew is not None:
        try:
            interval_ms(spark, max_clock_skew)
        except ValueError as error:
            raise ValueError(f"max_clock_skew: {error}") from error
