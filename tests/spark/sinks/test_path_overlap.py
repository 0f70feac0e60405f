"""No sink writes where the app reads."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkLoweringError

pytestmark = pytest.mark.spark

NOW = {"availableNow": True}
SCHEMA = "ts bigint, a string"
PLAIN = """define stream S (ts long, a string); define table T (a string);
{sink} define stream O (ts long, a string);
from S join T on S.a == T.a select S.ts as ts, S.a as a insert into O;
from S select ts, a insert into P;"""


def declared(source: str, sink: str) -> str:
    return f"""@source(type = 'file', file.uri = '{source}', timestamp = 'ts', @map(type = 'parquet'))
    define stream S (ts long, a string);
    @sink(type = 'file', file.uri = '{sink}', @map(type = 'parquet'))
    define stream O (ts long, a string);
    from S select ts, a insert into O;"""


@pytest.mark.parametrize(
    ("source", "sink", "told"),
    [
        ("/data/in", "/data/in/", "writes to /data/in, where the file source of 'S' reads"),
        ("/data/in", "/data", "writes to /data, which contains /data/in, where the file source of 'S' reads"),
        ("/data/in", "file:/data/in/out", "writes to file:/data/in/out, which lies within /data/in, where"),
        ("/data/*", "/data/out", "writes to /data/out, where"),
    ],
)
def test_a_source_and_a_sink_of_one_path_are_refused_with_their_location(source, sink, told):
    from siddhi.spark import SparkRuntime

    with pytest.raises(SparkLoweringError, match=told) as caught:
        SparkRuntime(declared(source, sink), None)
    assert "E408" in str(caught.value)
    assert "line 3, column 4" in str(caught.value)


def test_sinks_of_one_app_have_separate_paths():
    from siddhi.spark import SparkRuntime

    two = "@sink(type = 'file', file.uri = '/o', @map(type = 'csv')) @sink(type = 'file', file.uri = '/o/b', @map(type = 'csv'))"
    with pytest.raises(SparkLoweringError, match="writes to /o/b, which lies within /o, as does the file sink of 'O'"):
        SparkRuntime(f"define stream S (a int); {two} define stream O (a int); from S select a insert into O;", None)


@pytest.mark.parametrize("bound", ["S", "T"])
@pytest.mark.parametrize("where", ["in", "in/out", ""])
def test_a_batch_does_not_delete_its_input(spark, tmp_path, bound, where):
    from siddhi.spark import SparkRuntime

    spark.createDataFrame([(1, "x")], SCHEMA).write.parquet(f"{tmp_path}/in")
    (tmp_path / "report.txt").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    sink = f"@sink(type = 'file', file.uri = '{tmp_path}/{where}', @map(type = 'parquet'))"
    runtime = SparkRuntime(PLAIN.format(sink=sink), spark)
    frames = {"S": spark.createDataFrame([(1, "x")], SCHEMA), "T": spark.createDataFrame([("x",)], "a string")}
    frames[bound] = spark.read.parquet(f"{tmp_path}/in")
    runtime.bind("S", frames["S"], timestamp="ts")
    runtime.bind_table("T", frames["T"])
    with pytest.raises(ValueError, match=rf"the sink of 'O' writes to folder .*, the input of '{bound}': use a folder"):
        runtime.write()
    assert sorted(tmp_path.rglob("*")) == before


def test_a_stream_does_not_read_its_output(spark, tmp_path):
    from siddhi.spark import FileSink, SparkRuntime

    spark.createDataFrame([(1, "x")], SCHEMA).write.parquet(f"{tmp_path}/in")
    before = sorted(tmp_path.rglob("*"))
    runtime = SparkRuntime("define stream S (ts long, a string); from S select ts, a insert into O;", spark)
    rows = spark.readStream.schema(SCHEMA).parquet(f"{tmp_path}/in")
    runtime.bind("S", rows, timestamp="ts", watermark="0 seconds")
    for where, lies in (("in", "is"), ("in/deeper", "lies within"), ("", "contains")):
        sinks = {"O": FileSink(f"{tmp_path}/{where}")}
        for begin in (runtime.start, runtime.finish):
            with pytest.raises(
                ValueError, match=rf"the sink of 'O' writes to folder .*, which {lies} .*/in, the input of 'S'"
            ):
                begin(f"{tmp_path}/checkpoint", sinks)
    assert sorted(tmp_path.rglob("*")) == before
    runtime.start(f"{tmp_path}/checkpoint", {"O": FileSink(f"{tmp_path}/input")}, trigger=NOW).await_termination()
    assert spark.read.parquet(f"{tmp_path}/input").count() == 1
