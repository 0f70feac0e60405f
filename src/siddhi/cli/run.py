"""``siddhi run``: run an app over input files and write output files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from siddhi.cli.endpoints import Endpoint, read_outputs
from siddhi.cli.failures import interruptible
from siddhi.cli.inputs.options import InputOptions, input_options
from siddhi.cli.inputs.timestamps import Until
from siddhi.cli.manager_options import ManagerOptions, manager_options
from siddhi.cli.outputs.columns import output_columns
from siddhi.cli.outputs.output import OutputWriter
from siddhi.cli.profiling import Profiling
from siddhi.cli.session import Session, log_to_stderr
from siddhi.cli.spark.binds import Bind, read_binds
from siddhi.cli.spark.checks import read_master, read_trigger
from siddhi.cli.spark.sharding import require_shards, sharding_options
from siddhi.query_compiler.variables import ParameterText

if TYPE_CHECKING:
    from siddhi.spark.workers.late import LatePolicy

_EPILOG = """\b
Example:
  siddhi run flight_delays.siddhi --timestamp ts \\
    --input Flights=flights.csv --output Alerts=alerts.csv

\b
Exit codes:
  0    success (also when the reader of standard output has closed it)
  1    the app has an error
  2    usage error
  3    an input does not match its stream
  4    an output can't be written
  5    the app failed on some events
  130  interrupted
"""


@click.command(epilog=_EPILOG)
@click.argument("app")
@input_options(required=False)
@click.option(
    "--output",
    "outputs",
    multiple=True,
    callback=read_outputs,
    metavar="STREAM=FILE",
    help="Write a stream's events to a .csv, .jsonl or .parquet file (on Spark with --checkpoint a folder); '-' prints JSON "
    "lines. Repeat the option for several streams.",
)
@manager_options
@click.option("--emit-timestamp", metavar="COLUMN", help="Add a first column with the event time (ms) to every output.")
@click.option(
    "--engine",
    type=click.Choice(["embedded", "spark"]),
    default="embedded",
    show_default=True,
    help="Run the app in this process, or on Apache Spark (pip install 'siddhi[spark]').",
)
@click.option(
    "--bind",
    "binds",
    multiple=True,
    callback=read_binds,
    metavar="STREAM=FORMAT:PATH?timestamp=COLUMN",
    help="Spark: read a stream from files, once or continuously. Further options after '&': watermark (how late rows may "
    "be; required for streams), sequence, max_idle, Spark's own. Several sources of one stream are read as one. For tables "
    "that no query writes: TABLE=FORMAT:PATH.",
)
@click.option(
    "--master", default="local[*]", show_default=True, callback=read_master, help="Spark: master URL, such as local[4]."
)
@sharding_options
@click.option(
    "--end-of-input",
    type=click.Choice(["hold", "flush"]),
    default="hold",
    show_default=True,
    help="Spark: whether the clock stops at the last event (hold), or advances until no buffered event waits for it (flush).",
)
@click.option(
    "--checkpoint", metavar="FOLDER", help="Spark: run as a streaming query, from the app's sources to its sinks."
)
@click.option(
    "--trigger",
    default="available-now",
    show_default=True,
    callback=read_trigger,
    help="Spark: trigger of the streaming query: available-now, or an interval such as '5 seconds'.",
)
@click.option(
    "--finish", is_flag=True, help="Spark: end the stream after the available input, as set by --end-of-input."
)
@click.option(
    "--evolve", is_flag=True, help="Spark: allow elements of the app to be added or removed since the checkpoint."
)
@click.option("--reopen", is_flag=True, help="Spark: continue a stream that was ended by --finish.")
@click.option(
    "--late",
    type=click.Choice(["drop", "side", "error"]),
    default="drop",
    show_default=True,
    help="Spark: what to do with late rows, which are older than the watermark; 'side' writes them to STREAM__late.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Spark: refuse an app if a part of it would run on a single shard, or would give other results when it is retried.",
)
@click.option("--explain", is_flag=True, help="Spark: print which parts would run where, and exit.")
@click.option(
    "--profile", is_flag=True, help="Print to standard error where the time goes, clause by clause of the app."
)
@click.option(
    "--profile-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the profile to FILE: .html, or .json for https://www.speedscope.app. Implies --profile.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print neither progress nor summary.")
@click.pass_context
def run(
    context: click.Context,
    app: str,
    parameters: dict[str, ParameterText],
    inputs: list[Endpoint],
    outputs: list[Endpoint],
    timestamp: str | None,
    playback: bool | None,
    until: Until,
    on_bad_line: str,
    config: str | None,
    persist: str | None,
    persist_every: float,
    error_store: str | None,
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
    profile: bool,
    profile_file: Path | None,
    quiet: bool,
) -> None:
    """Run APP (a file, or - for standard input) over input files and write output streams.

    Without --input, run an app with sources or triggers of its own until Ctrl-C.
    """
    if engine == "spark":
        if until is not None or playback is False or on_bad_line != "fail":
            raise click.UsageError("--engine spark does not support --until, --no-playback and --on-bad-line")
        for name in ("config", "persist", "persist_every", "error_store", "profile", "profile_file"):
            if _is_given(context, name):
                raise click.UsageError(f"--engine spark does not support --{name.replace('_', '-')}")
        _refuse_options_of_the_other_kind(context, streaming=checkpoint is not None, finish=finish, explain=explain)
        _refuse_clashes(inputs, outputs)
        require_shards(tasks, shards)
        from siddhi.cli.spark.run import SparkRun, run_on_spark

        wanted = SparkRun(
            app,
            parameters,
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
    of_manager = ManagerOptions(config, persist, persist_every, error_store)
    options = InputOptions(app, inputs, timestamp, playback, until, on_bad_line, of_manager, parameters)
    options.refuse_clashes()
    _refuse_clashes(inputs, outputs)
    if persist is None and _is_given(context, "persist_every"):
        raise click.UsageError("--persist-every requires --persist")
    profiling = Profiling.of(profile, profile_file)
    if not inputs:
        _serve(context, options, outputs, emit_timestamp, profiling, quiet=quiet)
        return
    if persist is not None:
        raise click.UsageError("--persist can't be combined with --input: the inputs are read from their beginning")
    with ExitStack() as stack:
        stack.enter_context(interruptible())  # reading headers may wait for input, too
        runtime = options.open_app(stack)
        attributes = {end.stream: output_columns(runtime, end.stream) for end in outputs}
        sources, bad_lines = options.open_sources(stack, runtime)
        # Outputs are opened last, so that errors in the command or the inputs appear before a file is overwritten.
        writers = _writers(outputs, attributes, emit_timestamp)
        stack.enter_context(log_to_stderr(quiet=quiet))
        if profiling is not None:
            stack.enter_context(profiling.of_app(runtime))
        code = Session(
            runtime, sources, writers, bad_lines=bad_lines, timed=timestamp is not None, until=until, quiet=quiet
        ).run()
    if code:
        context.exit(code)


def _serve(
    context: click.Context,
    options: InputOptions,
    outputs: Sequence[Endpoint],
    emit_timestamp: str | None,
    profiling: Profiling | None,
    *,
    quiet: bool,
) -> None:
    """Run an app that has sources or triggers, without inputs."""
    for name in ("timestamp", "until", "on_bad_line"):
        if _is_given(context, name):
            raise click.UsageError(f"--{name.replace('_', '-')} requires --input")
    from siddhi.cli.service import Service

    with ExitStack() as stack:
        stack.enter_context(interruptible())
        stack.enter_context(log_to_stderr(quiet=quiet))
        manager, runtime = options.open_managed_app(stack)
        if not any(runtime.sources.values()) and not runtime.plan.triggers:
            raise click.UsageError(
                "the app has no source and no trigger: add --input STREAM=FILE, or a @source", ctx=context
            )
        if options.manager.persist is not None and runtime.plan.app.name is None:
            raise click.UsageError(
                "--persist needs a name of the app, under which the next run finds its state: add @app:name('...')",
                ctx=context,
            )
        attributes = {end.stream: output_columns(runtime, end.stream) for end in outputs}
        writers = _writers(outputs, attributes, emit_timestamp)
        every = options.manager.persist_every if options.manager.persist is not None else None
        if profiling is not None:
            stack.enter_context(profiling.of_app(runtime))
        Service(manager, runtime, writers, persist_every=every, quiet=quiet).run()


def _writers(
    outputs: Sequence[Endpoint], attributes: Mapping[str, list[tuple[str, str]]], emit_timestamp: str | None
) -> list[OutputWriter]:
    labelled = len({end.stream for end in outputs if end.is_standard}) > 1
    return [
        OutputWriter(end, _named(attributes[end.stream], emit_timestamp), timestamp=emit_timestamp, labelled=labelled)
        for end in outputs
    ]


_OF_STREAMS = ("trigger", "finish", "evolve", "reopen", "late")


def _refuse_options_of_spark(context: click.Context) -> None:
    for name in ("binds", "master", "shards", "tasks", "end_of_input", "checkpoint", *_OF_STREAMS, "strict", "explain"):
        if _is_given(context, name):
            option = "bind" if name == "binds" else name.replace("_", "-")
            raise click.UsageError(f"--{option} requires --engine spark")


def _refuse_options_of_the_other_kind(context: click.Context, *, streaming: bool, finish: bool, explain: bool) -> None:
    """Refuse options of batch runs with a checkpoint, and options of streams without one."""
    for name in ("timestamp", "emit_timestamp") if streaming else _OF_STREAMS:
        if _is_given(context, name):
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(
                f"{option} can't be combined with --checkpoint" if streaming else f"{option} requires --checkpoint"
            )
    if finish and context.params["trigger"] != "available-now":
        raise click.UsageError("--finish processes the available input: it can't be combined with --trigger")
    if streaming and not finish and not explain and _is_given(context, "end_of_input"):
        raise click.UsageError("--end-of-input requires --finish: without it the stream continues at the next start")


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _refuse_clashes(inputs: Sequence[Endpoint], outputs: Sequence[Endpoint]) -> None:
    written = [Path(end.path).resolve() for end in outputs if not end.is_standard]
    for path in written:
        if written.count(path) > 1:
            raise click.UsageError(f"more than one --output writes to {path}")
        if path in [Path(end.path).resolve() for end in inputs if not end.is_standard]:
            raise click.UsageError(f"{path} is both input and output: name another file for --output")


def _named(attributes: list[tuple[str, str]], timestamp: str | None) -> list[tuple[str, str]]:
    if timestamp in [name for name, _ in attributes]:
        raise click.UsageError(
            f"invalid --emit-timestamp '{timestamp}': an output has an attribute of that name; choose another"
        )
    return attributes
