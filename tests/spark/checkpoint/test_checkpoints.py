"""A checkpoint from start to end: inspected, refused, continued with a changed app."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import DefinitionNotExistError, SparkRunError
from siddhi.spark.testing import differences, oracle
from tests.spark.streaming.stream_run import APP, SCHEMA
from tests.spark.trades import trades, write_files

pytestmark = pytest.mark.spark

OTHER = APP.replace("b=Trades[price > a.price]", "b=Trades[price >= a.price]")


def started(spark, folder, app: str, *, shards: int = 3):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(app, spark, shards=shards)
    rows = spark.readStream.schema(SCHEMA).parquet(str(folder / "in"))
    runtime.bind("Trades", rows, timestamp="ts", watermark="1 second", sequence=["n"])
    return runtime


def more(folder, rows, name: str) -> None:
    write_files(folder / name, rows, files=1, disorder_ms=900)
    (folder / "in").mkdir(exist_ok=True)
    (folder / name / "000.parquet").rename(folder / "in" / f"{name}.parquet")


def given(sink) -> list[tuple]:
    return [(row[-1], *row[:-1]) for row in sink.rows]


def test_the_lifecycle_of_a_checkpoint(spark, tmp_path):
    from siddhi.spark import MemorySink

    rows, now = trades(600), {"availableNow": True}
    checkpoint = str(tmp_path / "checkpoint")
    running, dear, counts = MemorySink(), MemorySink(), MemorySink()
    more(tmp_path, rows[:200], "a")
    first = started(spark, tmp_path, APP)
    first.start(checkpoint, {"Running": running}, trigger=now).await_termination()

    # Looked into: what one key holds after what the watermark has passed.
    passed = [row for row in rows[:200] if row[0] < rows[199][0] - 1000]
    symbol = passed[-1][1]
    mine = [row for row in passed if row[1] == symbol]
    state = first.state(checkpoint)
    assert sum(shard.waiting for shard in state.shards()) == 200 - len(passed)
    held = state.inner("running", key=symbol)
    assert any(len(mine) in told for told in held["selector"] if isinstance(told, tuple))
    waiting = [told for told in state.inner("rise", key=symbol)["pattern"] if isinstance(told, list)]
    events = [event for told in waiting for event in told]
    assert mine[-1][0] in [event.timestamp for event in events]
    assert all(symbol in event.data for event in events)
    for element in ("running", "rise"):
        with pytest.raises(KeyError, match=r"partition 'partition_0' has no state for key 'nobody'"):
            state.inner(element, key="nobody")
    with pytest.raises(ValueError, match=r"is distributed by symbol: give key="):
        state.inner("running")
    with pytest.raises(DefinitionNotExistError, match=r"has no state of 'runing'.*running"):
        state.inner("runing")

    # Elsewhere: Spark would not find what its absolute paths say.
    shutil.move(checkpoint, checkpoint + "-moved")
    with pytest.raises(SparkRunError, match=r"checkpoint \S+-moved was moved or copied from \S+/checkpoint \("):
        first.state(checkpoint + "-moved").shards()
    shutil.move(checkpoint + "-moved", checkpoint)

    # Another form: refused, or asked about.
    with pytest.raises(SparkRunError, match=r"partition with \(symbol of Trades\) changed: .*query '"):
        started(spark, tmp_path, OTHER).start(checkpoint, {"Running": running}, evolve=True)
    with pytest.raises(SparkRunError, match=r"shards is 4, and was 3.* or migrate the checkpoint with migrate\(\)"):
        started(spark, tmp_path, APP, shards=4).start(checkpoint, {"Running": running}, evolve=True)
    more(tmp_path, rows[200:400], "b")
    counted = APP + "@info(name = 'all') from Trades select symbol, count() as n group by symbol insert into Counts;"
    second = started(spark, tmp_path, counted)
    with pytest.raises(SparkRunError, match=r"'all' is new.*start with evolve=True"):
        second.start(checkpoint, {"Running": running}, trigger=now)
    sinks = {"Running": running, "Dear": dear, "Counts": counts}
    second.start(checkpoint, sinks, trigger=now, evolve=True).await_termination()
    more(tmp_path, rows[400:], "c")
    second.finish(checkpoint, sinks)

    events = [("Trades", row[0], row) for row in rows]
    want = oracle(APP, events, ["Running"])
    assert differences(want["Running"], given(running)) is None
    assert differences(oracle(counted, events[len(passed) :], ["Counts"])["Counts"], given(counts)) is None
