"""One run of an app over its inputs: start, send, stop, and the summary."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

import click

from siddhi import Event, SiddhiAppRuntime
from siddhi.cli.failures import INTERRUPTED, BadInput, ProcessingFailed
from siddhi.cli.inputs.lifetimes import carries_start, is_temporal
from siddhi.cli.inputs.read_ahead import chunks_of
from siddhi.cli.inputs.sender import InputSender
from siddhi.cli.inputs.source import BadLines, Source
from siddhi.cli.inputs.timestamps import Until, shown_time
from siddhi.cli.interrupt import Interrupt
from siddhi.cli.outputs.columns import add_output_callback
from siddhi.cli.outputs.on_demand import OnDemandQuery
from siddhi.cli.outputs.output import EventColumns, OutputWriter, ReaderGone
from siddhi.cli.progress import ProgressBar
from siddhi.errors import EventError, SiddhiTemporalError
from siddhi.frames.merge import in_time_order, one_after_another
from siddhi.temporal import MAX

_DISTINCT_ERRORS = 100  # messages may contain values of events; their number must not grow with the input


class Session:
    """Sends the events of the sources to an app until they end, the user interrupts, or an error occurs; then runs the
    on-demand query."""

    def __init__(
        self,
        runtime: SiddhiAppRuntime,
        sources: Sequence[Source],
        writers: Sequence[OutputWriter],
        *,
        bad_lines: BadLines,
        timed: bool,
        until: Until,
        quiet: bool,
        query: OnDemandQuery | None = None,
    ) -> None:
        self._runtime = runtime
        self._sources = sources
        self._outlets = writers
        self._bad_lines = bad_lines
        self._timed = timed
        self._until = until
        self._quiet = quiet
        self._query = query
        self._senders = {
            source.stream: InputSender(
                runtime.input_handler(source.stream), timed=carries_start(runtime, source.stream) is None
            )
            for source in sources
        }
        self._held_back: tuple[str, int] | None = None
        self._errors: Counter[str] = Counter()
        self._interrupt = Interrupt(InputSender.send, SiddhiAppRuntime.advance_clock, SiddhiAppRuntime.advance_to_end)
        for writer in writers:
            add_output_callback(runtime, writer.stream, self._callback(writer))
        runtime.handle_exception_with(self._note)

    def run(self) -> int:
        """Run to the end and return the exit code; print the summary in any case.

        Raises:
            BadInput: an input can't be read as events.
            OutputFailed: an output can't be written.
            ProcessingFailed: the app raised errors.
        """
        started = time.monotonic()
        code = 0
        try:
            with ExitStack() as stack:
                for writer in self._all_outlets():
                    stack.callback(writer.close)
                stack.callback(self._runtime.shutdown)  # before the outputs are closed: it may emit further events
                self._send_all()
        except KeyboardInterrupt:
            code = INTERRUPTED
        except ReaderGone:
            _discard_stdout()
        finally:
            if not self._quiet:
                self._summarise(time.monotonic() - started, interrupted=code == INTERRUPTED)
        if self._errors:
            shown = "; ".join(f"{message} ({count:,} times)" for message, count in self._errors.most_common(3))
            raise ProcessingFailed(f"the app failed on events: {shown}")
        return code

    def _send_all(self) -> None:
        inputs = [(source.stream, chunks_of(source)) for source in self._sources]
        runs = in_time_order(inputs) if self._timed else one_after_another(inputs)
        talks_to_terminal = any(writer.is_standard for writer in self._all_outlets()) and sys.stdout.isatty()
        bar = ProgressBar(self._sources, shown=not (self._quiet or talks_to_terminal))
        with self._interrupt.installed() as interrupt, closing(bar):
            self._runtime.start()
            while True:
                with interrupt.waiting():
                    run = next(runs, None)
                if run is None:
                    break
                try:
                    self._senders[run.stream].send(run)
                except (EventError, SiddhiTemporalError) as error:
                    raise BadInput(str(error)) from error
                if run.stop == len(run.chunk):
                    for writer in self._outlets:
                        writer.flush()
                interrupt.check()
                bar.update(sum(sender.sent for sender in self._senders.values()))
            self._advance()
            if self._query is not None:
                self._query.run(self._runtime)

    def _advance(self) -> None:
        """Let the time after the last event pass, as far as the user wants it."""
        if self._until == "end":
            try:
                self._runtime.advance_to_end()
            except ValueError as error:
                raise ProcessingFailed(f"--until end: {error}") from error
        elif self._until is not None:
            self._runtime.advance_clock(self._until)
        else:
            self._held_back = self._runtime.held_back()

    def _callback(self, writer: OutputWriter) -> Callable[[EventColumns], None]:
        """Return a callback that passes batches to a writer; a Ctrl-C pressed meanwhile is handled afterwards."""

        def take(batch: EventColumns) -> None:
            writer.take(batch)
            self._interrupt.check()

        return take

    def _all_outlets(self) -> list[OutputWriter]:
        return [*self._outlets, *([] if self._query is None else [self._query.writer])]

    def _note(self, error: Exception, origin: str, _: Sequence[Event]) -> None:
        message = f"{origin}: {type(error).__name__}: {error}"
        if len(self._errors) >= _DISTINCT_ERRORS and message not in self._errors:
            message = "other errors"
        self._errors[message] += 1

    def _summarise(self, seconds: float, *, interrupted: bool) -> None:
        lines = ["interrupted"] if interrupted else []
        for stream, sender in self._senders.items():
            lines.append(f"{stream}: {sender.sent:,} events in")
            lines += [f"{stream}: {count:,} late events {done}" for done, count in sender.late.items()]
        if self._bad_lines.count:
            lines.append(f"{self._bad_lines.count:,} bad lines skipped")
        lines += [f"{writer.stream}: {writer.count:,} events out to {writer.name}" for writer in self._outlets]
        if self._query is not None:
            lines.append(f"{self._query.writer.count:,} rows to {self._query.writer.name}")
        if self._held_back is not None:
            holder, until = self._held_back
            lines.append(f"{holder} holds events until {shown_time(until)}: use --until end, or --until with a time")
        unreleased = [
            stream
            for stream, sender in self._senders.items()
            if is_temporal(self._runtime, stream) and sender.cti != MAX
        ]
        if unreleased and self._until is None:
            names = ", ".join(unreleased)
            lines.append(
                f"{names}: what no CTI has released is not in the output: use --until end, or --until with a time"
            )
        sent = sum(sender.sent for sender in self._senders.values())
        lines.append(f"{sent:,} events in {seconds:.2f} s, {sent / max(seconds, 1e-9):,.0f} events/s")
        click.echo("\n".join(lines), err=True)


@contextmanager
def log_to_stderr(*, quiet: bool) -> Iterator[None]:
    """Print the log of the engine and the app (``#log()``) until the block ends; if quiet, warnings only."""
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


def _discard_stdout() -> None:
    """Discard standard output, so that the interpreter does not report a closed pipe at exit."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)
