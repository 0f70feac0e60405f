"""The last event time of every stream, stored with the checkpoint: the time at which a stream ends.

It is written before the batch is committed, so a kill can't lose it.
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

_warned: list[bool] = []
"""Whether the missing metrics were logged."""


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
        """Record event times; write those that are later than the known ones."""
        later = {
            name: at for name, at in seen.items() if at is not None and at > self.times.get(name, at - 1)
        }  # event time may be negative
        if later:
            self.times.update(later)
            files.write_text(self._spark, self._name, json.dumps(self.times, sort_keys=True))


def logged_watermark(spark: SparkSession, checkpoint: str) -> int | None:
    """Return the watermark (ms) after the last committed batch, 0: there is none yet; None: no batch was committed."""
    batch, _ = committed(spark, checkpoint)
    if batch is None:
        return None
    metadata = json.loads(files.read_text(spark, f"{checkpoint}/commits/{batch}").splitlines()[1])
    return int(metadata.get("nextBatchWatermarkMs", 0))


def times_of_batch(query: Any) -> dict[str, int | None]:
    """Return the last event time by stream of the batch that a Spark query processes.

    Spark reports it after the batch; its plan has it once the rows have been read.
    """
    return _observed(query, "siddhi_")


def future_rows_of_batch(query: Any) -> int:
    """Return how many future rows the batch that a Spark query processes has dropped so far."""
    return sum(n or 0 for n in _observed(query, FUTURE_ROWS).values())


def _observed(query: Any, prefix: str) -> dict[str, int | None]:
    """Return the metrics of the current batch with a prefix, by the rest of their name."""
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
    except (Py4JError, TypeError) as error:  # not a public API of Spark
        if not _warned:
            _warned.append(True)
            logger.warning(
                "this version of Spark has no metrics of a running batch, so a kill may lose those of its last batch: %s",
                error,
            )
        return {}
