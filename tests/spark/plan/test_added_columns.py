"""Attributes with the names of columns that Spark adds to the output are refused."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.query_compiler import parse
from siddhi.spark.plan.added_columns import require_no_batch, require_no_timestamp

SCHEMA = "ts bigint, a string"
APP = "define stream S (ts long, a string); from S select a, ts as {} insert into O; from S select a insert into P;"


@pytest.mark.parametrize("name", ["batch", "Batch", "BATCH"])
def test_an_attribute_that_folders_of_batches_would_replace_is_refused(name):
    ((stream,),) = [parse(f"define stream O (a int, {name} long);").definitions]
    require_no_timestamp("O", stream.attributes)
    told = rf"stream 'O' has an attribute '{name}', a column that readers .* from the folder names batch=N: rename it \(select {name} as"
    with pytest.raises(ValueError, match=told):
        require_no_batch("O", stream.attributes)


@pytest.mark.spark
def test_they_are_refused_before_the_run(spark, tmp_path):
    from siddhi.spark import FileSink, MemorySink, SparkRuntime

    spark.createDataFrame([(1, "x")], SCHEMA).write.parquet(f"{tmp_path}/in")
    before = sorted(tmp_path.rglob("*"))
    rows = spark.readStream.schema(SCHEMA).parquet(f"{tmp_path}/in")

    def stream(name: str) -> SparkRuntime:
        runtime = SparkRuntime(APP.format(name), spark, late="side")
        runtime.bind("S", rows, timestamp="ts", watermark="0 seconds")
        return runtime

    runtime = stream("Batch")
    for begin in (runtime.start, runtime.finish):
        with pytest.raises(ValueError, match="stream 'O' has an attribute 'Batch', a column that readers of the files"):
            begin(f"{tmp_path}/checkpoint", {"P": MemorySink(), "O": FileSink(f"{tmp_path}/out")})
    timed = "stream 'O' has an attribute '_Timestamp', the name of the added column of event time: rename it"
    runtime = stream("_Timestamp")
    for begin in (runtime.start, runtime.finish):
        with pytest.raises(ValueError, match=timed):
            begin(f"{tmp_path}/checkpoint", {"O": MemorySink()})
    for meta in (False, True):
        with pytest.raises(ValueError, match=timed):
            runtime.output("O", meta=meta)
    assert sorted(tmp_path.rglob("*")) == before

    batch = SparkRuntime(APP.format("_timestamp"), spark)
    batch.bind("S", spark.read.parquet(f"{tmp_path}/in"), timestamp="ts")
    for wanted in (lambda: batch.output("O", meta=True), lambda: batch.run(["O"], meta=True)):
        with pytest.raises(ValueError, match=timed.replace("T", "t")):
            wanted()
    assert batch.output("O").columns == ["a", "_timestamp"]
    assert [tuple(row) for row in batch.output("O").collect()] == [("x", 1)]
    named = SparkRuntime(APP.format("batch"), spark)
    named.bind("S", spark.read.parquet(f"{tmp_path}/in"), timestamp="ts")
    assert named.output("O", meta=True).columns == ["a", "batch", "_timestamp"]


@pytest.mark.spark
def test_late_rows_have_these_columns_too(spark, tmp_path):
    from siddhi.spark import FileSink, SparkRuntime

    runtime = SparkRuntime("define stream S (batch long); from S select batch as b insert into O;", spark, late="side")
    rows = spark.readStream.schema("batch bigint").parquet(str(tmp_path))
    runtime.bind("S", rows, timestamp="batch", watermark="0 seconds")
    with pytest.raises(ValueError, match="stream 'S__late' has an attribute 'batch'"):
        runtime.start(f"{tmp_path}/../checkpoint", {"S__late": FileSink(f"{tmp_path}/../out")})
