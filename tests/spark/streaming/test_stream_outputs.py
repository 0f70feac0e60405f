"""Streams of an app as streaming DataFrames, which users start themselves."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkSetupError
from siddhi.spark.testing import differences, oracle
from tests.spark.streaming.stream_run import APP, SCHEMA
from tests.spark.streaming.test_plan import bound
from tests.spark.trades import trades, write_files

pytestmark = pytest.mark.spark


def test_a_streaming_output_has_the_rows_before_the_watermark(spark, tmp_path):
    rows = trades(400)
    write_files(tmp_path / "in", rows, files=2, disorder_ms=900)
    runtime = bound(spark, tmp_path / "in")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        running = runtime.output("Running", meta=True)
    assert running.isStreaming
    assert running.columns == ["symbol", "n", "seen", "total", "_timestamp"]
    with pytest.warns(UserWarning, match=r"outputs 'Dear' and 'Running' have a query each.*start\(checkpoint"):
        dear = runtime.output("Dear")
    assert dear.columns == ["ts", "symbol", "price"]
    out = tmp_path / "out"
    query = running.writeStream.format("parquet").option("path", str(out)).option("checkpointLocation", f"{out}-ck")
    query.trigger(availableNow=True).start().awaitTermination()
    found = [tuple(row) for row in spark.read.parquet(str(out)).collect()]
    passed = [row for row in rows if row[0] < rows[-1][0] - 1000]
    want = oracle(APP, [("Trades", row[0], row) for row in passed], ["Running"])["Running"]
    assert len(want) > 300
    assert differences(want, [(row[-1], *row[:-1]) for row in found]) is None


def test_a_streaming_output_requires_its_state_store(spark, tmp_path):
    write_files(tmp_path / "in", trades(4), files=1, disorder_ms=0)
    name = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(name)
    spark.conf.set(name, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        runtime = bound(spark, tmp_path / "in")
        with pytest.raises(SparkSetupError, match=r"stream 'Running' keeps state.*spark\.conf\.set\('spark"):
            runtime.output("Running")
        assert runtime.output("Dear").isStreaming  # keeps nothing
    finally:
        spark.conf.set(name, before)
    with pytest.raises(ValueError, match="no query fills stream 'Trades'"):
        runtime.output("Trades")


def test_a_streaming_output_warns_that_time_does_not_advance(spark, tmp_path):
    write_files(tmp_path / "in", trades(4), files=1, disorder_ms=0)
    runtime = bound(spark, tmp_path / "in")
    rows = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
    runtime.bind("Trades", rows, timestamp="ts", watermark="1 second", sequence=["n"], max_idle="1 minute")
    with pytest.warns(
        UserWarning, match=r"max_idle of Trades has no effect on an output.*only start\(checkpoint, sinks\) watches"
    ):
        runtime.output("Running")
