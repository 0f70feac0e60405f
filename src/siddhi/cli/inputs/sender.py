"""Sends runs of events to the input handlers of an app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from siddhi.cli.inputs.merge import Run
from siddhi.cli.schema import Chunk

_FEW = 32  # below this, single sends are faster than a batch with its fixed cost


class Handler(Protocol):
    """The part of an input handler that is used here."""

    def send(self, data: Sequence[Any], *, timestamp: int | None = None) -> None:
        """Send one event."""

    def send_batch(self, data: Any, timestamp: Any = None) -> None:
        """Send columns."""


class InputSender:
    """Sends the events of one stream as columns or as single rows, whichever is faster; the results are the same."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._rows: tuple[Chunk, list[tuple[tuple[Any, ...], int | None]]] | None = None
        self.sent = 0

    def send(self, run: Run) -> None:
        """Send the rows of a run in order."""
        if len(run) < _FEW <= len(run.chunk):
            for row, timestamp in self._rows_of(run.chunk)[run.start : run.stop]:
                self._handler.send(row, timestamp=timestamp)
        else:
            columns = run.chunk.columns.slice(run.start, len(run))
            times = run.chunk.timestamps
            self._handler.send_batch(columns, timestamp=None if times is None else times.slice(run.start, len(run)))
        self.sent += len(run)

    def _rows_of(self, chunk: Chunk) -> list[tuple[tuple[Any, ...], int | None]]:
        if self._rows is None or self._rows[0] is not chunk:
            columns = [column.to_pylist() for column in chunk.columns.columns]
            times: list[int | None] = [None] * len(chunk) if chunk.timestamps is None else chunk.timestamps.to_pylist()
            self._rows = (chunk, list(zip(zip(*columns, strict=True), times, strict=True)))
        return self._rows[1]
