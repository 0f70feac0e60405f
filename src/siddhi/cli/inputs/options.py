"""Input options of the command line, and the app and sources opened from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, TypeVar

import click

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.cli.app_text import parameter_option, read_bound_app
from siddhi.cli.endpoints import STANDARD, Endpoint, read_inputs
from siddhi.cli.failures import AppRefused
from siddhi.cli.inputs.lifetimes import check_times
from siddhi.cli.inputs.source import BadLines, Source, open_source
from siddhi.cli.inputs.timestamps import Until, read_time
from siddhi.cli.manager_options import ManagerOptions
from siddhi.errors import DefinitionNotExistError, SiddhiError, did_you_mean
from siddhi.query_compiler.variables import ParameterText

__all__ = ["InputOptions", "attributes_of", "input_options"]

_F = TypeVar("_F", bound=Callable[..., Any])


def input_options(*, required: bool) -> Callable[[_F], _F]:
    """Return a decorator that adds the input options; ``required``: there must be an input."""
    options = [
        click.option(
            "--input",
            "inputs",
            multiple=True,
            required=required,
            callback=read_inputs,
            metavar="STREAM=FILE",
            help="Send a .csv (with header), .jsonl or .parquet file to a stream; '-' reads JSON lines from standard input. "
            "Text files may be compressed (.gz, .bz2, .zst). Repeat the option for several inputs.",
        ),
        click.option(
            "--timestamp",
            metavar="COLUMN",
            help="Input column with the time of each event: milliseconds since 1970, or ISO 8601 text (UTC without a zone). "
            "It may also be an attribute of the stream. Several inputs are merged by these times. Without this option, "
            "events have the current time, and inputs are read one after another.",
        ),
        click.option(
            "--playback/--no-playback",
            default=None,
            help="Whether the app's clock follows the events, as with @app:playback, or the system clock. Default: it follows "
            "the events with --timestamp, else as the app says. Each timer runs at its own time, as in live mode, unless "
            "the app has @app:playback without timers = 'exact', which keeps Siddhi's rule.",
        ),
        click.option(
            "--until",
            callback=read_time,
            metavar="TIME|end",
            help="Advance the clock to this time after the last event, so that timers due by then run and windows expire: "
            "milliseconds or ISO 8601 text, as in the --timestamp column, or 'end': until no event waits any more. Without it, "
            "events that windows contain at the end are not emitted.",
        ),
        click.option(
            "--on-bad-line",
            type=click.Choice(["fail", "skip"]),
            default="fail",
            show_default=True,
            help="What to do with a line that can't be read as an event: stop with an error, or count and skip it.",
        ),
    ]

    def add(command: _F) -> _F:
        for option in reversed(options):
            command = option(command)
        return parameter_option(command)

    return add


@dataclass(frozen=True, slots=True)
class InputOptions:
    """App and inputs of a command line."""

    app: str
    inputs: list[Endpoint]
    timestamp: str | None
    playback: bool | None
    until: Until
    on_bad_line: str
    manager: ManagerOptions = field(default_factory=ManagerOptions)
    parameters: Mapping[str, ParameterText] = field(default_factory=dict)

    def refuse_clashes(self) -> None:
        """Refuse to read standard input twice."""
        if [self.app, *(end.path for end in self.inputs)].count(STANDARD) > 1:
            raise click.UsageError("standard input can only be read once")

    def open_app(self, stack: ExitStack) -> SiddhiAppRuntime:
        """Create the app and set its clock; the stack shuts it down."""
        return self.open_managed_app(stack)[1]

    def open_managed_app(self, stack: ExitStack) -> tuple[SiddhiManager, SiddhiAppRuntime]:
        """Return the app as :meth:`open_app`, and its manager."""
        text = read_bound_app(self.app, self.parameters)
        manager = SiddhiManager()
        stack.callback(manager.shutdown)
        self.manager.apply(manager)
        try:
            runtime = manager.create_siddhi_app_runtime(text)
        except SiddhiError as error:
            raise AppRefused(str(error)) from error
        says_playback = runtime.plan.playback is not None
        playback = self.playback
        if playback is None:
            playback = says_playback or self.timestamp is not None
        if playback != says_playback:
            try:
                runtime.enable_playback(playback)
            except ValueError as error:
                raise click.UsageError(f"--no-playback: {error}") from error
        if self.until is not None and not playback:
            raise click.UsageError("--until requires a clock that follows the events: add --timestamp or @app:playback")
        return manager, runtime

    def open_sources(self, stack: ExitStack, runtime: SiddhiAppRuntime) -> tuple[list[Source], BadLines]:
        """Open the inputs, which the stack closes; return them and the counter of bad lines."""
        attributes = [attributes_of(runtime, end.stream) for end in self.inputs]
        bad_lines = BadLines(skip=self.on_bad_line == "skip", warn=lambda message: click.echo(message, err=True))
        for end in self.inputs:
            check_times(runtime, end.stream, self.timestamp)
        sources: list[Source] = []
        for end, names in zip(self.inputs, attributes, strict=True):
            sources.append(open_source(end, names, self.timestamp, bad_lines))
            stack.callback(sources[-1].close)
        return sources, bad_lines


def attributes_of(runtime: SiddhiAppRuntime, stream: str) -> list[tuple[str, str]]:
    """Return names and types of the attributes of a stream."""
    try:
        return list(runtime.stream_attributes(stream))
    except DefinitionNotExistError as error:
        names = list(runtime.stream_definitions)
        hint = did_you_mean(stream, names)
        raise click.UsageError(f"the app has no stream '{stream}' (streams: {', '.join(names)}){hint}") from error
