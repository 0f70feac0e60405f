"""Streams that stand still: who they are, and marks that let time go on without them."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["IdleInputs", "IdleWatch", "reported"]

_LEAST_STEP = 1.0
"""Seconds between two marks of a stream, at least."""
_ERROR_AFTER = 3
"""Looks that fail in a row until it is an error."""

logger = logging.getLogger("siddhi")


class IdleInputs:
    """Which streams stand still, and how far their watermark may be moved so that they hold nobody up.

    A stream that stands still follows those that go on: nothing that comes of them is late for its sake. Where all stand
    still, what they held back is let go.

    Args:
        graces: how late rows of each stream may be, in ms.
        patience: of some streams, how long they may be without rows, in seconds.
        now: seconds of a clock that does not go back.
        latest: the last event times (ms) so far, of some streams.
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
        """Rows of a stream came, the latest of this event time (ms)."""
        self._moved[stream] = now
        self._latest[stream] = max(latest, self._latest.get(stream, latest))

    def noted(self, stream: str, at: int) -> None:
        """A mark at this event time (ms) is there, whoever wrote it."""
        watermark = at - self._graces[stream]
        self._punctuated[stream] = max(watermark, self._punctuated.get(stream, watermark))

    def punctuations(self, now: float) -> dict[str, int]:
        """The marks that are to be written now: event times in ms, by stream; :meth:`wrote` says that one was."""
        idle = [name for name, max_idle in self._max_idle.items() if now - self._moved[name] >= max_idle]
        reached = {name: self._reached(name) for name in self._graces}
        going = [reached[name] for name in self._graces if name not in idle]
        known = [at for at in going if at is not None]
        if len(known) < len(going):
            return {}  # nobody knows how far those are
        if not going:
            known = [at + 1 for at in self._latest.values()]
            known = [max([*known, *self._punctuated.values()])] if known or self._punctuated else []
        if not known:
            return {}
        goal = min(known)
        found = {}
        for name in idle:
            if now - self._written.get(name, -math.inf) < max(_LEAST_STEP, self._max_idle[name] / 2):
                continue  # each mark is a file, and a micro-batch
            at = reached[name]
            if at is None or goal > at:
                found[name] = goal + self._graces[name]
        return found

    def wrote(self, stream: str, at: int, now: float) -> None:
        """A mark at this event time (ms) has been written."""
        self.noted(stream, at)
        self._written[stream] = now

    def _reached(self, stream: str) -> int | None:
        """The watermark of a stream, by its rows and marks; None where there are none."""
        found = [self._punctuated[stream]] if stream in self._punctuated else []
        if stream in self._latest:
            found.append(self._latest[stream] - self._graces[stream])
        return max(found, default=None)


class IdleWatch(threading.Thread):
    """Writes marks for streams that stand still, as long as their query is at work.

    Args:
        inputs: what is known of them.
        reports: gives what the query reported: number of the batch, and by stream the latest event time or None.
        marked: gives the last mark (ms) of every stream that has one: users write some, too.
        write: called with a stream and the event time of its mark.
        is_active: whether the query is at work.
        step: seconds between two looks.
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
        """Look again and again."""
        failed = 0
        while self._goes_on():
            try:
                self.look(time.monotonic())
                failed = 0
            except Exception as error:  # noqa: BLE001 - whatever a file system or Spark fails with may be over at the next look
                failed += 1
                level = logging.WARNING if failed < _ERROR_AFTER else logging.ERROR
                told = "time of streams that stand still could not be moved, %d times in a row: %s"
                logger.log(level, told, failed, error)
            time.sleep(self._step)

    def _goes_on(self) -> bool:
        try:
            return self._is_active()
        except Exception as error:  # noqa: BLE001 - the JVM is gone, and the query with it
            logger.error("time of streams that stand still is moved no more, their query can't be asked: %s", error)
            return False

    def look(self, now: float) -> None:
        """Take what was reported since the last look, and write what is due."""
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
