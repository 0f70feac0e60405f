"""The error that ends a stream is a SparkRunError, whatever part failed."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException

from siddhi.errors import SparkRunError
from tests.spark.checkpoint.test_refused_starts import NOW, SUM, app, put

pytestmark = pytest.mark.spark

PLAIN = "from S[v > 0] select k insert into Out;"


@pytest.mark.parametrize("query", [PLAIN, SUM])
def test_the_error_of_a_sink_is_reported_first(spark, tmp_path, query):
    def down(frame, batch):
        raise RuntimeError("the sink is down")

    put(tmp_path, (1000, "a", 1), (5000, "a", 1))
    started = app(spark, tmp_path, query).start(str(tmp_path / "checkpoint"), {"Out": down}, trigger=NOW)
    with pytest.raises(SparkRunError, match=r"^the sink is down \(sink of 'Out', batch \d, RuntimeError\)$") as caught:
        started.await_termination()
    assert isinstance(caught.value.__cause__, StreamingQueryException)


def test_the_error_of_spark_is_reported_without_its_frames(spark, tmp_path):
    from siddhi.spark import MemorySink

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.parquet").write_text("no parquet at all")
    started = app(spark, tmp_path, PLAIN).start(str(tmp_path / "checkpoint"), {"Out": MemorySink()}, trigger=NOW)
    with pytest.raises(SparkRunError) as caught:
        started.await_termination(60)
    told = str(caught.value)
    assert "a.parquet" in told
    assert "\n" not in told
    assert "STREAM_FAILED" not in told
