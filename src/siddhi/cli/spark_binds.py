"""``--bind Trades=parquet:/data/trades?timestamp=ts``: a stream tied to files that Spark reads, at once or as they come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import click

from siddhi.errors import did_you_mean

from .failures import BadInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from siddhi.spark import SparkRuntime

__all__ = ["Bind", "bind_all", "read_binds", "rows_of_files"]

_FORMATS = ("parquet", "csv", "json", "orc")
_EXAMPLE = "Trades=parquet:/data/trades?timestamp=ts"
_TIME = "__event_time"


@dataclass(frozen=True, slots=True)
class Bind:
    """A stream tied to files; ``options`` are those of Spark's reader."""

    stream: str
    format: str
    path: str
    timestamp: str
    watermark: str | None = None
    sequence: tuple[str, ...] = ()
    max_idle: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def read_binds(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> list[Bind]:
    """Click callback of ``--bind``."""
    return [_bind(value) for value in values]


def _bind(value: str) -> Bind:
    stream, equals, rest = value.partition("=")
    format_, colon, rest = rest.partition(":")
    path, _, query = rest.partition("?")
    if not (stream and equals and format_ and colon and path):
        raise click.BadParameter(f"'{value}' is not of the form Stream=format:path?timestamp=column, as {_EXAMPLE}")
    if format_ not in _FORMATS:
        hint = did_you_mean(format_, _FORMATS)
        raise click.BadParameter(
            f"'{value}': files are {', '.join(_FORMATS)}, not '{format_}'{hint}; for Kafka write @source(type='kafka', ...)"
        )
    options = dict(parse_qsl(query, keep_blank_values=True))
    timestamp = options.pop("timestamp", "")
    if not timestamp:
        raise click.BadParameter(f"'{value}' does not say which column is the event time, as {_EXAMPLE}")
    sequence = tuple(name for name in options.pop("sequence", "").split(",") if name)
    watermark, idle = options.pop("watermark", None), options.pop("max_idle", None)
    return Bind(stream, format_, path, timestamp, watermark, sequence, idle, options)


def bind_all(runtime: SparkRuntime, spark: SparkSession, binds: list[Bind], *, streaming: bool) -> None:
    """Give the streams their rows.

    Raises:
        BadInput: files are not what their stream needs.
    """
    for bind in binds:
        streams = runtime.plan.streams
        if bind.stream not in streams:
            hint = did_you_mean(bind.stream, streams)
            raise click.UsageError(f"the app has no stream '{bind.stream}' (streams: {', '.join(streams)}){hint}")
        try:
            frame, column = rows_of_files(runtime, spark, bind, streaming=streaming)
            runtime.bind(
                bind.stream,
                frame,
                timestamp=column,
                watermark=(bind.watermark or "0 seconds") if streaming else None,
                sequence=bind.sequence,
                max_idle=bind.max_idle if streaming else None,
            )
        except ValueError as error:
            raise BadInput(str(error)) from error


def rows_of_files(runtime: SparkRuntime, spark: SparkSession, bind: Bind, *, streaming: bool) -> tuple[DataFrame, str]:
    """The rows of files, and their column of event time: text in CSV and JSON is a number of ms, or a date and time.

    Raises:
        BadInput: there are no files, or they have no such column.
    """
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F

    from siddhi.spark.expressions import SPARK_TYPES

    types = {a.name: SPARK_TYPES[a.type] for a in runtime.plan.streams[bind.stream].attributes}
    options = {"header": "true", **bind.options} if bind.format == "csv" else dict(bind.options)
    reader = spark.read.format(bind.format).options(**options)
    if bind.format == "json":
        columns = {**dict.fromkeys([bind.timestamp], "string"), **dict.fromkeys(types, "string")}
        columns |= dict.fromkeys(bind.sequence, "bigint")
        reader = reader.schema(", ".join(f"`{name}` {kind}" for name, kind in columns.items()))
    try:
        frame = reader.load(bind.path)
    except AnalysisException as error:
        raise BadInput(f"{bind.path} can't be read: {str(error).splitlines()[0]}") from error
    if bind.timestamp not in frame.columns:
        raise BadInput(f"{bind.path} has no column '{bind.timestamp}'{did_you_mean(bind.timestamp, frame.columns)}")
    if streaming:
        frame = spark.readStream.format(bind.format).options(**options).schema(frame.schema).load(bind.path)
    if bind.format in ("parquet", "orc"):
        return frame, bind.timestamp
    value = F.col(f"`{bind.timestamp}`")
    instant = F.coalesce(value.try_cast("bigint"), F.unix_millis(F.try_to_timestamp(value)))
    kept = [F.col(f"`{name}`").cast(kind).alias(name) for name, kind in types.items() if name in frame.columns]
    kept += [F.col(f"`{name}`").cast("bigint").alias(name) for name in bind.sequence if name not in types]
    return frame.select(*kept, instant.alias(_TIME)), _TIME
