"""A start that is refused leaves the checkpoint as it was."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from siddhi.errors import SparkRunError

pytestmark = pytest.mark.spark

NOW = {"availableNow": True}
STREAM = "@app:name('Sums') define stream S (k string, v int);"
SUM = "@info(name = 'sum') from S select k, sum(v) as s group by k insert into Out;"
COUNT = "@info(name = 'count') from S select k, count() as s group by k insert into Out;"


def put(folder, *rows: tuple[int, str, int]) -> None:
    (folder / "in").mkdir(exist_ok=True)
    columns = dict(zip(("ts", "k", "v"), (list(column) for column in zip(*rows))))
    types = {"ts": pa.int64(), "k": pa.string(), "v": pa.int32()}
    table = pa.table({name: pa.array(column, types[name]) for name, column in columns.items()})
    pq.write_table(table, folder / "in" / f"{rows[0][0]}.parquet")


def app(spark, folder, query: str, shards: int = 2):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(STREAM + query, spark, shards=shards)
    rows = spark.readStream.schema("ts bigint, k string, v int").parquet(str(folder / "in"))
    runtime.bind("S", rows, timestamp="ts", watermark="1 second")
    return runtime


def test_a_refused_start_changes_nothing(spark, tmp_path):
    from siddhi.spark import MemorySink

    checkpoint, out = str(tmp_path / "checkpoint"), MemorySink()
    put(tmp_path, (1000, "a", 1), (2000, "a", 2))
    manifest = tmp_path / "checkpoint" / "siddhi" / "manifest.json"

    # A first one: its shards are not bound.
    with pytest.raises(ValueError, match=r"invalid trigger \{'processingTime': 'nonsense'\}: "):
        app(spark, tmp_path, SUM, shards=64).start(checkpoint, {"Out": out}, trigger={"processingTime": "nonsense"})
    assert not manifest.exists()
    app(spark, tmp_path, SUM).finish(checkpoint, {"Out": out})
    assert out.rows == [("a", 1, 1000), ("a", 3, 2000)]

    # Another form of the app, on what is closed, and one that Spark refuses when all of ours has been checked.
    before = manifest.read_text()
    with pytest.raises(SparkRunError, match="is closed"):
        app(spark, tmp_path, COUNT).start(checkpoint, {"Out": out}, evolve=True, trigger=NOW)
    with pytest.raises(Exception, match="nonsense"):
        app(spark, tmp_path, COUNT).start(
            checkpoint, {"Out": out}, evolve=True, reopen=True, trigger={"processingTime": "nonsense"}
        )
    busy = spark.readStream.format("rate").load().writeStream.format("noop").queryName("taken").start()
    try:
        with pytest.raises(Exception, match="taken"):
            app(spark, tmp_path, COUNT).start(
                checkpoint, {"Out": out}, evolve=True, reopen=True, trigger=NOW, name="taken"
            )
    finally:
        busy.stop()
    assert manifest.read_text() == before
    with pytest.raises(SparkRunError, match="is closed"):
        app(spark, tmp_path, SUM).start(checkpoint, {"Out": out}, trigger=NOW)
    put(tmp_path, (3000, "a", 10))
    app(spark, tmp_path, SUM).finish(checkpoint, {"Out": out}, reopen=True)
    assert out.rows[2:] == [("a", 13, 3000)]


def test_a_file_in_place_of_a_folder_is_refused(spark, tmp_path):
    from siddhi.spark import FileSink, MemorySink

    (tmp_path / "in").mkdir()
    (tmp_path / "file").write_text("mine")
    here, file = app(spark, tmp_path, SUM), str(tmp_path / "file")
    with pytest.raises(SparkRunError, match=r"folder \S+/file\S* can't be made: "):
        here.start(file, {"Out": MemorySink()}, trigger=NOW)
    with pytest.raises(SparkRunError, match=r"/file is a file, and the sink writes a folder"):
        here.start(str(tmp_path / "checkpoint"), {"Out": FileSink(file)}, trigger=NOW)
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "checkpoint" / "siddhi" / "manifest.json").exists()


def test_a_start_whose_idle_streams_cannot_be_watched_runs_no_query(spark, tmp_path, monkeypatch):
    from siddhi.spark import MemorySink
    from siddhi.spark.streaming import starting

    def broken(*_, **__):
        raise RuntimeError("no watch")

    put(tmp_path, (1000, "a", 1))
    runtime = app(spark, tmp_path, SUM)
    rows = spark.readStream.schema("ts bigint, k string, v int").parquet(str(tmp_path / "in"))
    runtime.bind("S", rows, timestamp="ts", watermark="1 second", max_idle="1 minute")
    monkeypatch.setattr(starting, "IdleInputs", broken)
    monkeypatch.setattr(starting, "start_query", lambda *_, **__: pytest.fail("the query could not be stopped"))
    with pytest.raises(RuntimeError, match="no watch"):
        runtime.start(str(tmp_path / "checkpoint"), {"Out": MemorySink()}, trigger=NOW)
    assert not (tmp_path / "checkpoint" / "siddhi" / "manifest.json").exists()
