"""``siddhi run`` without inputs: an app with its own sources and triggers, until Ctrl-C or the end of its sources."""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType

import click
from rich.console import Console
from rich.live import Live
from rich.text import Text

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.cli.failures import AppRefused, OutputFailed
from siddhi.cli.outputs.columns import add_output_callback
from siddhi.cli.outputs.output import OutputWriter
from siddhi.errors import SiddhiError
from siddhi.runtime.connectors.status import ConnectorStatus

__all__ = ["Service"]

logger = logging.getLogger("siddhi")

_EVERY_SECONDS = 1.0  # between two lines of status
_POLL_SECONDS = 0.05


class Service:
    """Runs an app until SIGINT (Ctrl-C) or SIGTERM, or until all its sources have ended, if it has no triggers.

    A second signal ends the process at once.

    Args:
        manager: the manager of the app; saves its state if it has a store.
        runtime: the app.
        writers: outputs of streams.
        persist_every: seconds between two saves; None: nothing is saved.
        quiet: whether to print neither status nor summary.
    """

    def __init__(
        self,
        manager: SiddhiManager,
        runtime: SiddhiAppRuntime,
        writers: Sequence[OutputWriter],
        *,
        persist_every: float | None,
        quiet: bool,
    ) -> None:
        self._manager = manager
        self._runtime = runtime
        self._writers = writers
        self._persist_every = persist_every
        self._quiet = quiet
        self._stop = threading.Event()
        self._status: list[ConnectorStatus] = []
        for writer in writers:
            add_output_callback(runtime, writer.stream, writer.take)

    def run(self) -> None:
        """Start the app, wait, and stop it.

        Raises:
            AppRefused: its state can't be restored, or a source or sink can't be used.
            OutputFailed: an output can't be written.
        """
        started = time.monotonic()
        try:
            with ExitStack() as stack:
                stack.enter_context(self._signals())
                for writer in self._writers:
                    stack.callback(writer.close)
                stack.callback(self._shut_down)
                self._start()
                self._wait(started)
        finally:
            if not self._quiet:
                click.echo(self._line(time.monotonic() - started), err=True)

    def _start(self) -> None:
        runtime = self._runtime
        try:
            if self._persist_every is not None and (revision := runtime.restore_last_revision()) is not None:
                logger.info("restored revision %s", revision)
            runtime.start()
            if self._persist_every is not None:
                self._manager.persist_every(max(1, round(self._persist_every * 1000)))
        except SiddhiError as error:
            raise AppRefused(str(error)) from error
        except Exception as error:
            raise AppRefused(f"the app did not start: {type(error).__name__}: {error}") from error
        if not self._quiet:
            click.echo(f"app '{runtime.name}' is running; Ctrl-C stops it", err=True)

    def _wait(self, started: float) -> None:
        live = not self._quiet and sys.stderr.isatty() and not any(writer.is_standard for writer in self._writers)
        with Live(console=Console(stderr=True), transient=True, auto_refresh=False) if live else ExitStack() as shown:
            shows = time.monotonic() + _EVERY_SECONDS
            while not self._stop.wait(_POLL_SECONDS) and not self._has_ended():
                if time.monotonic() < shows:
                    continue
                shows = time.monotonic() + _EVERY_SECONDS
                for writer in self._writers:
                    writer.flush()
                if isinstance(shown, Live):
                    shown.update(Text(self._line(time.monotonic() - started)), refresh=True)

    def _has_ended(self) -> bool:
        """Return whether no more events can come."""
        sources = [source for group in self._runtime.sources.values() for source in group]
        return bool(sources) and not self._runtime.plan.triggers and all(source.has_ended for source in sources)

    def _shut_down(self) -> None:
        self._manager.persist_every(None)
        self._status = self._runtime.connectors()
        try:
            self._runtime.shutdown(persist=self._persist_every is not None)
        except SiddhiError as error:
            raise OutputFailed(f"the state of the app was not saved: {error}") from error
        finally:
            self._status = self._runtime.connectors()

    def _line(self, seconds: float) -> str:
        """Return the status: events in and out, failures, buffers, connections."""
        status = self._runtime.connectors() if self._runtime.is_running else self._status
        parts = [f"{int(seconds) // 3600:02}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}"]
        for kind, what in (("source", "in"), ("sink", "out")):
            found = [one for one in status if one.kind == kind]
            if found:
                events = sum(one.events for one in found)
                parts.append(f"{events:,} events {what} ({events / max(seconds, 1e-9):,.0f}/s)")
        parts += [f"{writer.stream}: {writer.count:,} to {writer.name}" for writer in self._writers]
        waiting = sum(one.waiting or 0 for one in status)
        parts += [f"{waiting:,} payloads wait"] if waiting else []
        failures = sum(one.failures for one in status)
        parts += [f"{failures:,} failures"] if failures else []
        if self._runtime.is_running:
            down = [f"{one.type} of {one.stream}" for one in status if not one.connected]
            parts += [f"not connected: {', '.join(down)}"] if down else []
        return " | ".join(parts)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Handle the signals that end the app until the block ends; do nothing in threads other than the main one."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self._handle) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - signature of a signal handler
        if self._stop.is_set():
            raise KeyboardInterrupt
        self._stop.set()
