"""``siddhi run --engine spark``: run an app on files through Spark."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
import pyarrow as pa

from siddhi.cli.app_text import read_bound_app
from siddhi.cli.endpoints import Endpoint, Format
from siddhi.cli.failures import AppRefused, BadInput, Interrupted, OutputFailed, ProcessingFailed, reason
from siddhi.cli.outputs.writers import open_writer, output_schema
from siddhi.cli.spark.binds import Bind, bind_all
from siddhi.cli.spark.checks import as_bind, check_command
from siddhi.cli.spark.interrupt import run_cancellable
from siddhi.errors import SiddhiAppError, SiddhiError, SparkRunError, SparkSetupError
from siddhi.query_compiler.variables import ParameterText

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from siddhi.spark import SparkRuntime
    from siddhi.spark.streaming.query import Sink, SparkQuery
    from siddhi.spark.workers.late import LatePolicy

__all__ = ["SparkRun", "run_on_spark"]

_LOGGING = Path(__file__).with_name("log4j2.properties")


@dataclass(frozen=True, slots=True)
class SparkRun:
    """The command line. ``trigger``: ``available-now``, or an interval of micro-batches."""

    app: str
    parameters: Mapping[str, ParameterText]
    inputs: list[Endpoint]
    binds: list[Bind]
    outputs: list[Endpoint]
    timestamp: str | None
    emit_timestamp: str | None
    master: str
    shards: int
    tasks: int | None
    end_of_input: str
    checkpoint: str | None
    trigger: str
    finish: bool
    evolve: bool
    reopen: bool
    late: LatePolicy
    strict: bool
    explain: bool
    quiet: bool


def run_on_spark(wanted: SparkRun) -> None:
    """Run an app on Spark.

    Raises:
        AppRefused: Spark can't run the app.
        BadInput: an input does not fit its stream.
        OutputFailed: an output can't be written.
        ProcessingFailed: the app failed.
    """
    text = read_bound_app(wanted.app, wanted.parameters)
    streaming = wanted.checkpoint is not None
    if wanted.timestamp is None and wanted.inputs and not streaming and not wanted.explain:
        raise click.UsageError("--engine spark needs --timestamp, the column of event time")
    try:
        from siddhi.spark import SparkRuntime, local_session
        from siddhi.spark.session import SETTINGS

        # Errors of the app and the command line are reported before Spark starts.
        planned = _runtime(SparkRuntime, text, None, wanted)
        if wanted.explain:
            click.echo(planned.explain(streaming=streaming))
            return
        check_command(
            planned.plan,
            text,
            inputs=wanted.inputs,
            binds=wanted.binds,
            outputs=wanted.outputs,
            streaming=streaming,
            late=wanted.late,
            emit_timestamp=wanted.emit_timestamp,
        )
    except SparkSetupError as error:
        raise click.UsageError(str(error)) from error
    sessions: list[SparkSession] = []
    interrupted = threading.Event()

    def work() -> None:
        _say(wanted, f"starting Spark on {wanted.master}")
        with _start_errors(wanted):
            sessions.append(local_session(wanted.master, settings=_settings(SETTINGS)))
        if not interrupted.is_set():
            _run(SparkRuntime, text, sessions[0], wanted)

    def cancel() -> None:
        interrupted.set()
        if sessions:
            _cancel(sessions[0], wanted)

    try:
        run_cancellable(work, cancel)
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted; the same command continues from the checkpoint" if streaming else "interrupted"
        ) from None
    finally:
        for spark in sessions:
            spark.stop()


def _run(kind: type[SparkRuntime], text: str, spark: SparkSession, wanted: SparkRun) -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from siddhi.spark.failures import BadRowError, message_of, run_errors

    try:
        runtime = _runtime(kind, text, spark, wanted)
        started = time.monotonic()
        with run_errors(), _shown_warnings(wanted):
            if wanted.checkpoint is not None:
                _stream(runtime, spark, wanted)
            else:
                _batch(runtime, spark, wanted)
        _say(wanted, f"done in {time.monotonic() - started:.1f} s")
    except SparkSetupError as error:
        raise click.UsageError(str(error)) from error
    except BadRowError as error:
        raise BadInput(str(error)) from error
    except SparkRunError as error:
        raise ProcessingFailed(_with_options(str(error))) from error
    except SiddhiAppError as error:
        raise AppRefused(str(error)) from error
    except (PySparkException, Py4JError) as error:
        raise ProcessingFailed(message_of(error)) from error


def _cancel(spark: SparkSession, wanted: SparkRun) -> None:
    """Stop the work. A stream that is being finished fails, as a stopped one would count as finished."""
    if wanted.checkpoint is not None and not wanted.finish:
        for query in spark.streams.active:
            query.stop()
    spark.sparkContext.cancelAllJobs()


def _settings(usual: Mapping[str, str]) -> dict[str, str]:
    """Return settings that keep Spark's log off the terminal, from the start of the JVM."""
    options = "spark.driver.extraJavaOptions"
    return {
        "spark.log.level": "OFF",
        options: f'{usual[options]} "-Dlog4j2.configurationFile={_LOGGING.as_uri()}"',
    }


@contextmanager
def _start_errors(wanted: SparkRun) -> Iterator[None]:
    """Report in one sentence that Spark did not start."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from siddhi.spark.failures import message_of

    try:
        yield
    except SparkSetupError as error:
        raise click.UsageError(str(error)) from error
    except (PySparkException, Py4JError) as error:
        first_line = message_of(error).partition("\n")[0]
        raise click.UsageError(f"Spark does not start on {wanted.master}: {first_line}") from error


def _with_options(text: str) -> str:
    """Return a message with arguments replaced by options of the command."""
    return text.replace("evolve=True", "--evolve").replace("reopen=True", "--reopen")


def _runtime(kind: type[SparkRuntime], text: str, spark: Any, wanted: SparkRun) -> SparkRuntime:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            runtime = kind(
                text,
                spark,
                shards=wanted.shards,
                tasks=wanted.tasks,
                end_of_input=wanted.end_of_input,
                late=wanted.late,
                strict=wanted.strict,
            )
        except SiddhiError as error:
            raise AppRefused(str(error)) from error
    if spark is None:
        for warning in caught:
            _say(wanted, f"warning: {warning.message}")
    return runtime


@contextmanager
def _shown_warnings(wanted: SparkRun) -> Iterator[None]:
    """Print the warnings of the run like those before it."""
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, UserWarning):
                _say(wanted, f"warning: {message}")
            else:
                shown(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        warnings.simplefilter("always", UserWarning)
        yield


def _say(wanted: SparkRun, text: str) -> None:
    if not wanted.quiet:
        click.echo(text, err=True)


# --- batch


def _batch(runtime: SparkRuntime, spark: SparkSession, wanted: SparkRun) -> None:
    binds = [as_bind(end, wanted.timestamp or "") for end in wanted.inputs]
    bind_all(runtime, spark, [*binds, *wanted.binds], streaming=False)
    with _progress(spark, shown=not wanted.quiet and sys.stderr.isatty()):
        try:
            if not wanted.outputs:
                for stream in runtime.write():
                    _say(wanted, f"{stream}: written")
                return
            found = runtime.run(list(dict.fromkeys(end.stream for end in wanted.outputs)), meta=True)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        for end in wanted.outputs:
            n = _write(runtime, found[end.stream], end, wanted)
            _say(wanted, f"{end.stream}: {n:,} events out to {'standard output' if end.is_standard else end.path}")


def _write(runtime: SparkRuntime, frame: DataFrame, end: Endpoint, wanted: SparkRun) -> int:
    """Write the rows in the order of time; return their number."""
    attributes = [(a.name, str(a.type)) for a in runtime.plan.streams[end.stream].attributes]
    schema = output_schema(attributes, wanted.emit_timestamp)
    table: pa.Table = frame.orderBy("_timestamp").toArrow()
    columns = [table.column(name) for name, _ in attributes]
    if wanted.emit_timestamp is not None:
        columns.insert(0, table.column("_timestamp"))
    rows = pa.Table.from_arrays([c.cast(f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
    streams = {other.stream for other in wanted.outputs if other.is_standard}
    label = end.stream if len(streams) > 1 and end.is_standard else None
    try:
        writer = open_writer(end, schema, label=label)
        for batch in rows.combine_chunks().to_batches():
            if batch.num_rows:
                writer.write(batch)
        writer.close()
    except OSError as error:
        raise OutputFailed(f"cannot write {end.path}: {reason(error)}") from error
    return int(rows.num_rows)


@contextmanager
def _progress(spark: SparkSession, *, shown: bool) -> Iterator[None]:
    """Print the current stage and its progress twice a second, on a terminal."""
    ended = threading.Event()

    def watch() -> None:
        tracker = spark.sparkContext.statusTracker()
        while not ended.wait(0.5):
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None:
                    sys.stderr.write(f"\rstage {stage}: {info.numCompletedTasks} of {info.numTasks} tasks ")
                    sys.stderr.flush()

    if shown:
        threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        if shown:
            sys.stderr.write("\r" + " " * 40 + "\r")


# --- streams


def _stream(runtime: SparkRuntime, spark: SparkSession, wanted: SparkRun) -> None:
    assert wanted.checkpoint is not None
    try:
        bind_all(runtime, spark, wanted.binds, streaming=True)
        sinks = _sinks(wanted)
        if wanted.finish:
            query = runtime.finish(wanted.checkpoint, sinks, evolve=wanted.evolve, reopen=wanted.reopen)
        else:
            query = _started(runtime, sinks, wanted)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    last: Any = None
    while not query.await_termination(0.5):
        last = _tell(wanted, query.last_progress, last)
    _tell(wanted, query.last_progress, last)
    _say(wanted, f"{query.late_rows:,} late row{'' if query.late_rows == 1 else 's'}")
    for stream, n in query.written.items():
        _say(wanted, f"{stream}: {n:,} events out")


def _started(runtime: SparkRuntime, sinks: dict[str, Sink] | None, wanted: SparkRun) -> SparkQuery:
    now = wanted.trigger == "available-now"
    assert wanted.checkpoint is not None
    return runtime.start(
        wanted.checkpoint,
        sinks,
        trigger={"availableNow": True} if now else {"processingTime": wanted.trigger},
        evolve=wanted.evolve,
        reopen=wanted.reopen,
    )


def _sinks(wanted: SparkRun) -> dict[str, Sink] | None:
    """Return the folders of each stream with ``--output``; None: there is none, and the sinks of the app are used."""
    from siddhi.cli.spark.outputs import FolderSinks
    from siddhi.spark import FileSink

    formats = {Format.PARQUET: "parquet", Format.CSV: "csv", Format.JSONL: "json"}
    found: dict[str, list[FileSink]] = {}
    for end in wanted.outputs:
        found.setdefault(end.stream, []).append(FileSink(end.path, formats[end.format]))
    return {stream: sinks[0] if len(sinks) == 1 else FolderSinks(sinks) for stream, sinks in found.items()} or None


def _tell(wanted: SparkRun, progress: Any, last: Any) -> Any:
    """Print one line per micro-batch; return its number."""
    if progress is None or progress["batchId"] == last:
        return last
    watermark = progress["eventTime"].get("watermark")
    known = "" if watermark is None else f", watermark {watermark}"
    _say(wanted, f"batch {progress['batchId']}: {progress['numInputRows']:,} rows{known}")
    return progress["batchId"]
