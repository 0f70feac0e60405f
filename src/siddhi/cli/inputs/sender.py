"""Sends runs of events to the input handlers of an app."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from siddhi.cli.schema import Chunk
from siddhi.frames.merge import Run

_FEW = 32  # below this, single sends are faster than a batch with its fixed cost


class Handler(Protocol):
    """The part of an input handler that is used here."""

    def send(self, data: Sequence[Any], *, timestamp: int | None = None) -> None:
        """Send one event."""

    def send_batch(self, data: Any, timestamp: Any = None) -> None:
        """Send columns."""


class InputSender:
    """Sends the events of one stream as columns or as single rows, whichever is faster; the results are the same.

    Args:
        handler: input handler of the stream.
        timed: whether it is given the times of the events; else an attribute carries them.
    """

    def __init__(self, handler: Handler, *, timed: bool = True) -> None:
        self._handler = handler
        self._timed = timed
        self._rows: tuple[Chunk, list[tuple[tuple[Any, ...], int | None]]] | None = None
        self.sent = 0

    def send(self, run: Run[Chunk]) -> None:
        """Send the rows of a run in order."""
        if len(run) < _FEW <= len(run.chunk):
            for row, timestamp in self._rows_of(run.chunk)[run.start : run.stop]:
                self._handler.send(row, timestamp=timestamp)
                self.sent += 1
        else:
            columns = run.chunk.columns.slice(run.start, len(run))
            times = run.chunk.timestamps if self._timed else None
            part = None if times is None else times.slice(run.start, len(run))
            # A Ctrl-C that raises right behind the call, where Python looks for signals, finds its end noted in the list.
            ended: list[None] = []
            try:
                ended.extend(map(partial(self._handler.send_batch, timestamp=part), (columns,)))
            finally:
                self.sent += len(run) * len(ended)

    @property
    def cti(self) -> int | None:
        """The CTI of a temporal or corrected stream, ``siddhi.temporal.MIN`` before the first; None: it has none."""
        return getattr(self._handler, "cti_time", None)

    @property
    def late(self) -> dict[str, int]:
        """Number of events that a temporal or corrected stream dropped or adjusted, by what it did."""
        counts = {done: int(getattr(self._handler, done, 0)) for done in ("dropped", "adjusted")}
        return {done: count for done, count in counts.items() if count}

    def _rows_of(self, chunk: Chunk) -> list[tuple[tuple[Any, ...], int | None]]:
        if self._rows is None or self._rows[0] is not chunk:
            columns = [column.to_pylist() for column in chunk.columns.columns]
            given = chunk.timestamps if self._timed else None
            times: list[int | None] = [None] * len(chunk) if given is None else given.to_pylist()
            self._rows = (chunk, list(zip(zip(*columns, strict=True), times, strict=True)))
        return self._rows[1]
