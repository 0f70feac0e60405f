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
    from pyspark.sql import SparkSession

    from siddhi.spark import SparkRuntime

__all__ = ["Bind", "bind_all", "read_binds"]

_FORMATS = ("parquet", "csv", "json", "orc")
_OWN = ("timestamp", "watermark", "sequence", "max_idle")
_EXAMPLE = "Trades=parquet:/data/trades?timestamp=ts"


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
    """Give the streams their rows; text in a column of event time is a number of ms, or a date and time.

    Raises:
        BadInput: files are not what their stream needs.
    """
    from siddhi.spark.connectors.file_rows import Files, read_files
    from siddhi.spark.connectors.options import unknown_option

    for bind in binds:
        for name in bind.options:
            instead = unknown_option("source", "file", bind.format, name, _OWN)
            if instead is not None:
                raise click.UsageError(f"--bind {bind.stream}: no option '{name}' of {bind.format} files; {instead}")
        streams = runtime.plan.streams
        if bind.stream not in streams:
            hint = did_you_mean(bind.stream, streams)
            raise click.UsageError(f"the app has no stream '{bind.stream}' (streams: {', '.join(streams)}){hint}")
        given = (bind.stream, bind.format, bind.path, streams[bind.stream].attributes, bind.sequence, bind.timestamp)
        try:
            frame, column = read_files(spark, Files(*given, bind.options), streaming=streaming)
            runtime.bind(
                bind.stream,
                frame,
                timestamp=column or bind.timestamp,
                watermark=(bind.watermark or "0 seconds") if streaming else None,
                sequence=bind.sequence,
                max_idle=bind.max_idle if streaming else None,
            )
        except ValueError as error:
            raise BadInput(str(error)) from error
