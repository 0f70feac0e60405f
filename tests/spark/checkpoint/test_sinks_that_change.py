"""Buffered rows are emitted although sinks are added or removed."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkRunError
from tests.spark.checkpoint.test_refused_starts import NOW, SUM, app, put

pytestmark = pytest.mark.spark

MORE = """@info(name = 'plain') from S[v > 0] select k insert into Plain;
@info(name = 'other') from S[v > 1] select v insert into Other;"""


def test_buffered_rows_are_emitted_for_unchanged_sinks(spark, tmp_path):
    from siddhi.spark import MemorySink

    checkpoint = str(tmp_path / "checkpoint")
    put(tmp_path, (1000, "a", 1), (1500, "b", 2))
    out, plain, other = MemorySink(), MemorySink(), MemorySink()
    runtime = app(spark, tmp_path, SUM + MORE)
    runtime.start(checkpoint, {"Out": out, "Plain": plain}, trigger=NOW).await_termination()
    assert plain.rows == []
    with pytest.raises(
        SparkRunError, match=r"has buffered rows for 'plain', and no sink takes their output any more: .* evolve=True"
    ):
        app(spark, tmp_path, SUM + MORE).start(checkpoint, {"Out": out}, trigger=NOW)
    app(spark, tmp_path, SUM + MORE).finish(checkpoint, {"Out": out, "Plain": plain, "Other": other})
    assert plain.rows == [("a", 1000), ("b", 1500)]
    assert other.rows == [(2, 1500)]
    assert len(out.rows) == 2


def test_buffered_rows_are_emitted_for_a_query_that_would_move(spark, tmp_path):
    from siddhi.spark import MemorySink

    checkpoint = str(tmp_path / "checkpoint")
    logged = MORE.replace("S[v > 0]", "S[v > 0]#log('seen')")
    sinks = {name: MemorySink() for name in ("Out", "Plain", "Other")}
    put(tmp_path, (1000, "a", 1), (1500, "b", 2))
    app(spark, tmp_path, SUM + MORE).start(checkpoint, sinks, trigger=NOW).await_termination()
    for evolve in (False, True):
        with pytest.raises(SparkRunError, match=r"'other' no longer runs with 'plain'\. .* start with reopen=True"):
            app(spark, tmp_path, SUM + logged).start(checkpoint, sinks, trigger=NOW, evolve=evolve)
    app(spark, tmp_path, SUM + MORE).finish(checkpoint, sinks)
    put(tmp_path, (90_000, "c", 3))
    app(spark, tmp_path, SUM + logged).finish(checkpoint, sinks, reopen=True)
    assert sinks["Plain"].rows == [("a", 1000), ("b", 1500), ("c", 90_000)]
    assert sinks["Other"].rows == [(2, 1500), (3, 90_000)]
    assert len(sinks["Out"].rows) == 3
