"""Rows of one millisecond are ordered by ``sequence``, then by their values, in any order of files."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

pytestmark = pytest.mark.spark

APP = """
define stream S (k string, v int);
partition with (k of S) begin @info(name = 'q') from S select k, v, count() as c insert into Out; end;
from S#window.timeBatch(1 sec, 0) select v as last, count() as n insert into Last;
"""
SCHEMA = "k string, v int, ts bigint, n bigint"
ROWS = [("a", 4, 1000, 7), ("a", 1, 1000, 7), ("a", 2, 1000, None), ("a", 3, 1000, 7), ("a", 5, 1000, -5)]
WANT = [("a", 2, 1), ("a", 5, 2), ("a", 1, 3), ("a", 3, 4), ("a", 4, 5)]


@pytest.mark.parametrize("rows", [ROWS, ROWS[::-1]], ids=["as they are", "the other way round"])
def test_batch(spark, rows):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(APP, spark, shards=2, end_of_input="flush")
    runtime.bind("S", spark.createDataFrame(rows, SCHEMA).coalesce(1), timestamp="ts", sequence=["n"])
    found = runtime.run(["Out", "Last"])
    assert sorted((tuple(row) for row in found["Out"].collect()), key=lambda row: row[-1]) == WANT
    assert [tuple(row) for row in found["Last"].collect()] == [(4, 5)]


def test_stream(spark, tmp_path):
    from siddhi.spark import MemorySink, SparkRuntime

    (tmp_path / "in").mkdir()
    columns = [pa.array(c, kind) for c, kind in zip(zip(*ROWS), (pa.string(), pa.int32(), pa.int64(), pa.int64()))]
    pq.write_table(pa.Table.from_arrays(columns, names=["k", "v", "ts", "n"]), tmp_path / "in" / "0.parquet")
    app = APP.partition("from S#window")[0]
    runtime, out = SparkRuntime(app, spark, shards=2), MemorySink()
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
    runtime.bind("S", stream, timestamp="ts", watermark="1 second", sequence=["n"])
    runtime.finish(str(tmp_path / "checkpoint"), {"Out": out})
    assert sorted((row[:3] for row in out.rows), key=lambda row: row[-1]) == WANT
