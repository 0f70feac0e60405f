"""Text cells are converted as by the embedded engine's CSV reader."""

from __future__ import annotations

import io

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
from pyarrow import csv as arrow_csv

from siddhi.cli.inputs.timestamps import UnreadableTimestampError, epoch_ms
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType

pytestmark = pytest.mark.spark

CELLS = """5 +5 -5 05 5. .5 0x10 0XfF 0xFFFFFFFF 0x1FFFFFFFF 0x -0x1 1_000 1e3 5f 1D -nan +nan NaN -inf 1e400 --5 - true TRUE
True tRUE T 1 0 2147483648 -2147483648 9223372036854775807 9223372036854775808 \u0665 0xFFFFFFFFFFFFFFFF""".split()
CELLS += [" 5", "5 ", "\t5", "5\n", "\n5", "5\r", " true", "true\n", " -nan ", " 0x10 ", "0x10\n", "1.5\n"]
KINDS = {
    AttributeType.INT: pa.int32(),
    AttributeType.LONG: pa.int64(),
    AttributeType.FLOAT: pa.float32(),
    AttributeType.DOUBLE: pa.float64(),
    AttributeType.BOOL: pa.bool_(),
}
TIMES = """1000 +1000 -5 2024 2024-01 2024-01-02 2024-01-02T03 2024-01-02T03Z 2024-01-02T03+02:00 2024-01-02T03:04 2024-01-02T03:04Z
2024-01-02T03:04:05 2024-01-02T03:04:05. 2024-01-02T03:04:05.1 2024-01-02T03:04:05.9999 2024-01-02T03:04:05.123456789Z
2024-01-02T03:04:05.1234567891 2024-01-02T03:04:05+0200 2024-01-02T03:04:05-02 2024-01-02T03:04:05-02:30 2024-01-02Z
2024-01-02+02 2024-01-02T03:04:05+2 03:04:05 T03:04 2024-1-2 20240102T030405Z 2024-02-30 24-01-02 now epoch 2024-01-02T24:00:00Z
2024-01-02T23:59:60Z +2024-01-02 -2024-01-02 12345-01-01 9999-12-31T23:59:59Z 1969-12-31T23:59:59.9995Z 2024-01-02t03:04:05Z 0x10 1.0
0001-01-01 1500-02-29 9223372036854775808 2024-W01-1 2024-001""".split()
TIMES += [
    "2024-01-02 03:04:05",
    "2024-01-02 3:04:05",
    "2024-01-02T03:04:05 EST",
    "2024-01-02T03:04:05 Z",
    " 1000\n",
    " 2024-01-02\n",
]


def by_arrow(cell: str, kind: AttributeType) -> object:
    """The value of a cell for the embedded engine; None where it refuses it."""
    values = {"true_values": ["true", "True", "TRUE"], "false_values": ["false", "False", "FALSE"]}
    try:
        found = arrow_csv.read_csv(
            io.BytesIO(f'v,w\n"{cell}",1\n'.encode()),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(column_types={"v": KINDS[kind]}, null_values=[""], **values),
        )
    except pa.ArrowInvalid:
        return None
    return found["v"][0].as_py()


def test_cells_are_converted_as_by_the_embedded_engine(spark):
    from pyspark.sql import functions as F

    from siddhi.spark.sources.text import BAD, Text, typed_rows

    attributes = [Attribute(str(kind), kind) for kind in KINDS]
    columns = [F.col("cell").alias(attribute.name) for attribute in attributes]
    cells = spark.createDataFrame([(cell,) for cell in CELLS], "cell string").coalesce(1)
    raw = cells.select(*columns, F.lit(None).cast("string").alias(BAD), "cell")
    rows = typed_rows(raw, Text("S", F.lit("here"), mode="PERMISSIVE"), attributes, keep=["cell"]).collect()
    for row in rows:
        for kind in KINDS:
            assert repr(row[str(kind)]) == repr(by_arrow(row["cell"], kind)), (row["cell"], kind)


def test_times_are_converted_as_by_the_embedded_engine(spark):
    from pyspark.sql import functions as F

    from siddhi.spark.sources.text import BAD, EVENT_TIME, Text, typed_rows

    want = {}
    for cell in TIMES:
        try:
            want[cell] = epoch_ms(pa.array([cell]))[0].as_py()
        except UnreadableTimestampError:
            want[cell] = None
    raw = spark.createDataFrame([(cell, None) for cell in TIMES], f"cell string, {BAD} string").coalesce(1)
    rows = typed_rows(raw, Text("S", F.lit("here"), mode="PERMISSIVE", time="cell"), [], keep=["cell"])
    for zone in ("UTC", "America/New_York"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        try:
            assert {row["cell"]: row[EVENT_TIME] for row in rows.select("*").collect()} == want
        finally:
            spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_infinity_is_refused_in_json_numbers(spark):
    from pyspark.sql import functions as F

    from siddhi.spark.sources.text import BAD, Text, typed_rows

    raw = spark.createDataFrame([("1e400", None), ("1e39", None), ("0x10", None)], f"float string, {BAD} string")
    raw = raw.withColumn("double", F.col("float")).withColumn("int", F.col("float"))
    attributes = [Attribute(str(k), k) for k in (AttributeType.FLOAT, AttributeType.DOUBLE, AttributeType.INT)]
    rows = typed_rows(raw, Text("S", F.lit("here"), mode="PERMISSIVE", is_json=True), attributes)
    found = [tuple(row) for row in rows.coalesce(1).collect()]
    assert found == [(None, None, None), (float("inf"), 1e39, None), (None, None, None)]
