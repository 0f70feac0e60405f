"""The end of a stream, repeatedly: time ends at its last event for any watermark."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from siddhi.errors import SparkRunError

pytestmark = pytest.mark.spark
APP = """@app:name('Ends')
define stream S (ts long, k string, v int);
@info(name = 'periods') from S#window.timeBatch(10 sec, 0) select k, sum(v) as s group by k insert into Out;
"""
NOW = {"availableNow": True}


def put(folder: Path, name: str, rows: list[tuple]) -> None:
    folder.mkdir(exist_ok=True)
    types = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("v", pa.int32())])
    columns = [pa.array(values, field.type) for values, field in zip(zip(*rows), types)]
    pq.write_table(pa.Table.from_arrays(columns, schema=types), folder / f"{name}.parquet")


def bound(spark, folder: Path, app: str = APP, max_idle: str | None = None, **options):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(app, spark, shards=2, **options)
    rows = spark.readStream.schema("ts bigint, k string, v int").parquet(str(folder))
    runtime.bind("S", rows, timestamp="ts", watermark="10 seconds", max_idle=max_idle)
    return runtime


def down(frame, batch):
    raise RuntimeError("the sink is down")


def test_time_ends_at_the_last_event_for_any_watermark(spark, tmp_path):
    from siddhi.spark import MemorySink

    put(tmp_path / "in", "a", [(1000, "a", 1)])
    checkpoint, out = str(tmp_path / "checkpoint"), MemorySink()
    runtime = bound(spark, tmp_path / "in")
    runtime.start(checkpoint, {"Out": out}, trigger=NOW).await_termination()
    runtime.punctuate("S", 5000)
    marks = list((tmp_path / "checkpoint" / "siddhi" / "punctuation" / "S").glob("mark-*"))
    assert [mark.name.split("-")[1] for mark in marks] == ["15000"]
    runtime.finish(checkpoint, {"Out": out})
    assert not marks[0].exists()  # the query has passed it
    runtime.finish(checkpoint, {"Out": out}, reopen=True)
    assert out.rows == []  # the period ends at 10000
    put(tmp_path / "in", "b", [(10_500, "a", 2)])
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")  # for the queries of the user
    try:
        runtime.finish(checkpoint, {"Out": out}, reopen=True)
        assert spark.conf.get("spark.sql.streaming.noDataMicroBatches.enabled") == "false"
    finally:
        spark.conf.unset("spark.sql.streaming.noDataMicroBatches.enabled")
    assert out.rows == [("a", 1, 1000)]


def test_a_stream_idle_at_a_restart_emits_buffered_rows(spark, tmp_path):
    from siddhi.spark import MemorySink

    put(tmp_path / "in", "a", [(1000, "a", 1), (11_500, "b", 2)])
    checkpoint, out = str(tmp_path / "checkpoint"), MemorySink()
    bound(spark, tmp_path / "in").start(checkpoint, {"Out": out}, trigger=NOW).await_termination()
    emitted = threading.Event()

    def take(frame, batch):
        out(frame, batch)
        emitted.set()

    query = bound(spark, tmp_path / "in", max_idle="100 milliseconds").start(checkpoint, {"Out": take})
    assert emitted.wait(60)
    query.stop()
    assert out.rows == [("a", 1, 1000)]
    bound(spark, tmp_path / "in").finish(checkpoint, {"Out": out})
    assert out.rows == [("a", 1, 1000)]


def test_a_failed_end_moves_time_as_a_successful_one(spark, tmp_path):
    from siddhi.spark import MemorySink

    put(tmp_path / "in", "a", [(1000, "a", 1), (1001, "b", 1)])
    app = APP + "partition with (k of S) begin from S select k, count() as c insert into Counts; end;"
    checkpoint, out, counts = str(tmp_path / "checkpoint"), MemorySink(), MemorySink()
    runtime = bound(spark, tmp_path / "in", app)
    with pytest.raises(Exception, match="the sink is down"):
        runtime.finish(checkpoint, {"Out": out, "Counts": down})
    runtime.finish(checkpoint, {"Out": out, "Counts": counts})
    assert out.rows == []
    assert sorted(counts.rows) == [("a", 1, 1000), ("b", 1, 1001)]


def test_after_a_failed_flush_only_a_flush_continues(spark, tmp_path):
    from siddhi.spark import MemorySink

    put(tmp_path / "in", "a", [(1000, "a", 1)])
    checkpoint, out = str(tmp_path / "checkpoint"), MemorySink()
    runtime = bound(spark, tmp_path / "in", end_of_input="flush")
    with pytest.raises(Exception, match="the sink is down"):
        runtime.finish(checkpoint, {"Out": down})
    for go_on in (
        lambda: runtime.start(checkpoint, {"Out": out}, trigger=NOW),
        lambda: runtime.punctuate("S", 2_000, checkpoint=checkpoint),
        lambda: bound(spark, tmp_path / "in").finish(checkpoint, {"Out": out}, reopen=True),
    ):
        with pytest.raises(SparkRunError, match="'flush' failed after it had moved time to its end; call finish again"):
            go_on()
    runtime.finish(checkpoint, {"Out": out})
    assert out.rows == [("a", 1, 1000)]
    with pytest.raises(
        SparkRunError, match="is closed: its stream was finished; a stream that was flushed can't continue"
    ):
        runtime.start(checkpoint, {"Out": out}, reopen=True)
