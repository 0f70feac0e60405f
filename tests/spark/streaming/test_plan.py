"""Streams on Spark write the output of one engine that reads all rows in order of time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

import pyarrow.parquet as pq

from siddhi.errors import SparkRunError
from siddhi.spark.testing import differences, oracle
from tests.spark.streaming.stream_run import APP, OUTPUTS, SCHEMA
from tests.spark.trades import START, trades, write_files

pytestmark = pytest.mark.spark


def read(folder: Path) -> list[tuple]:
    found = []
    for path in sorted(folder.glob("batch=*/*.parquet")):
        table = pq.ParquetFile(path).read()
        columns = [column.to_pylist() for column in table.columns]
        found += zip(columns[-1], *columns[:-1])
    return found


def run(folder: Path) -> subprocess.Popen:
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.spark.streaming.stream_run", str(folder)],
            cwd=Path(__file__).parents[3],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )


def kill_after_commits(process: subprocess.Popen, folder: Path, commits: int) -> None:
    while process.poll() is None:
        done = list((folder / "checkpoint" / "commits").glob("[0-9]*"))
        if len(done) >= commits:
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(0.02)
    assert process.wait() == -signal.SIGKILL, (folder / "log").read_text()[-3000:]


def test_a_stream_killed_twice_has_the_output_of_one_run(spark, tmp_path):
    rows = trades(3000)
    write_files(tmp_path / "in", rows, files=4, disorder_ms=2900)
    for commits in (2, 5):
        kill_after_commits(run(tmp_path), tmp_path, commits)
    assert run(tmp_path).wait(timeout=300) == 0, (tmp_path / "log").read_text()[-3000:]
    want = oracle(APP, [("Trades", row[0], row) for row in rows], OUTPUTS)
    for name in OUTPUTS:
        assert want[name]
        assert differences(want[name], read(tmp_path / "out" / name)) is None, name


def bound(spark, folder: Path, **options):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(APP, spark, shards=2, **options)
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    runtime.bind("Trades", rows, timestamp="ts", watermark="1 second", sequence=["n"])
    return runtime


def test_late_rows_are_counted_and_written(spark, tmp_path):
    from siddhi.spark.sinks.declared import MemorySink

    rows = trades(400)
    late = [(START + 100, "S1", 5.0, 9001), (START + 200, "S2", 6.0, 9002)]
    write_files(tmp_path / "in", rows, files=1, disorder_ms=0)
    write_files(tmp_path / "more", late, files=1, disorder_ms=0)
    (tmp_path / "more" / "000.parquet").rename(tmp_path / "in" / "900.parquet")
    os.utime(tmp_path / "in" / "900.parquet", (1_800_000_000,) * 2)
    runtime = bound(spark, tmp_path / "in", late="side")
    running, aside = MemorySink(), MemorySink()
    query = runtime.finish(str(tmp_path / "checkpoint"), {"Running": running, "Trades__late": aside})
    assert query.late_rows == 2
    assert sorted(aside.rows) == [(*row, row[0]) for row in late]
    want = oracle(APP, [("Trades", row[0], row) for row in rows], ["Running"])
    assert differences(want["Running"], [(row[-1], *row[:-1]) for row in running.rows]) is None
    with pytest.raises(SparkRunError, match="is closed: its stream was finished"):
        runtime.start(str(tmp_path / "checkpoint"), {"Running": running})


def test_a_checkpoint_of_a_changed_app_is_refused(spark, tmp_path):
    from siddhi.spark import SparkRuntime
    from siddhi.spark.sinks.declared import MemorySink

    write_files(tmp_path / "in", trades(10), files=1, disorder_ms=0)
    checkpoint = str(tmp_path / "checkpoint")
    bound(spark, tmp_path / "in").start(checkpoint, {"Rises": MemorySink()}, trigger={"availableNow": True}).stop()
    runtime = SparkRuntime(APP, spark, shards=3)
    rows = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
    runtime.bind("Trades", rows, timestamp="ts", watermark="2 seconds", sequence=["n"])
    with pytest.raises(SparkRunError) as caught:
        runtime.start(checkpoint, {"Rises": MemorySink()})
    told = str(caught.value)
    assert "shards is 3, and was 2" in told
    assert "(time, watermark, sequence) are Trades: ts 2 seconds n, and was Trades: ts 1 second n" in told


def test_late_rows_can_end_the_query(spark, tmp_path):
    from siddhi.spark.sinks.declared import MemorySink

    write_files(tmp_path / "in", trades(200), files=2, disorder_ms=0)
    late = [(START, "S1", 5.0, 9001)]
    write_files(tmp_path / "more", late, files=1, disorder_ms=0)
    (tmp_path / "more" / "000.parquet").rename(tmp_path / "in" / "900.parquet")
    os.utime(tmp_path / "in" / "900.parquet", (1_800_000_000,) * 2)
    runtime = bound(spark, tmp_path / "in", late="error")
    with pytest.raises(SparkRunError, match=r"^app 'Killed': 1 late row, behind the watermark \d+"):
        runtime.finish(str(tmp_path / "checkpoint"), {"Running": MemorySink()})
