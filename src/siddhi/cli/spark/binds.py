"""``--bind Trades=parquet:/data/trades?timestamp=ts``: bind a stream or table to files, in batch or as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import click

from siddhi.cli.failures import BadInput
from siddhi.errors import did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from siddhi.spark import SparkRuntime

__all__ = ["Bind", "bind_all", "by_name", "read_binds"]

_FORMATS = ("parquet", "csv", "json", "orc")
_EXAMPLE = "Trades=parquet:/data/trades?timestamp=ts"


@dataclass(frozen=True, slots=True)
class Bind:
    """A stream or table bound to files; ``options`` are those of Spark's reader, ``timestamp`` is empty for a table."""

    stream: str
    format: str
    path: str
    timestamp: str = ""
    watermark: str | None = None
    sequence: tuple[str, ...] = ()
    max_idle: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def read_binds(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> list[Bind]:
    """Parse ``--bind``, as a click callback."""
    return [_bind(value) for value in values]


def _bind(value: str) -> Bind:
    stream, equals, rest = value.partition("=")
    format_, colon, rest = rest.partition(":")
    path, _, query = rest.partition("?")
    if not (stream and equals and format_ and colon and path):
        raise click.BadParameter(
            f"invalid bind '{value}': expected Stream=format:path?timestamp=column, such as {_EXAMPLE}"
        )
    if format_ not in _FORMATS:
        hint = did_you_mean(format_, _FORMATS)
        raise click.BadParameter(
            f"unknown format '{format_}' in '{value}': use one of {', '.join(_FORMATS)}{hint}; for Kafka write @source(type='kafka', ...)"
        )
    options = dict(parse_qsl(query, keep_blank_values=True))
    timestamp = options.pop("timestamp", "")
    sequence = tuple(name for name in options.pop("sequence", "").split(",") if name)
    watermark, idle = options.pop("watermark", None), options.pop("max_idle", None)
    return Bind(stream, format_, path, timestamp, watermark, sequence, idle, options)


def by_name(binds: Iterable[Bind]) -> dict[str, list[Bind]]:
    """Return the binds of each stream or table, in the order of the command line."""
    found: dict[str, list[Bind]] = {}
    for bind in binds:
        found.setdefault(bind.stream, []).append(bind)
    return found


def bind_all(runtime: SparkRuntime, spark: SparkSession, binds: list[Bind], *, streaming: bool) -> None:
    """Bind streams and tables; text in a column of event time is a number of ms, or a date and time.

    A stream with several binds has the rows of all, those of one ms in the order of the binds.

    Raises:
        BadInput: files do not fit their stream or table.
    """
    for name, own in by_name(binds).items():
        try:
            if name in runtime.plan.tables:
                _bind_table(runtime, spark, name, own)
            else:
                _bind_stream(runtime, spark, name, own, streaming=streaming)
        except ValueError as error:
            raise BadInput(str(error)) from error


def _bind_stream(runtime: SparkRuntime, spark: SparkSession, name: str, binds: list[Bind], *, streaming: bool) -> None:
    from siddhi.spark.catalyst.bindings import event_time
    from siddhi.spark.sources.declared import rows_in_order
    from siddhi.spark.sources.files import Files, read_files

    attributes = runtime.plan.streams[name].attributes
    frames, times, orders = [], [], []
    for bind in binds:
        files = Files(name, bind.format, bind.path, attributes, bind.sequence, bind.timestamp, bind.options)
        read = read_files(spark, files, streaming=streaming)
        frames.append(read.frame)
        times.append(read.time or bind.timestamp)
        orders.append(read.order)
    first = binds[0]
    rows, time, sequence = frames[0], times[0], orders[0]
    if len(binds) > 1:
        # Times of each kind in ms. The name tells a checkpoint the number of sources.
        time = f"__time_of_{len(binds)}"
        more = [[event_time(f, t, f"stream '{name}'").alias(time)] for f, t in zip(frames, times, strict=True)]
        rows, sequence = rows_in_order(attributes, frames, orders, more)
    runtime.bind(
        name,
        rows,
        timestamp=time,
        watermark=first.watermark,
        sequence=sequence,
        max_idle=first.max_idle,
    )


def _bind_table(runtime: SparkRuntime, spark: SparkSession, name: str, binds: list[Bind]) -> None:
    from siddhi.spark.sources.files import Files, read_files

    attributes = runtime.plan.tables[name].attributes
    columns = [f"`{attribute.name}`" for attribute in attributes]
    rows = None
    for bind in binds:
        files = Files(name, bind.format, bind.path, attributes, options=bind.options, kind="table")
        frame = read_files(spark, files, streaming=False).frame.select(*columns)
        rows = frame if rows is None else rows.unionAll(frame)
    assert rows is not None
    runtime.bind_table(name, rows)
