"""Rows that wait for the watermark come out although sinks come and go."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkRunError
from tests.spark.checkpoints.test_refused_starts import NOW, SUM, app, put

pytestmark = pytest.mark.spark

MORE = """@info(name = 'plain') from S[v > 0] select k insert into Plain;
@info(name = 'other') from S[v > 1] select v insert into Other;"""


def test_rows_wait_for_sinks_that_stay(spark, tmp_path):
    from siddhi.spark import MemorySink

    checkpoint = str(tmp_path / "checkpoint")
    put(tmp_path, (1000, "a", 1), (1500, "b", 2))
    out, plain, other = MemorySink(), MemorySink(), MemorySink()
    runtime = app(spark, tmp_path, SUM + MORE)
    runtime.start(checkpoint, {"Out": out, "Plain": plain}, trigger=NOW).await_termination()
    assert plain.rows == []
    with pytest.raises(
        SparkRunError, match=r"rows wait .* for 'plain', and nothing takes them any more: .* evolve=True"
    ):
        app(spark, tmp_path, SUM + MORE).start(checkpoint, {"Out": out}, trigger=NOW)
    app(spark, tmp_path, SUM + MORE).finish(checkpoint, {"Out": out, "Plain": plain, "Other": other})
    assert plain.rows == [("a", 1000), ("b", 1500)]
    assert other.rows == [(2, 1500)]
    assert len(out.rows) == 2
