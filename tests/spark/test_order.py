"""Rows of one millisecond are ordered by ``sequence``, then by their values, in any order of files."""

from __future__ import annotations

import gzip

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from siddhi.spark.testing import differences, oracle

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore:.*runs? on one shard")]

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


FILES = """define stream S (ts long, k string, v int);
from S#window.length(3) select k, v, sum(v) as s insert into O;
partition with (k of S) begin from every a=S, b=S[v > a.v] select a.v as x, b.v as y insert into P; end;
from S#window.timeBatch(1 sec, 5) select k, count() as n, sum(v) as s group by k insert into Batches;
"""
PLACED = [(1_700_000_000_000 + n // 40, f"k{n * 7919 % 5}", n * 104_729 % 1000) for n in range(160)]


def put(folder, format_: str, rows: list[tuple], name: str) -> None:
    folder.mkdir(exist_ok=True)
    table = pa.table(
        {"ts": [r[0] for r in rows], "k": [r[1] for r in rows], "v": pa.array([r[2] for r in rows], pa.int32())}
    )
    if format_ == "parquet":
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=20)
    elif format_ == "csv":
        with gzip.open(folder / f"{name}.csv.gz", "wt") as out:
            out.write("\n".join(["ts,k,v", *(f"{ts},{k},{v}" for ts, k, v in rows), ""]))
    else:
        text = "".join(f'{{"v": {v}, "k": "{k}", "ts": {ts}}}\n' for ts, k, v in rows)
        (folder / f"{name}.json").write_text(text)


def assert_order_of_files(spark, folder, format_: str, *, streaming: bool) -> None:
    from siddhi.cli.spark.binds import Bind, bind_all
    from siddhi.spark import MemorySink, SparkRuntime

    for n, (start, stop) in enumerate([(0, 70), (70, 75), (75, 160)]):
        put(folder, format_, PLACED[start:stop], f"a file {n}")
    outputs = ["O", "P", "Batches"]
    want = oracle(FILES, [("S", row[0], row) for row in PLACED], outputs, flush=True)
    runtime = SparkRuntime(FILES, spark, shards=2, end_of_input="flush")
    bind = Bind("S", format_, str(folder), "ts", "0 seconds", options={"maxFilesPerTrigger": "2"} if streaming else {})
    bind_all(runtime, spark, [bind], streaming=streaming)
    if streaming:
        sinks = {name: MemorySink() for name in outputs}
        runtime.finish(f"{folder}-checkpoint", sinks)
        found = {name: sink.rows for name, sink in sinks.items()}
    else:
        found = {name: frame.collect() for name, frame in runtime.run(outputs, meta=True).items()}
        runtime.release()
    for name, rows in found.items():
        assert differences(want[name], [(row[-1], *row[:-1]) for row in map(tuple, rows)]) is None, name


@pytest.mark.parametrize("format_", ["parquet", "csv", "json"])
def test_rows_keep_the_order_of_split_and_packed_files(spark, tmp_path, format_):
    small = {"spark.sql.files.maxPartitionBytes": "900", "spark.sql.files.openCostInBytes": "100"}
    before = {name: spark.conf.get(name) for name in small}
    for name, value in small.items():
        spark.conf.set(name, value)
    try:
        assert_order_of_files(spark, tmp_path / "in", format_, streaming=False)
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def test_rows_of_a_stream_keep_the_order_of_files(spark, tmp_path):
    assert_order_of_files(spark, tmp_path / "in", "csv", streaming=True)
