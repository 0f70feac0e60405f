"""Time that no row brings: marks in a small source of every stream, which move its watermark and are dropped behind it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from siddhi.errors import SiddhiError
from siddhi.spark import files

__all__ = [
    "LAST_CLOCK",
    "IdleInputs",
    "IdleWatch",
    "folder_of",
    "interval_ms",
    "last_mark",
    "make_folders",
    "marks_of",
    "reported",
    "write_mark",
]

LAST_CLOCK = 221_845_392_000_000
"""9000-01-01 in ms: a watermark from here on says that the stream has ended for good."""

logger = logging.getLogger("siddhi")


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
    """A row without values at this event time (ms): the watermark follows it by the grace of the stream."""
    mark = spark.range(1).select(F.timestamp_millis(F.lit(at)).alias("__at"))
    mark.coalesce(1).write.mode("append").parquet(folder_of(checkpoint, stream))


def last_mark(spark: SparkSession, checkpoint: str, stream: str) -> int | None:
    """The latest mark of a stream (ms), or None."""
    return max(marks_of(spark, checkpoint, stream), default=None)


def marks_of(spark: SparkSession, checkpoint: str, stream: str) -> set[int]:
    """The marks of a stream (ms)."""
    marks = spark.read.schema("__at timestamp").parquet(folder_of(checkpoint, stream))
    return {row["at"] for row in marks.select(F.unix_millis("__at").alias("at")).collect()}


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


class IdleInputs:
    """Which streams stand still, and how far their watermark may be moved so that they hold nobody up.

    A stream that stands still follows those that go on: nothing that comes of them is late for its sake. Where all stand
    still, what they held back is let go.

    Args:
        graces: how late rows of each stream may be, in ms.
        patience: of some streams, how long they may be without rows, in seconds.
        now: seconds of a clock that does not go back.
    """

    def __init__(self, graces: Mapping[str, int], patience: Mapping[str, float], now: float) -> None:
        self._graces = dict(graces)
        self._patience = dict(patience)
        self._moved = dict.fromkeys(graces, now)
        self._latest: dict[str, int] = {}
        self._marked: dict[str, int] = {}

    def saw(self, stream: str, latest: int, now: float) -> None:
        """Rows of a stream came, the latest of this event time (ms)."""
        self._moved[stream] = now
        self._latest[stream] = max(latest, self._latest.get(stream, latest))

    def marks(self, now: float) -> dict[str, int]:
        """The marks that are to be written now: event times in ms, by stream."""
        idle = [name for name, patience in self._patience.items() if now - self._moved[name] >= patience]
        going = [name for name in self._graces if name not in idle]
        if any(name not in self._latest for name in going) or not self._latest:
            return {}  # nobody knows how far those are
        if going:
            goal = min(self._latest[name] - self._graces[name] for name in going)
        else:
            goal = max(self._latest.values()) + 1
        found = {}
        for name in idle:
            reached = self._latest.get(name, goal - 1) - (self._graces[name] if name in self._latest else 0)
            if goal > max(reached, self._marked.get(name, goal - 1)):
                self._marked[name] = goal
                found[name] = goal + self._graces[name]
        return found


class IdleWatch(threading.Thread):
    """Writes marks for streams that stand still, as long as their query is at work.

    Args:
        inputs: what is known of them.
        reports: gives what the query reported: number of the batch, and by stream the latest event time or None.
        write: called with a stream and the event time of its mark.
        is_active: whether the query is at work.
        step: seconds between two looks.
    """

    def __init__(
        self,
        inputs: IdleInputs,
        reports: Callable[[], Iterable[tuple[int, Mapping[str, int | None]]]],
        write: Callable[[str, int], None],
        is_active: Callable[[], bool],
        step: float,
    ) -> None:
        super().__init__(name="siddhi-idle-inputs", daemon=True)
        self._inputs = inputs
        self._reports = reports
        self._write = write
        self._is_active = is_active
        self._step = step
        self._batch = -1

    def run(self) -> None:
        """Look again and again."""
        while self._is_active():
            try:
                self.look(time.monotonic())
            except (SiddhiError, OSError, RuntimeError) as error:
                logger.warning("time of streams that stand still could not be moved: %s", error)
            time.sleep(self._step)

    def look(self, now: float) -> None:
        """Take what was reported since the last look, and write what is due."""
        for batch, times in self._reports():
            if batch > self._batch:
                self._batch = batch
                for stream, latest in times.items():
                    if latest is not None:
                        self._inputs.saw(stream, latest, now)
        for stream, at in self._inputs.marks(now).items():
            self._write(stream, at)


def reported(query: Any) -> list[tuple[int, dict[str, int | None]]]:
    """What a query of Spark reported of its last batches: by stream the latest event time that came, or None."""
    found = []
    for progress in query.recentProgress:
        times = {
            name.removeprefix("siddhi_"): None if metrics["last"] is None else int(metrics["last"])
            for name, metrics in progress["observedMetrics"].items()
            if name.startswith("siddhi_")
        }
        found.append((int(progress["batchId"]), times))
    return found
