"""Progress of a run on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from siddhi.cli.inputs.source import Source

_AFTER_SECONDS = 1.0  # shorter runs show no bar
_EVERY_SECONDS = 0.1


class ProgressBar:
    """A progress bar over all inputs if their sizes are known, else a spinner; shown only on a terminal."""

    def __init__(self, sources: Sequence[Source], *, shown: bool) -> None:
        self._sources = sources
        self._shown = shown and sys.stderr.isatty()
        self._started = time.monotonic()
        self._next = self._started + _AFTER_SECONDS
        self._bar: Progress | None = None

    def update(self, events: int) -> None:
        """Show the number of events sent so far; cheap enough to be called for every batch."""
        now = time.monotonic()
        if not self._shown or now < self._next:
            return
        self._next = now + _EVERY_SECONDS
        if self._bar is None:
            self._bar = self._open()
        self._bar.update(
            self._bar.task_ids[0],
            completed=sum(source.done_bytes for source in self._sources),
            events=f"{events:,} events, {events / (now - self._started):,.0f}/s",
        )

    def _open(self) -> Progress:
        sizes = [source.total_bytes for source in self._sources]
        known = [size for size in sizes if size is not None]
        total = sum(known) if len(known) == len(sizes) else None
        columns = [SpinnerColumn(), TextColumn("{task.fields[events]}")]
        if total is not None:
            columns = [BarColumn(), *columns[1:], TimeRemainingColumn()]
        bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
        bar.add_task("run", total=total, events="")
        bar.start()
        return bar

    def close(self) -> None:
        """Remove the bar from the terminal."""
        if self._bar is not None:
            self._bar.stop()
