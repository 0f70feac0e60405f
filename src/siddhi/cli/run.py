"""``siddhi run``: files in, an app, files out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from siddhi.cli.endpoints import Endpoint, read_outputs
from siddhi.cli.failures import interruptible
from siddhi.cli.inputs.options import Feeding, attributes_of, feeding_options
from siddhi.cli.outputs.output import Outlet
from siddhi.cli.session import Session, log_to_stderr
from siddhi.cli.spark.binds import Bind, read_binds
from siddhi.cli.spark.checks import read_master, read_trigger

if TYPE_CHECKING:
    from siddhi.spark.workers.late import LatePolicy

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
@feeding_options(required=False)
@click.option(
    "--output",
    "outputs",
    multiple=True,
    callback=read_outputs,
    metavar="STREAM=FILE",
    help="Write a stream's events to a .csv, .jsonl or .parquet file (on Spark with --checkpoint a folder); '-' prints JSON "
    "lines. Repeat it for several.",
)
@click.option("--emit-timestamp", metavar="COLUMN", help="Add a first column with the event time (ms) to every output.")
@click.option(
    "--engine",
    type=click.Choice(["embedded", "spark"]),
    default="embedded",
    show_default=True,
    help="What runs the app: this process, or Apache Spark (pip install 'siddhi[spark]').",
)
@click.option(
    "--bind",
    "binds",
    multiple=True,
    callback=read_binds,
    metavar="STREAM=FORMAT:PATH?timestamp=COLUMN",
    help="Spark: a stream's files, once or as they come; more options behind '&': watermark (how late rows may come; streams "
    "need one), sequence, max_idle, Spark's own. Several of one stream are read as one. Tables that no query writes take "
    "TABLE=FORMAT:PATH.",
)
@click.option(
    "--master", default="local[*]", show_default=True, callback=read_master, help="Spark: where it runs, as local[4]."
)
@click.option(
    "--shards",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    help="Spark: parts that keys are spread over.",
)
@click.option(
    "--tasks",
    type=click.IntRange(min=1),
    help="Spark: tasks that these parts are dealt to. [default: of a stream, the cores of its first start]",
)
@click.option(
    "--end-of-input",
    type=click.Choice(["hold", "flush"]),
    default="hold",
    show_default=True,
    help="Spark: whether time ends at the last event, or goes on until nothing waits for it.",
)
@click.option("--checkpoint", metavar="FOLDER", help="Spark: run as a stream, from the app's sources into its sinks.")
@click.option(
    "--trigger",
    default="available-now",
    show_default=True,
    callback=read_trigger,
    help="Spark: how a stream is cut: what is there now, or a time such as '5 seconds'.",
)
@click.option("--finish", is_flag=True, help="Spark: end the stream after what is there now, as --end-of-input says.")
@click.option("--evolve", is_flag=True, help="Spark: elements of the app may have come or gone since the checkpoint.")
@click.option("--reopen", is_flag=True, help="Spark: go on with a stream that --finish ended.")
@click.option(
    "--late",
    type=click.Choice(["drop", "side", "error"]),
    default="drop",
    show_default=True,
    help="Spark: what happens to a stream's rows behind the watermark; 'side' puts them out as STREAM__late.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Spark: refuse an app of which something would run on one shard, or come out otherwise where work is done again.",
)
@click.option("--explain", is_flag=True, help="Spark: print what would run where, and stop.")
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
    engine: str,
    binds: list[Bind],
    master: str,
    shards: int,
    tasks: int | None,
    end_of_input: str,
    checkpoint: str | None,
    trigger: str,
    finish: bool,
    evolve: bool,
    reopen: bool,
    late: LatePolicy,
    strict: bool,
    explain: bool,
    quiet: bool,
) -> None:
    """Run APP (a file, or - for standard input) over input files and write the streams that come out."""
    if engine == "spark":
        if until is not None or playback is False or on_bad_line != "fail":
            raise click.UsageError("--engine spark knows no --until, --no-playback and --on-bad-line")
        _refuse_options_of_the_other_kind(context, streaming=checkpoint is not None, finish=finish, explain=explain)
        _refuse_clashes(inputs, outputs)
        if tasks is not None and tasks > shards:
            raise click.UsageError(f"--tasks is at the most the number of --shards, {shards}")
        from siddhi.cli.spark.run import SparkRun, run_on_spark

        wanted = SparkRun(
            app,
            inputs,
            binds,
            outputs,
            timestamp,
            emit_timestamp,
            master,
            shards,
            tasks,
            end_of_input,
            checkpoint,
            trigger,
            finish,
            evolve,
            reopen,
            late,
            strict,
            explain,
            quiet,
        )
        with interruptible():
            run_on_spark(wanted)
        return
    _refuse_options_of_spark(context)
    if not inputs:
        raise click.UsageError("Missing option '--input'.", ctx=context)
    feeding = Feeding(app, inputs, timestamp, playback, until, on_bad_line)
    feeding.refuse_clashes()
    _refuse_clashes(inputs, outputs)
    with ExitStack() as stack:
        stack.enter_context(interruptible())  # what comes before the first event may wait for input, too
        runtime = feeding.open_app(stack)
        attributes = {end.stream: attributes_of(runtime, end.stream) for end in outputs}
        sources, bad_lines = feeding.open_sources(stack, runtime)
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


_OF_STREAMS = ("trigger", "finish", "evolve", "reopen", "late")


def _refuse_options_of_spark(context: click.Context) -> None:
    for name in ("binds", "master", "shards", "tasks", "end_of_input", "checkpoint", *_OF_STREAMS, "strict", "explain"):
        if _is_given(context, name):
            option = "bind" if name == "binds" else name.replace("_", "-")
            raise click.UsageError(f"--{option} goes with --engine spark")


def _refuse_options_of_the_other_kind(context: click.Context, *, streaming: bool, finish: bool, explain: bool) -> None:
    """With a checkpoint an app runs as a stream, between the sources and sinks that it names itself."""
    for name in ("timestamp", "emit_timestamp") if streaming else _OF_STREAMS:
        if _is_given(context, name):
            raise click.UsageError(f"--{name.replace('_', '-')} goes {'without' if streaming else 'with'} --checkpoint")
    if finish and context.params["trigger"] != "available-now":
        raise click.UsageError("--finish takes what is there now: it goes without --trigger")
    if streaming and not finish and not explain and _is_given(context, "end_of_input"):
        raise click.UsageError(
            "--end-of-input says how a stream ends, and this one goes on at the next start: --finish ends it"
        )


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _refuse_clashes(inputs: Sequence[Endpoint], outputs: Sequence[Endpoint]) -> None:
    written = [Path(end.path).resolve() for end in outputs if not end.is_standard]
    for path in written:
        if written.count(path) > 1:
            raise click.UsageError(f"{path} is named by more than one --output")
        if path in [Path(end.path).resolve() for end in inputs if not end.is_standard]:
            raise click.UsageError(f"{path} is both input and output")


def _named(attributes: list[tuple[str, str]], timestamp: str | None) -> list[tuple[str, str]]:
    if timestamp in [name for name, _ in attributes]:
        raise click.UsageError(f"--emit-timestamp: '{timestamp}' is an attribute of an output already")
    return attributes
