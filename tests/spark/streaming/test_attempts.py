"""A failed batch is repeated: state of its first attempt is replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkRunError
from siddhi.spark.testing import oracle
from tests.spark.trades import trades, write_files

pytestmark = pytest.mark.spark
APP = """define stream Trades (ts long, symbol string, price double, n int);
@info(name = 'sums') from Trades select symbol, count() as c, sum(n) as s group by symbol insert into Out;
"""
ROWS = trades(400)


class Flaky:
    """A sink into files that fails with some batches, once each: when their rows are there, before or after it has written them."""

    def __init__(self, folder: Path, failing: set[int], written: bool) -> None:
        from siddhi.spark import FileSink

        self.sink, self.failing, self.written = FileSink(str(folder)), failing, written

    def __call__(self, frame, batch: int) -> None:
        fails = batch in self.failing
        self.failing.discard(batch)
        if self.written or not fails:
            self.sink(frame, batch)
        if fails:
            frame.count()
            raise OSError("disk full")


@pytest.mark.parametrize(("failing", "written"), [({3}, False), ({3}, True), ({3, 4}, False)])
def test_a_failed_sink_is_called_again(spark, tmp_path, failing, written):
    from siddhi.spark import SparkRuntime

    write_files(tmp_path / "in", ROWS, 5, 2000)
    tries, failing = len(failing), set(failing)
    for attempt in range(tries + 1):
        runtime = SparkRuntime(APP, spark, shards=3)
        rows = spark.readStream.schema("ts bigint, symbol string, price double, n int")
        frame = rows.option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
        runtime.bind("Trades", frame, timestamp="ts", watermark="9 seconds", sequence=["n"])
        sinks = {"Out": Flaky(tmp_path / "out", failing, written)}
        if attempt < tries:
            with pytest.raises(SparkRunError, match="disk full"):
                runtime.finish(str(tmp_path / "checkpoint"), sinks)
        else:
            runtime.finish(str(tmp_path / "checkpoint"), sinks)
    found = spark.read.parquet(str(tmp_path / "out")).select("symbol", "c", "s").collect()
    whole = oracle(APP, [("Trades", row[0], row) for row in ROWS], ["Out"])["Out"]
    assert sorted(map(tuple, found)) == sorted(tuple(values) for _, *values in whole)


def test_the_session_replaces_existing_files(spark, tmp_path):
    (tmp_path / "old").write_text("old")
    (tmp_path / "new").write_text("new")
    path = spark._jvm.org.apache.hadoop.fs.Path
    system = path("file:///").getFileSystem(spark._jsc.hadoopConfiguration())
    assert system.rename(path(str(tmp_path / "new")), path(str(tmp_path / "old")))
    assert (tmp_path / "old").read_text() == "new"
