"""One run of an app over its inputs: start, feed, stop, and what is said about it."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

import click

from siddhi import Event, EventBatch, SiddhiAppRuntime
from siddhi.cli.failures import INTERRUPTED, BadInput, ProcessingFailed
from siddhi.cli.inputs.merge import in_time_order, one_after_another
from siddhi.cli.inputs.sender import Feed
from siddhi.cli.inputs.source import BadLines, Source
from siddhi.cli.interrupt import Interrupt
from siddhi.cli.outputs.on_demand import Question
from siddhi.cli.outputs.output import Outlet, ReaderGone
from siddhi.cli.progress import ProgressBar
from siddhi.errors import EventError

_DISTINCT_ERRORS = 100  # messages may hold values of events; what is kept of them must not grow with the input


class Session:
    """Feeds an app from its sources until they end, the user interrupts, or something fails; then asks the question."""

    def __init__(
        self,
        runtime: SiddhiAppRuntime,
        sources: Sequence[Source],
        outlets: Sequence[Outlet],
        *,
        bad_lines: BadLines,
        timed: bool,
        until: int | None,
        quiet: bool,
        question: Question | None = None,
    ) -> None:
        self._runtime = runtime
        self._sources = sources
        self._outlets = outlets
        self._bad_lines = bad_lines
        self._timed = timed
        self._until = until
        self._quiet = quiet
        self._question = question
        self._feeds = {source.stream: Feed(runtime.input_handler(source.stream)) for source in sources}
        self._errors: Counter[str] = Counter()
        self._interrupt = Interrupt(Feed.send, SiddhiAppRuntime.advance_clock)
        for outlet in outlets:
            runtime.add_batch_callback(outlet.stream, self._taker(outlet))
        runtime.handle_exception_with(self._note)

    def run(self) -> int:
        """Run to the end and return the exit code; the summary is printed however the run ends.

        Raises:
            BadInput: an input can't be read as events.
            OutputFailed: an output can't be written.
            ProcessingFailed: the app raised errors on the way.
        """
        started = time.monotonic()
        code = 0
        try:
            with ExitStack() as stack:
                for outlet in self._all_outlets():
                    stack.callback(outlet.close)
                stack.callback(self._runtime.shutdown)  # before the outputs close: it may still have events to give
                self._feed_all()
        except KeyboardInterrupt:
            code = INTERRUPTED
        except ReaderGone:
            _forget_stdout()
        finally:
            if not self._quiet:
                self._summarise(time.monotonic() - started, interrupted=code == INTERRUPTED)
        if self._errors:
            shown = "; ".join(f"{message} ({count:,} times)" for message, count in self._errors.most_common(3))
            raise ProcessingFailed(f"the app failed on events: {shown}")
        return code

    def _feed_all(self) -> None:
        runs = in_time_order(self._sources) if self._timed else one_after_another(self._sources)
        talks_to_terminal = any(outlet.is_standard for outlet in self._all_outlets()) and sys.stdout.isatty()
        bar = ProgressBar(self._sources, shown=not (self._quiet or talks_to_terminal))
        with self._interrupt.installed() as interrupt, closing(bar):
            self._runtime.start()
            while True:
                with interrupt.waiting():
                    run = next(runs, None)
                if run is None:
                    break
                try:
                    self._feeds[run.stream].send(run)
                except EventError as error:
                    raise BadInput(str(error)) from error
                if run.stop == len(run.chunk):
                    for outlet in self._outlets:
                        outlet.flush()
                interrupt.check()
                bar.update(sum(feed.sent for feed in self._feeds.values()))
            if self._until is not None:
                self._runtime.advance_clock(self._until)
            if self._question is not None:
                self._question.ask(self._runtime)

    def _taker(self, outlet: Outlet) -> Callable[[EventBatch], None]:
        """What gives batches to an outlet; a Ctrl-C that came meanwhile is heard behind them."""

        def take(batch: EventBatch) -> None:
            outlet.take(batch)
            self._interrupt.check()

        return take

    def _all_outlets(self) -> list[Outlet]:
        return [*self._outlets, *([] if self._question is None else [self._question.outlet])]

    def _note(self, error: Exception, origin: str, _: Sequence[Event]) -> None:
        message = f"{origin}: {type(error).__name__}: {error}"
        if len(self._errors) >= _DISTINCT_ERRORS and message not in self._errors:
            message = "other errors"
        self._errors[message] += 1

    def _summarise(self, seconds: float, *, interrupted: bool) -> None:
        lines = ["interrupted"] if interrupted else []
        lines += [f"{stream}: {feed.sent:,} events in" for stream, feed in self._feeds.items()]
        if self._bad_lines.count:
            lines.append(f"{self._bad_lines.count:,} bad lines skipped")
        lines += [f"{outlet.stream}: {outlet.count:,} events out to {outlet.name}" for outlet in self._outlets]
        if self._question is not None:
            lines.append(f"{self._question.outlet.count:,} rows to {self._question.outlet.name}")
        sent = sum(feed.sent for feed in self._feeds.values())
        lines.append(f"{sent:,} events in {seconds:.2f} s, {sent / max(seconds, 1e-9):,.0f} events/s")
        click.echo("\n".join(lines), err=True)


@contextmanager
def log_to_stderr(*, quiet: bool) -> Iterator[None]:
    """Show what the engine and the app (``#log()``) log, warnings only if quiet, until the block ends."""
    logger = logging.getLogger("siddhi")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING if quiet else logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def _forget_stdout() -> None:
    """Keep the interpreter from complaining, at exit, that it can't flush a closed pipe."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)
