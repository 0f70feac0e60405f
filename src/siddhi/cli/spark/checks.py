"""Check a command line for Spark against the app's plan before Spark starts, which takes seconds."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from siddhi.cli.endpoints import Endpoint, Format
from siddhi.cli.failures import BadInput, OutputFailed
from siddhi.cli.spark.binds import Bind, by_name
from siddhi.cli.spark.paths import refuse_outputs_in_inputs
from siddhi.errors import did_you_mean
from siddhi.query_compiler import parse

if TYPE_CHECKING:
    from siddhi.planner.plan.nodes import Plan
    from siddhi.spark.plan.fragments import Layout

__all__ = ["as_bind", "check_command", "read_master", "read_trigger"]

_OWN = ("timestamp", "watermark", "sequence", "max_idle")
_LATE = "__late"
_NOW = "available-now"
_UNIT = r"(?:microsecond|millisecond|second|minute|hour|day|week)s?"
_INTERVAL = re.compile(rf"(?:interval\s+)?\d+(?:\.\d+)?\s+{_UNIT}(?:\s+\d+(?:\.\d+)?\s+{_UNIT})*", re.IGNORECASE)
_MASTER = re.compile(r"local|local\[(?:\*|[1-9]\d*)(?:\s*,\s*[1-9]\d*)?\]|local-cluster\[.*\]|yarn|(?:spark|k8s)://.+")
_PATTERN = frozenset("*?[{")


def read_trigger(_: click.Context, __: click.Parameter, value: str) -> str:
    """Parse ``--trigger``, as a click callback."""
    if value != _NOW and _INTERVAL.fullmatch(value.strip()) is None:
        raise click.BadParameter(f"invalid trigger '{value}': expected {_NOW} or an interval such as '5 seconds'")
    return value


def read_master(_: click.Context, __: click.Parameter, value: str) -> str:
    """Parse ``--master``, as a click callback."""
    if _MASTER.fullmatch(value) is None:
        raise click.BadParameter(
            f"invalid master '{value}': expected local[4] (four local cores), local[*] (all), spark://host:port, yarn or "
            "k8s://..."
        )
    return value


def as_bind(end: Endpoint, timestamp: str) -> Bind:
    """Return an ``--input`` as a ``--bind``."""
    formats = {Format.PARQUET: "parquet", Format.CSV: "csv", Format.JSONL: "json"}
    return Bind(end.stream, formats[end.format], end.path, timestamp)


def check_command(
    plan: Plan,
    text: str,
    *,
    inputs: Iterable[Endpoint],
    binds: list[Bind],
    outputs: Collection[Endpoint],
    streaming: bool,
    late: str = "drop",
    emit_timestamp: str | None = None,
) -> None:
    """Check everything that does not need Spark.

    Args:
        plan: plan of the app.
        text: text of the app.
        inputs: files of streams, which share one column of event time.
        binds: files of streams and tables.
        outputs: outputs of streams.
        streaming: whether the app runs as a stream.
        late: policy for late rows; ``side`` makes outputs of them.
        emit_timestamp: a column that outputs get.

    Raises:
        click.UsageError: the command line does not fit the app.
        BadInput: an input does not exist.
        OutputFailed: the folder of an output does not exist.
    """
    inputs = list(inputs)
    if streaming and inputs:
        raise click.UsageError("a stream needs --bind, or a source in the app: @source(type='file', ...)")
    if any(end.is_standard for end in inputs):
        raise click.UsageError("--engine spark reads files, not standard input")
    if streaming and any(end.is_standard for end in outputs):
        raise click.UsageError("a stream writes folders of files, not standard output")
    for end in inputs:
        _require_stream(plan, end.stream)
    for name, own in by_name(binds).items():
        _check_binds(plan, name, own, streaming=streaming)
    wanted = [end.stream for end in outputs]
    for name in wanted:
        if streaming and late == "side" and name.removesuffix(_LATE) in plan.streams:
            continue
        _require_stream(plan, name)
        if emit_timestamp in [attribute.name for attribute in plan.streams[name].attributes]:
            raise click.UsageError(
                f"--emit-timestamp: '{emit_timestamp}' is an attribute of an output: use another name"
            )
    bound = {end.stream for end in inputs} | {bind.stream for bind in binds if bind.stream in plan.streams}
    tables = {bind.stream for bind in binds if bind.stream in plan.tables}
    _check_flow(plan, text, wanted, bound, tables, streaming=streaming)
    refuse_outputs_in_inputs(text, inputs=inputs, binds=binds, outputs=outputs)
    for location in (*(end.path for end in inputs), *(bind.path for bind in binds)):
        if _is_missing(location):
            raise BadInput(f"cannot read {location}: no such file or folder")
    for end in outputs:
        if not streaming and not end.is_standard and not Path(end.path).parent.is_dir():
            raise OutputFailed(f"cannot write {end.path}: there is no folder {Path(end.path).parent}")


def _require_stream(plan: Plan, name: str) -> None:
    if name not in plan.streams:
        known = plan.streams
        raise click.UsageError(
            f"the app has no stream '{name}' (streams: {', '.join(known)}){did_you_mean(name, known)}"
        )


def _check_binds(plan: Plan, name: str, binds: list[Bind], *, streaming: bool) -> None:
    from siddhi.spark.sources.option_values import value_instead
    from siddhi.spark.sources.options import unknown_option

    if name not in plan.streams and name not in plan.tables:
        if not plan.tables:
            _require_stream(plan, name)
        known, hint = ", ".join(plan.streams), did_you_mean(name, [*plan.streams, *plan.tables])
        raise click.UsageError(
            f"the app has no stream or table '{name}' (streams: {known}; tables: {', '.join(plan.tables)}){hint}"
        )
    for bind in binds:
        for option, value in bind.options.items():
            instead = unknown_option("source", "file", bind.format, option, _OWN)
            if instead is not None:
                raise click.UsageError(f"--bind {name}: no option '{option}' of {bind.format} files; {instead}")
            if may_be := value_instead(option, value):
                raise click.UsageError(f"--bind {name}: {option} is {may_be}, not '{value}'")
    if name in plan.tables:
        for bind in binds:
            given = [option for option in _OWN if getattr(bind, option)]
            if given:
                raise click.UsageError(
                    f"--bind {name}: a table takes no {given[0]}, as its rows are read once, at the start"
                )
        return
    for bind in binds:
        if not bind.timestamp:
            raise click.UsageError(
                f"--bind {name}={bind.format}:{bind.path} has no column of event time: add ?timestamp=column"
            )
        if streaming and bind.watermark is None:
            raise click.UsageError(
                f"--bind {name} has no watermark: add the delay of late rows, such as '&watermark=10 seconds'"
            )
    for option in ("watermark", "max_idle"):
        values = list(dict.fromkeys(getattr(bind, option) or "none" for bind in binds))
        if len(values) > 1:
            raise click.UsageError(
                f"the binds of '{name}' differ in {option} ({' and '.join(values)}): use one {option} per stream"
            )


def _check_flow(
    plan: Plan, text: str, wanted: list[str], bound: set[str], tables: set[str], *, streaming: bool
) -> None:
    """Check that all sources of the outputs have rows."""
    from siddhi.spark.plan.fragments import cut
    from siddhi.spark.plan.upstream import require_fed, tables_above
    from siddhi.spark.sources.annotations import connectors_of, foreign_of

    app = parse(text)
    connectors = [*connectors_of(app), *foreign_of(app)]
    fed = bound | {connector.stream for connector in connectors if connector.direction == "source"}
    wanted = wanted or [connector.stream for connector in connectors if connector.direction == "sink"]
    if not wanted:
        raise click.UsageError("nothing to write: give --output, or add @sink(type='file', ...) to the app")
    if not fed:
        raise click.UsageError(f"no stream has rows: give {'' if streaming else '--input or '}--bind")
    layout: Layout = cut(plan, streaming=streaming, prefer="native", exact_floats=False, bound=frozenset(fed))
    for name in tables:
        if name not in layout.read_only:
            raise click.UsageError(f"--bind {name}: the app writes this table; insert rows by a stream instead")
    running = [name for fragment in layout.fragments for name in fragment.names] if streaming else []
    for name in tables_above(layout, wanted, elements=running):
        if name not in tables:
            raise click.UsageError(f"table '{name}' has no rows, and no query writes it: add --bind '{name}=csv:path'")
    if not streaming:
        for name in wanted:
            try:
                require_fed(plan, layout, name, fed)
            except ValueError as error:
                raise click.UsageError(f"--output {name}: {error}") from error


def _is_missing(location: str) -> bool:
    """Return whether a local file or folder is missing; other locations and patterns are not checked."""
    if ":" in location or not _PATTERN.isdisjoint(location) or "HADOOP_CONF_DIR" in os.environ:
        return False
    return not Path(location).exists()
