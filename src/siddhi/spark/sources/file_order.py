"""The order of rows in files: by file, place and row, as columns that are made when the rows are read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siddhi.spark import files
from siddhi.spark.workers.row_numbers import number_rows

__all__ = ["numbered", "with_order"]

_ORDER = "__file_order"
_CHARACTERS = 7
"""Characters of a path, which are ASCII, in a positive bigint."""
_PARTS_OF_STREAM = 3
_SCHEME = re.compile(r"(\w[\w+.-]*:)(/|///)(?!/)")
"""The scheme of a path without authority."""
_PATTERN = "*?[{"


def with_order(
    spark: SparkSession, raw: DataFrame, format_: str, path: str, *, streaming: bool
) -> tuple[DataFrame, tuple[str, ...]]:
    """Return rows of files with the columns that order them, and the names of these.

    Files are ordered by their paths. Of the files of a stream, which are not all known, the first 21 characters below the folder
    count, then a hash. Rows of a stream need :func:`numbered`, too, if the format is not parquet.

    Args:
        raw: rows as Spark's reader gives them; it must not have other operators.
        format_: format of the files.
        path: path of a file or folder, or a pattern.
        streaming: whether the rows are a stream.
    """
    columns = _stream_files(spark, path) if streaming else _batch_files(raw.inputFiles())
    if format_ == "parquet":
        columns.append(F.col("_metadata.row_index"))
    else:
        # The rows of a block are read by one task, one after another.
        columns.append(F.col("_metadata.file_block_start"))
        if not streaming:
            columns.append(F.monotonically_increasing_id())
    names = tuple(f"{_ORDER}{n}" for n in range(len(columns)))
    return raw.select("*", *(column.alias(name) for name, column in zip(names, columns, strict=True))), names


def numbered(frame: DataFrame, order: tuple[str, ...]) -> tuple[DataFrame, tuple[str, ...]]:
    """Return the rows of a stream, and their order, with the place of each row in its block: its number in its task."""
    name = f"{_ORDER}{len(order)}"
    schema = T.StructType([*frame.schema.fields, T.StructField(name, T.LongType())])
    return frame.mapInArrow(number_rows, schema), (*order, name)


def _batch_files(paths: Sequence[str]) -> list[Column]:
    """Return columns that order files, as many as their paths need."""
    if len(paths) < 2:
        return []
    first, last = min(paths), max(paths)
    start = next((n for n, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    parts = 1
    while len({path[start : start + parts * _CHARACTERS] for path in paths}) < len(set(paths)):
        parts += 1
    return _parts(paths[0], start, parts)


def _stream_files(spark: SparkSession, path: str) -> list[Column]:
    """Return columns that order the files of a stream, those of later starts, too."""
    plain = path
    if not set(_PATTERN).isdisjoint(path):
        before = path[: min(path.index(sign) for sign in _PATTERN if sign in path)]
        plain = before[: before.rfind("/") + 1] or "."
    folder = files.uri(spark, plain).rstrip("/") + "/"
    return [*_parts(folder, len(folder), _PARTS_OF_STREAM), F.xxhash64(F.col("_metadata.file_path"))]


def _parts(path: str, start: int, n: int) -> list[Column]:
    """Return characters of the path from a position on, as numbers of the same order.

    Args:
        path: one of the paths.
        start: a position in it.
        n: number of columns.
    """
    shown = F.col("_metadata.file_path")
    place = F.lit(start + 1)
    scheme = _SCHEME.match(path)
    if scheme is not None:  # Spark shows file:///data or file:/data
        place += F.when(shown.startswith(f"{scheme[1]}///"), 3).otherwise(1) - F.lit(len(scheme[2]))
    texts = [F.substring(shown, place + F.lit(part * _CHARACTERS), F.lit(_CHARACTERS)) for part in range(n)]
    return [F.conv(F.rpad(F.hex(text), 2 * _CHARACTERS, "0"), 16, 10).cast("bigint") for text in texts]
