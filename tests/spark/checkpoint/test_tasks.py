"""The number of Spark tasks for the shards of a stream is fixed until the checkpoint is migrated."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkRunError
from siddhi.spark.plan.state_keys import EVEN, NUMBERS, StateKeys, murmur3_int
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


def as_before_even_keys(monkeypatch) -> None:
    """Let new checkpoints have the numbers of the shards as keys."""
    from siddhi.spark.streaming import starting

    monkeypatch.setattr(starting, "Manifest", functools.partial(starting.Manifest, keys=NUMBERS))


def to_format_2(checkpoint: Path) -> None:
    """Write the manifest as the versions did that had the numbers of the shards as keys."""
    name = checkpoint / "siddhi" / "manifest.json"
    data = json.loads(name.read_text())
    assert data.pop("keys") == NUMBERS
    name.write_text(json.dumps(data | {"format": 2}))
    (name.parent / ".manifest.json.crc").unlink(missing_ok=True)


def test_the_number_of_tasks_is_kept_until_a_migration(spark, tmp_path, monkeypatch) -> None:
    from siddhi.spark import MemorySink
    from siddhi.spark.checkpoint import resharding

    rows = trades(400)
    (tmp_path / "in").mkdir()
    write_files(tmp_path / "a", rows[:200], files=1, disorder_ms=900)
    write_files(tmp_path / "b", rows[200:], files=1, disorder_ms=900)
    (tmp_path / "a" / "000.parquet").rename(tmp_path / "in" / "a.parquet")
    old, new, sink = tmp_path / "old", tmp_path / "new", MemorySink()
    with monkeypatch.context() as patch:
        as_before_even_keys(patch)
        started(spark, tmp_path, 3).start(str(old), {"Running": sink}, trigger=NOW).await_termination()
    to_format_2(old)
    assert tasks_of(old) == 3
    with pytest.raises(SparkRunError, match=r"tasks is 2, and was 3\..* or migrate the checkpoint with migrate\(\)"):
        started(spark, tmp_path, 2).start(str(old), {"Running": sink}, trigger=NOW)
    monkeypatch.setattr(resharding, "stored_shards", lambda *_, **__: pytest.fail("the driver reads the state"))
    started(spark, tmp_path, 2).migrate(str(old), str(new))
    assert json.loads((new / "siddhi" / "manifest.json").read_text())["keys"] == EVEN
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
    assert re.search(
        r"hashpartitioning\(element_at\(.*, 3\)", runtime.output("Running")._jdf.queryExecution().toString()
    )


def test_spark_spreads_state_keys_as_computed(spark) -> None:
    from pyspark.sql import functions as F

    keys = StateKeys(EVEN, 64)
    frame = spark.createDataFrame([(n, keys.key(n)) for n in (*range(192), 2**20)], "number int, key int")
    found = frame.select("number", F.hash("key")).collect()
    assert all(murmur3_int(keys.key(number)) == value == number + number // 64 for number, value in found)
    parts = frame.repartition(7, "key").select("number", F.spark_partition_id()).collect()
    assert all(part == keys.task(number, 7) for number, part in parts)


@pytest.mark.parametrize(("tasks", "error"), [(0, ValueError), (5, ValueError), (2.0, TypeError), (True, TypeError)])
def test_invalid_numbers_of_tasks_are_refused(spark, tasks, error) -> None:
    from siddhi.spark import SparkRuntime

    with pytest.raises(error, match="tasks"):
        SparkRuntime(APP, spark, shards=4, tasks=tasks)
