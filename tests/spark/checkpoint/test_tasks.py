"""The number of Spark tasks for the shards of a stream is fixed until the checkpoint is migrated."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkRunError
from siddhi.spark.testing import differences, oracle
from tests.spark.streaming.stream_run import APP, SCHEMA
from tests.spark.trades import trades, write_files

pytestmark = pytest.mark.spark

NOW = {"availableNow": True}


def started(spark, folder: Path, tasks: int | None):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(APP, spark, shards=4, tasks=tasks)
    rows = spark.readStream.schema(SCHEMA).parquet(str(folder / "in"))
    runtime.bind("Trades", rows, timestamp="ts", watermark="1 second", sequence=["n"])
    return runtime


def tasks_of(checkpoint: Path) -> int:
    return len([path for path in (checkpoint / "state" / "0").iterdir() if path.name.isdigit()])


def test_the_number_of_tasks_is_kept_until_a_migration(spark, tmp_path) -> None:
    from siddhi.spark import MemorySink

    rows = trades(400)
    (tmp_path / "in").mkdir()
    write_files(tmp_path / "a", rows[:200], files=1, disorder_ms=900)
    write_files(tmp_path / "b", rows[200:], files=1, disorder_ms=900)
    (tmp_path / "a" / "000.parquet").rename(tmp_path / "in" / "a.parquet")
    old, new, sink = tmp_path / "old", tmp_path / "new", MemorySink()
    started(spark, tmp_path, 3).start(str(old), {"Running": sink}, trigger=NOW).await_termination()
    assert tasks_of(old) == 3
    with pytest.raises(SparkRunError, match=r"tasks is 2, and was 3\..* or migrate the checkpoint with migrate\(\)"):
        started(spark, tmp_path, 2).start(str(old), {"Running": sink}, trigger=NOW)
    started(spark, tmp_path, 2).migrate(str(old), str(new))
    (tmp_path / "b" / "000.parquet").rename(tmp_path / "in" / "b.parquet")
    started(spark, tmp_path, None).finish(str(new), {"Running": sink})
    assert tasks_of(new) == 2
    want = oracle(APP, [("Trades", row[0], row) for row in rows], ["Running"])
    assert differences(want["Running"], [(row[-1], *row[:-1]) for row in sink.rows]) is None


def test_a_batch_has_the_requested_number_of_tasks(spark) -> None:
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(APP, spark, shards=4, tasks=3, prefer="engine")
    frame = spark.createDataFrame(trades(50), SCHEMA)
    runtime.bind("Trades", frame, timestamp="ts", sequence=["n"])
    assert "hashpartitioning(shard#" in (plan := runtime.output("Running")._jdf.queryExecution().toString())
    assert ", 3)" in plan


@pytest.mark.parametrize(("tasks", "error"), [(0, ValueError), (5, ValueError), (2.0, TypeError), (True, TypeError)])
def test_invalid_numbers_of_tasks_are_refused(spark, tasks, error) -> None:
    from siddhi.spark import SparkRuntime

    with pytest.raises(error, match="tasks"):
        SparkRuntime(APP, spark, shards=4, tasks=tasks)
