"""Expressions over edge values, by the embedded engine and by Spark."""

from __future__ import annotations

import math
import random
import struct
from typing import TYPE_CHECKING

from siddhi import SiddhiManager
from siddhi.planner.app import plan
from siddhi.query_compiler import parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["app", "by_engine", "by_spark", "first_difference", "rows"]

SCHEMA = "a int, b int, l long, m long, f float, g float, d double, e double, s string, t string, x bool, y bool"
NAN, INF = math.nan, math.inf
VALUES = {
    "int": [None, 0, 1, -1, 7, 2**31 - 1, -(2**31), 2**24 + 1],
    "long": [None, 0, 1, -1, 3, 2**63 - 1, -(2**63), 2**53 + 1, 2**31, 5_000_000_000],
    "float": [None, 0.0, -0.0, 1.0, -1.5, NAN, INF, -INF, 16777216.0, 0.10000000149011612, 1.1754943508222875e-38],
    "double": [None, 0.0, -0.0, 1.0, -2.5, NAN, INF, -INF, 2.0**53 + 2, 0.1, 1e300, 2147483647.5, 9.3e18],
    "string": [None, "", "true", "TRUE", " 12", "12", "+7", "-2147483648", "2147483648", "9223372036854775808",
               "9223372036854775807", "12\n", "\u0661\u0662", "1.5", "x"],
    "bool": [None, True, False],
}  # fmt: skip


def rows() -> list[tuple[object, ...]]:
    """Every pair of edge values of each type, in one order that is always the same."""
    shuffle = random.Random(5).sample
    pairs = {kind: [(a, b) for a in values for b in values] for kind, values in VALUES.items()}
    n = max(len(found) for found in pairs.values())
    columns = []
    for kind in ("int", "long", "float", "double", "string", "bool"):
        found = pairs[kind] + shuffle(pairs[kind] * 30, n)
        columns += [[a for a, _ in found[:n]], [b for _, b in found[:n]]]
    return list(zip(*columns))


def app(found: list[str]) -> str:
    columns = ", ".join(f"{text} as r{n}" for n, text in enumerate(found))
    return f"@app:playback define stream S ({SCHEMA}); from S select {columns} insert into Out;"


def by_engine(texts: list[str]) -> list[list[object]]:
    """Per row the results of the embedded engine."""
    out: list[list[object]] = []
    runtime = SiddhiManager().create_siddhi_app_runtime(app(texts))
    runtime.add_callback("Out", lambda events: out.extend(list(event.data) for event in events))
    with runtime:
        for row in rows():
            runtime.input_handler("S").send(row, 1000)
    return out


def by_spark(spark: SparkSession, texts: list[str], *, ansi: bool) -> tuple[list[str], list[list[object]]]:
    """The types that the plan has, and per row the results of Spark, all in one job."""
    from pyspark.sql import functions as F

    from siddhi.spark.catalyst.expressions import SPARK_TYPES, Lowering

    query = plan(parse(app(texts))).executions[0]
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    try:
        schema = ", ".join(f"{attribute.name} {SPARK_TYPES[attribute.type]}" for attribute in query.input.attributes)
        frame = spark.createDataFrame(rows(), schema).coalesce(1)
        lower = Lowering(lambda attr: F.col(attr.name), F.lit(1000).cast("bigint"))
        lowered = frame.select(*(lower(column.expression).alias(column.name) for column in query.selector.columns))
        declared = [SPARK_TYPES[column.expression.type] for column in query.selector.columns]
        assert [field.dataType.simpleString() for field in lowered.schema] == declared
        return declared, [list(row) for row in lowered.collect()]
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)


def first_difference(
    texts: list[str], types: list[str], want: list[list[object]], got: list[list[object]]
) -> str | None:
    """The first result that is not the engine's, in words."""
    assert len(want) == len(got)
    for wanted, gotten, row in zip(want, got, rows()):
        for text, type_, one, other in zip(texts, types, wanted, gotten, strict=True):
            if type_ == "float":  # the engine spells singles with the fewest digits that tell them apart
                one, other = _single(one), _single(other)
            if not _same(one, other):
                return f"{text} of {row}: want {one!r}, got {other!r}"
    return None


def _single(number: object) -> object:
    return struct.unpack("f", struct.pack("f", number))[0] if isinstance(number, float) else number


def _same(want: object, got: object) -> bool:
    if isinstance(want, float) and isinstance(got, float):
        return (math.isnan(want) and math.isnan(got)) or (
            want == got and math.copysign(1, want) == math.copysign(1, got)
        )
    return type(want) is type(got) and want == got
