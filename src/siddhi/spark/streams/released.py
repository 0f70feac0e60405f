"""Rows of streams out of what the stateful operator puts out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siddhi.spark.catalyst.expressions import SPARK_TYPES
from siddhi.spark.streams.streaming import Streaming
from siddhi.spark.workers.pack import unpack_output
from siddhi.spark.workers.program import OutputShape
from siddhi.spark.workers.stateful import LATE
from siddhi.types import AttributeType

__all__ = ["by_completeness", "late_rows_of", "numbers_of", "rows_of"]


def numbers_of(streaming: Streaming, stream: str) -> list[int]:
    """The numbers under which a stream is put out, one per island that fills it."""
    return [n for n, (name, _, _) in enumerate(streaming.streaming.outputs) if name == stream]


def rows_of(streaming: Streaming, frame: DataFrame, stream: str, numbers: Sequence[int]) -> DataFrame:
    """The rows of a stream, with its attributes and ``_timestamp``.

    Args:
        streaming: the app.
        frame: what the operator put out.
        stream: its name.
        numbers: under which it is put out.
    """
    attributes = streaming.plan.streams[stream].attributes
    _, island, place = streaming.streaming.outputs[numbers[0]]
    shape = streaming.streaming.programs[island].outputs[place]
    schema = ", ".join(["__t bigint", *(f"c{n} {SPARK_TYPES[a.type]}" for n, a in enumerate(attributes))])
    rows = frame.where(F.col("out").isin(list(numbers))).select("rows").mapInArrow(unpack_output(shape), schema)
    return rows.select(
        *(F.col(f"c{n}").alias(a.name) for n, a in enumerate(attributes)), F.col("__t").alias("_timestamp")
    )


def by_completeness(streaming: Streaming) -> list[int]:
    """The numbers of the islands, those behind the others to which rows may not go for which no label holds."""
    labels = [bool(program.labels) for program in streaming.streaming.programs]
    return sorted(range(len(labels)), key=labels.__getitem__)


def late_rows_of(
    streaming: Streaming, frame: DataFrame, stream: str, there: Collection[int] | None = None
) -> DataFrame | None:
    """The late rows of a bound stream, those of one island that reads it; None where there are none.

    Args:
        streaming: the app.
        frame: what the operator put out.
        stream: that is bound.
        there: the numbers of what the frame holds; None: not known.
    """
    islands, programs = streaming.streaming.islands, streaming.streaming.programs
    for number in by_completeness(streaming):
        island, program = islands[number], programs[number]
        if stream not in island.inputs or (there is not None and LATE + number not in there):
            continue
        at = [name for name, _ in program.inputs].index(stream)
        places = program.inputs[at][1]
        attributes = streaming.plan.streams[stream].attributes
        schema = ", ".join(
            ["__t bigint", *(f"c{n} {SPARK_TYPES[AttributeType(k)]}" for n, k in enumerate(program.kinds))]
        )
        shape = OutputShape(stream, program.kinds, ())
        rows = (
            frame.where(F.col("out") == LATE + number)
            .select("rows")
            .mapInArrow(unpack_output(shape, time_first=True, skip=streaming.ordering), schema)
        )
        if len(program.inputs) > 1:
            rows = rows.where(F.col("c0") == at)
        return rows.select(
            *(F.col(f"c{place}").alias(a.name) for place, a in zip(places, attributes, strict=True)),
            F.col("__t").alias("_timestamp"),
        )
    return None
