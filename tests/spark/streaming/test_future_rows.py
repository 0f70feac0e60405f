"""Rows ahead of the clock are dropped before they advance the watermark."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkRunError
from siddhi.spark.testing import differences, oracle
from tests.spark.streaming.stream_run import APP, SCHEMA
from tests.spark.streaming.test_plan import bound
from tests.spark.trades import trades, write_files

pytestmark = pytest.mark.spark
DAY = 86_400_000


def with_far_rows(folder) -> list[tuple]:
    """Rows in two files, of which the first has two that are days ahead."""
    rows = trades(300)
    far = [(int(time.time() * 1000) + n * DAY, "S1", 5.0, 9000 + n) for n in (2, 400)]
    write_files(folder / "first", [*rows[:150], *far], files=1, disorder_ms=0)
    write_files(folder / "in", rows, files=2, disorder_ms=0)
    (folder / "first" / "000.parquet").replace(folder / "in" / "000.parquet")
    return rows


def test_they_are_counted_and_do_not_advance_the_watermark(spark, tmp_path):
    from siddhi.spark.sinks.declared import MemorySink

    rows = with_far_rows(tmp_path)
    running = MemorySink()
    runtime = bound(spark, tmp_path / "in", max_clock_skew="1 day")
    query = runtime.finish(str(tmp_path / "checkpoint"), {"Running": running})
    assert (query.ahead_rows, query.late_rows) == (2, 0)
    want = oracle(APP, [("Trades", row[0], row) for row in rows], ["Running"])
    assert differences(want["Running"], [(row[-1], *row[:-1]) for row in running.rows]) is None


def test_they_can_end_the_query(spark, tmp_path):
    from siddhi.spark.sinks.declared import MemorySink

    with_far_rows(tmp_path)
    runtime = bound(spark, tmp_path / "in", max_clock_skew="1 day", late="error")
    with pytest.raises(SparkRunError, match=r"^app 'Killed': a row of 'Trades' is ahead of the clock by more than"):
        runtime.finish(str(tmp_path / "checkpoint"), {"Running": MemorySink()})


def test_a_stateless_app_counts_them_too(spark, tmp_path):
    from siddhi.spark import SparkRuntime
    from siddhi.spark.sinks.declared import MemorySink

    rows = with_far_rows(tmp_path)
    app = "define stream Trades (ts long, symbol string, price double, n int); from Trades select symbol, n insert into O;"
    runtime = SparkRuntime(app, spark, max_clock_skew="1 day")
    runtime.bind(
        "Trades", spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in")), timestamp="ts", watermark="1 second"
    )
    sink = MemorySink()
    query = runtime.start(str(tmp_path / "checkpoint"), {"O": sink}, trigger={"availableNow": True})
    query.await_termination()
    assert (query.ahead_rows, len(sink.rows)) == (2, len(rows))
    with pytest.raises(ValueError, match="max_clock_skew: invalid interval 'soon': expected one such as '10 seconds'"):
        SparkRuntime(app, spark, max_clock_skew="soon")
