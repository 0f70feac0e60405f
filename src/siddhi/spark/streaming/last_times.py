"""The last event time of every stream, kept beside the checkpoint: with it time ends where a stream ends.

It is written before the batch is committed that brought it, so no kill can lose it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from siddhi.spark import files
from siddhi.spark.checkpoint.stored import committed
from siddhi.spark.streaming.future_rows import FUTURE_ROWS

__all__ = ["LastTimes", "future_rows_of_batch", "logged_watermark", "times_of_batch"]

logger = logging.getLogger("siddhi")

_told: list[bool] = []
"""Whether it was said that Spark does not tell what a batch counts; once is enough, not at every batch."""


class LastTimes:
    """The last event times (ms) of the streams of a checkpoint."""

    def __init__(self, spark: SparkSession, checkpoint: str) -> None:
        self._spark = spark
        self._name = f"{checkpoint}/siddhi/times.json"
        self.times: dict[str, int] = {}
        known = files.text_of(spark, self._name)
        if known is not None:
            self.times = {str(name): int(at) for name, at in json.loads(known).items()}

    def note(self, seen: Mapping[str, int | None]) -> None:
        """These came; written where one is later than what was known."""
        later = {
            name: at for name, at in seen.items() if at is not None and at > self.times.get(name, at - 1)
        }  # time may be negative
        if later:
            self.times.update(later)
            files.write_text(self._spark, self._name, json.dumps(self.times, sort_keys=True))


def logged_watermark(spark: SparkSession, checkpoint: str) -> int | None:
    """The watermark (ms) behind the last batch that was committed, 0 where there is none yet; None without a batch."""
    batch, _ = committed(spark, checkpoint)
    if batch is None:
        return None
    told = json.loads(files.read_text(spark, f"{checkpoint}/commits/{batch}").splitlines()[1])
    return int(told.get("nextBatchWatermarkMs", 0))


def times_of_batch(query: Any) -> dict[str, int | None]:
    """What the batch that a query of Spark is at work on brought so far: by stream the latest event time.

    Spark reports it after the batch only; its plan knows it as soon as its rows have been read.
    """
    return _observed(query, "siddhi_")


def future_rows_of_batch(query: Any) -> int:
    """How many rows ahead of the clock the batch that a query of Spark is at work on has left out so far."""
    return sum(n or 0 for n in _observed(query, FUTURE_ROWS).values())


def _observed(query: Any, prefix: str) -> dict[str, int | None]:
    """What the plan of the batch counts under names that begin so, by the rest of the name."""
    try:
        metrics = query._jsq.streamingQuery().lastExecution().observedMetrics()
        found: dict[str, int | None] = {}
        each = metrics.iterator()
        while each.hasNext():
            pair = each.next()
            name = str(pair._1())
            if name.startswith(prefix):
                row = pair._2()
                found[name.removeprefix(prefix)] = None if row.isNullAt(0) else int(row.getLong(0))
        return found
    except (Py4JError, TypeError) as error:  # it is not a public part of Spark
        if not _told:
            _told.append(True)
            logger.warning(
                "this version of Spark does not say what a batch counts while it runs, so a kill may lose it: %s", error
            )
        return {}
