"""``siddhi run``: files in, an app, files out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import DefinitionNotExistError, SiddhiError, did_you_mean

from .app_text import read_app
from .endpoints import STANDARD, Endpoint, read_inputs, read_outputs
from .failures import AppRefused, interruptible
from .outlet import Outlet
from .session import Session, log_to_stderr
from .source import BadLines, open_source
from .timestamps import read_time

_EPILOG = """\b
Example:
  siddhi run flight_delays.siddhi --timestamp ts \\
    --input Flights=flights.csv --output Alerts=alerts.csv

\b
Exit codes:
  0    done (also when the reader of standard output went away)
  1    the app was refused
  2    the command line makes no sense
  3    an input is not what its stream needs
  4    an output can't be written
  5    the app failed on some events
  130  interrupted
"""


@click.command(epilog=_EPILOG)
@click.argument("app")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    required=True,
    callback=read_inputs,
    metavar="STREAM=FILE",
    help="Send a .csv (with header), .jsonl or .parquet file to a stream; '-' reads JSON lines from standard input. "
    "Text files may be compressed (.gz, .bz2, .zst). Repeat it for several inputs.",
)
@click.option(
    "--output",
    "outputs",
    multiple=True,
    callback=read_outputs,
    metavar="STREAM=FILE",
    help="Write a stream's events to a .csv, .jsonl or .parquet file; '-' prints JSON lines. Repeat it for several.",
)
@click.option(
    "--timestamp",
    metavar="COLUMN",
    help="Input column with the time of each event: milliseconds since 1970, or ISO 8601 text (UTC if it names no "
    "zone). It may be an attribute of the stream as well. Several inputs are merged in the order of these times; "
    "without it, events happen now, and inputs are read one after another.",
)
@click.option(
    "--playback/--no-playback",
    default=None,
    help="Whether the app's clock follows the events (as @app:playback says) or is the machine's. Default: it follows "
    "them when --timestamp is given; else what the app says.",
)
@click.option(
    "--until",
    callback=read_time,
    metavar="TIME",
    help="Move the clock to this time after the last event, so that windows and timers due by then fire: milliseconds "
    "or ISO 8601 text, as in the --timestamp column. Otherwise what windows hold at the end stays there.",
)
@click.option(
    "--on-bad-line",
    type=click.Choice(["fail", "skip"]),
    default="fail",
    show_default=True,
    help="What to do with a line that can't be read as an event: stop there, or count it and go on.",
)
@click.option("--emit-timestamp", metavar="COLUMN", help="Add a first column with the event time (ms) to every output.")
@click.option("--quiet", "-q", is_flag=True, help="Print neither progress nor summary.")
@click.pass_context
def run(
    context: click.Context,
    app: str,
    inputs: list[Endpoint],
    outputs: list[Endpoint],
    timestamp: str | None,
    playback: bool | None,
    until: int | None,
    on_bad_line: str,
    emit_timestamp: str | None,
    quiet: bool,
) -> None:
    """Run APP (a file, or - for standard input) over input files and write the streams that come out."""
    _refuse_clashes(app, inputs, outputs)
    with ExitStack() as stack:
        stack.enter_context(interruptible())  # what comes before the first event may wait for input, too
        text = read_app(app)
        manager = SiddhiManager()
        stack.callback(manager.shutdown)
        try:
            runtime = manager.create_siddhi_app_runtime(text)
        except SiddhiError as error:
            raise AppRefused(str(error)) from error
        says_playback = runtime.plan.playback is not None
        if playback is None:
            playback = says_playback or timestamp is not None
        if playback != says_playback:
            runtime.enable_playback(playback)
        if until is not None and not playback:
            raise click.UsageError("--until needs a clock that follows the events (--timestamp, or @app:playback)")
        attributes = {end.stream: _attributes(runtime, end.stream) for end in [*inputs, *outputs]}
        bad_lines = BadLines(skip=on_bad_line == "skip", warn=lambda message: click.echo(message, err=True))
        sources = []
        for end in inputs:
            sources.append(open_source(end, attributes[end.stream], timestamp, bad_lines))
            stack.callback(sources[-1].close)
        # Outputs are opened last: what is wrong with the command or the inputs shows before a file is overwritten.
        labelled = len({end.stream for end in outputs if end.is_standard}) > 1
        outlets = [
            Outlet(end, _named(attributes[end.stream], emit_timestamp), timestamp=emit_timestamp, labelled=labelled)
            for end in outputs
        ]
        stack.enter_context(log_to_stderr(quiet=quiet))
        code = Session(
            runtime, sources, outlets, bad_lines=bad_lines, timed=timestamp is not None, until=until, quiet=quiet
        ).run()
    if code:
        context.exit(code)


def _refuse_clashes(app: str, inputs: Sequence[Endpoint], outputs: Sequence[Endpoint]) -> None:
    if [app, *(end.path for end in inputs)].count(STANDARD) > 1:
        raise click.UsageError("standard input can only be read once")
    written = [Path(end.path).resolve() for end in outputs if not end.is_standard]
    for path in written:
        if written.count(path) > 1:
            raise click.UsageError(f"{path} is named by more than one --output")
        if path in [Path(end.path).resolve() for end in inputs if not end.is_standard]:
            raise click.UsageError(f"{path} is both input and output")


def _attributes(runtime: SiddhiAppRuntime, stream: str) -> list[tuple[str, str]]:
    try:
        return list(runtime.stream_attributes(stream))
    except DefinitionNotExistError as error:
        names = list(runtime.stream_definitions)
        hint = did_you_mean(stream, names)
        raise click.UsageError(f"the app has no stream '{stream}' (streams: {', '.join(names)}){hint}") from error


def _named(attributes: list[tuple[str, str]], timestamp: str | None) -> list[tuple[str, str]]:
    if timestamp in [name for name, _ in attributes]:
        raise click.UsageError(f"--emit-timestamp: '{timestamp}' is an attribute of an output already")
    return attributes
