"""Streams as DataFrames: bases that are read once, and branches of them.

A branch is a condition and columns over a base, so queries that only filter and project add expressions and no operator, and
several branches of a base are one pass over it. ``path`` has the positions of the queries that a row passed; compared as
tuples, paths order the rows of one input row as the embedded engine does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siddhi.query_api.definition import Attribute
from siddhi.spark.catalyst.expressions import SPARK_TYPES

__all__ = ["SEQUENCE", "SOURCE", "TIME", "Base", "Branch", "attribute_column", "frame_of", "values_as_order"]

TIME = "__t"
"""Event time in ms since 1970."""
SOURCE = "source"
"""Column that orders rows of one time from different streams."""
SEQUENCE = "__seq"
"""Prefix of the columns that order rows of one ms."""


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """A DataFrame with the columns ``c0`` to ``cn``, ``__t``, and ``__seq0`` to ``__seqn``.

    ``source`` orders rows of one time from different bases; None: the column ``source`` does.
    """

    frame: DataFrame
    source: int | None
    sequence: int

    def order(self, sequence: int) -> list[Column]:
        """Return time, source, and a number of columns ``__seq``; missing ones are 0."""
        source = F.col(SOURCE) if self.source is None else F.lit(self.source).alias(SOURCE)
        order = [
            F.col(f"{SEQUENCE}{n}") if n < self.sequence else F.lit(0).cast("bigint").alias(f"{SEQUENCE}{n}")
            for n in range(sequence)
        ]
        return [F.col(TIME), source, *order]


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """Rows of a base that meet a condition (None: all; null counts as false), as columns."""

    base: Base
    columns: tuple[Column, ...]
    condition: Column | None = None
    path: tuple[int, ...] = ()

    def rows(self, *columns: Column) -> DataFrame:
        """Return the rows as these columns."""
        frame = self.base.frame if self.condition is None else self.base.frame.where(self.condition)
        return frame.select(*columns)


def attribute_column(position: int) -> Column:
    """Return the column of a base with an attribute."""
    return F.col(f"c{position}")


def values_as_order(columns: Sequence[Column]) -> list[Column]:
    """Return values that order rows when nothing else does, the same in every attempt: nulls last, as in engines over
    streams."""
    return [field for column in columns for field in (column.isNull(), column)]


def frame_of(
    branches: Sequence[Branch], attributes: Sequence[Attribute], *, timestamp: str | None = None
) -> DataFrame | None:
    """Return the branches of a stream as one DataFrame with its attributes; None: there are none."""
    frames = []
    for branch in branches:
        columns = [
            column.cast(SPARK_TYPES[attribute.type]).alias(attribute.name)
            for column, attribute in zip(branch.columns, attributes, strict=True)
        ]
        if timestamp is not None:
            columns.append(F.col(TIME).alias(timestamp))
        frames.append(branch.rows(*columns))
    if not frames:
        return None
    union = frames[0]
    for frame in frames[1:]:
        union = union.unionAll(frame)
    return union
