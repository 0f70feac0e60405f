"""Split the output of the stateful operator into streams."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siddhi.spark.catalyst.expressions import SPARK_TYPES
from siddhi.spark.streaming.plan import Streaming
from siddhi.spark.workers.record_batch import decode_late, decode_output
from siddhi.spark.workers.stateful import LATE
from siddhi.types import AttributeType

__all__ = ["counted", "late_rows_of", "numbers_of", "rows_of"]

_COUNTS = "emitted"
"""Name of the observed metrics of the output."""


def counted(frame: DataFrame) -> DataFrame:
    """Return the output of the operator, whose rows and late rows Spark's progress of each micro-batch counts."""
    n, out = F.col("n"), F.col("out")
    rows, late = F.sum(F.when(out < LATE, n)), F.sum(F.when(out >= LATE, n))
    return frame.observe(_COUNTS, rows.alias("rows"), late.alias("late"))


def numbers_of(streaming: Streaming, stream: str) -> list[int]:
    """Return the output numbers of a stream, one per fragment that fills it."""
    return [n for n, (name, _, _) in enumerate(streaming.streaming.outputs) if name == stream]


def rows_of(streaming: Streaming, frame: DataFrame, stream: str, numbers: Sequence[int]) -> DataFrame:
    """Return the rows of a stream, with its attributes and ``_timestamp``.

    Args:
        streaming: the app.
        frame: output of the operator.
        stream: name of the stream.
        numbers: its output numbers.
    """
    attributes = streaming.plan.streams[stream].attributes
    _, fragment, output = streaming.streaming.outputs[numbers[0]]
    shape = streaming.streaming.programs[fragment].outputs[output]
    schema = ", ".join(["__t bigint", *(f"c{n} {SPARK_TYPES[a.type]}" for n, a in enumerate(attributes))])
    rows = frame.where(F.col("out").isin(list(numbers))).select("rows").mapInArrow(decode_output(shape), schema)
    return rows.select(
        *(F.col(f"c{n}").alias(a.name) for n, a in enumerate(attributes)), F.col("__t").alias("_timestamp")
    )


def late_rows_of(streaming: Streaming, frame: DataFrame, stream: str) -> DataFrame:
    """Return the late rows of a bound stream, with its attributes and ``_timestamp``.

    Args:
        streaming: the app.
        frame: output of the operator.
        stream: name of the stream.
    """
    late_reporter = streaming.late_reporter(stream)
    assert late_reporter is not None, "the plan has a fragment for each late output"
    number, at = late_reporter
    program = streaming.streaming.programs[number]
    columns = program.inputs[at][1]
    attributes = streaming.plan.streams[stream].attributes
    schema = ", ".join(["__t bigint", *(f"c{n} {SPARK_TYPES[AttributeType(k)]}" for n, k in enumerate(program.kinds))])
    unpack = decode_late(program.kinds, streaming.ordering, list(streaming.plan.streams).index(stream))
    rows = frame.where(F.col("out") == LATE + number).select("rows").mapInArrow(unpack, schema)
    if len(program.inputs) > 1:
        rows = rows.where(F.col("c0") == at)
    return rows.select(
        *(F.col(f"c{column}").alias(a.name) for column, a in zip(columns, attributes, strict=True)),
        F.col("__t").alias("_timestamp"),
    )
