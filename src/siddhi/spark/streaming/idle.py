"""Detect idle streams, and write punctuations that let time advance without them."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["IdleInputs", "IdleWatch", "reported"]

_LEAST_STEP = 1.0
"""Minimum of seconds between two punctuations of a stream."""
_ERROR_AFTER = 3
"""Number of consecutive failures from which on they are logged as errors."""

logger = logging.getLogger("siddhi")


class IdleInputs:
    """The idle streams, and how far their watermarks may be moved.

    An idle stream follows the active ones, so none of their rows becomes late because of it. If all are idle, the buffered rows
    are emitted.

    Args:
        graces: watermark delay of each stream, in ms.
        max_idle: idle timeout of some streams, in seconds.
        now: seconds of a monotonic clock.
        latest: last event times (ms) so far, of some streams.
    """

    def __init__(
        self,
        graces: Mapping[str, int],
        max_idle: Mapping[str, float],
        now: float,
        *,
        latest: Mapping[str, int] | None = None,
    ) -> None:
        self._graces = dict(graces)
        self._max_idle = dict(max_idle)
        self._moved = dict.fromkeys(graces, now)
        self._latest = {name: at for name, at in (latest or {}).items() if name in graces}
        self._punctuated: dict[str, int] = {}
        self._written: dict[str, float] = {}

    def saw(self, stream: str, latest: int, now: float) -> None:
        """Record that rows of a stream arrived, with their last event time (ms)."""
        self._moved[stream] = now
        self._latest[stream] = max(latest, self._latest.get(stream, latest))

    def noted(self, stream: str, at: int) -> None:
        """Record a punctuation at this event time (ms), written by any process."""
        watermark = at - self._graces[stream]
        self._punctuated[stream] = max(watermark, self._punctuated.get(stream, watermark))

    def punctuations(self, now: float) -> dict[str, int]:
        """Return the punctuations that are due: event times in ms by stream. :meth:`wrote` records that one was written."""
        idle = [name for name, max_idle in self._max_idle.items() if now - self._moved[name] >= max_idle]
        reached = {name: self._reached(name) for name in self._graces}
        going = [reached[name] for name in self._graces if name not in idle]
        known = [at for at in going if at is not None]
        if len(known) < len(going):
            return {}  # their progress is unknown
        if not going:
            known = [at + 1 for at in self._latest.values()]
            known = [max([*known, *self._punctuated.values()])] if known or self._punctuated else []
        if not known:
            return {}
        goal = min(known)
        found = {}
        for name in idle:
            if now - self._written.get(name, -math.inf) < max(_LEAST_STEP, self._max_idle[name] / 2):
                continue  # each punctuation is a file and a micro-batch
            at = reached[name]
            if at is None or goal > at:
                found[name] = goal + self._graces[name]
        return found

    def wrote(self, stream: str, at: int, now: float) -> None:
        """Record that a punctuation at this event time (ms) was written."""
        self.noted(stream, at)
        self._written[stream] = now

    def _reached(self, stream: str) -> int | None:
        """Return the watermark of a stream by its rows and punctuations, or None."""
        found = [self._punctuated[stream]] if stream in self._punctuated else []
        if stream in self._latest:
            found.append(self._latest[stream] - self._graces[stream])
        return max(found, default=None)


class IdleWatch(threading.Thread):
    """Writes punctuations for idle streams while their query is active.

    Args:
        inputs: state of the streams.
        reports: returns what the query reported: number of the batch, and last event time by stream or None.
        marked: returns the last punctuation (ms) of each stream; users write some, too.
        write: called with a stream and the event time of its punctuation.
        is_active: whether the query is active.
        step: seconds between two checks.
    """

    def __init__(
        self,
        inputs: IdleInputs,
        reports: Callable[[], Iterable[tuple[int, Mapping[str, int | None]]]],
        punctuated: Callable[[], Mapping[str, int]],
        write: Callable[[str, int], None],
        is_active: Callable[[], bool],
        step: float,
    ) -> None:
        super().__init__(name="siddhi-idle-inputs", daemon=True)
        self._inputs = inputs
        self._reports = reports
        self._punctuated = punctuated
        self._write = write
        self._is_active = is_active
        self._step = step
        self._batch = -1

    def run(self) -> None:
        """Check until the query ends."""
        failed = 0
        while self._goes_on():
            try:
                self.look(time.monotonic())
                failed = 0
            except Exception as error:  # noqa: BLE001 - whatever a file system or Spark fails with may be over at the next look
                failed += 1
                level = logging.WARNING if failed < _ERROR_AFTER else logging.ERROR
                message = "punctuations of idle streams could not be written, %d times in a row: %s"
                logger.log(level, message, failed, error)
            time.sleep(self._step)

    def _goes_on(self) -> bool:
        try:
            return self._is_active()
        except Exception as error:  # noqa: BLE001 - the JVM is gone, and the query with it
            logger.error("idle streams are no longer watched, as the state of their query is unknown: %s", error)
            return False

    def look(self, now: float) -> None:
        """Process the reports since the last check, and write the punctuations that are due."""
        for batch, times in self._reports():
            if batch > self._batch:
                self._batch = batch
                for stream, latest in times.items():
                    if latest is not None:
                        self._inputs.saw(stream, latest, now)
        for stream, at in self._punctuated().items():
            self._inputs.noted(stream, at)
        errors = []
        for stream, at in self._inputs.punctuations(now).items():
            try:
                self._write(stream, at)
            except Exception as error:  # noqa: BLE001 - the others are not to wait for it
                errors.append(error)
            else:
                self._inputs.wrote(stream, at, now)
        if errors:
            raise errors[0]


def reported(query: Any) -> list[tuple[int, dict[str, int | None]]]:
    """Return what a Spark query reported of its last batches: last event time by stream, or None."""
    found = []
    for progress in query.recentProgress:
        times = {
            name.removeprefix("siddhi_"): None if metrics["last"] is None else int(metrics["last"])
            for name, metrics in progress["observedMetrics"].items()
            if name.startswith("siddhi_")
        }
        found.append((int(progress["batchId"]), times))
    return found
