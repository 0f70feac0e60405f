"""Late rows: each is reported once, as a row of the bound stream, even if several shards get it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.checkpoint.evolution import assign_key_ranges
from siddhi.spark.checkpoint.key_ranges import key_range_of
from siddhi.spark.plan.fragments import cut
from siddhi.spark.streaming.plan import plan_streaming, takes_all

pytestmark = pytest.mark.spark

TRADES = "define stream S (ts long, k string, v int);"
FILTERED = """
@info(name = 'f') from S[v > 0] select ts, k, v insert into Good;
@info(name = 'g') from S[v > 5] select ts, k, v insert into Better;
partition with (k of Good) begin @info(name = 'q1') from Good select k, sum(v) as s insert into Out; end;
partition with (k of Better) begin @info(name = 'q2') from Better select k, count() as n insert into Counted; end;
"""
SIDE_BY_SIDE = """
define stream U (ts long, k string, v int);
partition with (k of S) begin @info(name = 'q1') from every a=S -> b=U select a.k as k, b.v as v insert into Out; end;
@info(name = 'j') from S#window.length(2) join U#window.length(2) on S.v == U.v select S.k as k insert into Joined;
"""
RANGES = """
partition with (v > 100 as 'high' or v > 50 as 'middle' of S)
begin @info(name = 'q1') from S select k, count() as n insert into Out; end;
"""
LATE = [(1_000, "a", 7), (1_500, "b", -1)]


def write(folder: Path) -> None:
    folder.mkdir()
    for number, rows in enumerate(([(100_000, "a", 1)], [*LATE, (101_000, "a", 60)])):
        columns = [pa.array(column, kind) for column, kind in zip(zip(*rows), (pa.int64(), pa.string(), pa.int32()))]
        path = folder / f"{number}.parquet"
        pq.write_table(pa.Table.from_arrays(columns, names=["ts", "k", "v"]), path)
        os.utime(path, (1_700_000_000 + number,) * 2)


def runtime_of(spark, app: str, folder: Path, streams: tuple[str, ...] = ("S",)):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(TRADES + app, spark, shards=3, late="side")
    for stream in streams:
        write(folder / stream)
        rows = spark.readStream.schema("ts bigint, k string, v int").option("maxFilesPerTrigger", 1)
        runtime.bind(stream, rows.parquet(str(folder / stream)), timestamp="ts", watermark="10 seconds")
    return runtime


def in_progress(query, name: str, column: str) -> int:
    """Return the sum of an observed metric in Spark's progress."""
    observed = [progress["observedMetrics"] for progress in query.query.recentProgress]
    return sum(metrics[name][column] or 0 for metrics in observed if name in metrics)


@pytest.mark.filterwarnings("ignore:.*runs? on one shard")
@pytest.mark.parametrize(
    ("app", "streams", "output"),
    [
        (FILTERED, ("S",), "Out"),
        ("from S[v > 0] select k insert into Out;", ("S",), "Out"),
        (SIDE_BY_SIDE, ("S", "U"), "Joined"),
    ],
    ids=["behind filters", "nothing keeps state", "to several fragments and shards"],
)
def test_each_is_counted_and_emitted_once(spark, tmp_path, app, streams, output):
    from siddhi.spark import MemorySink

    runtime = runtime_of(spark, app, tmp_path, streams)
    aside = {f"{stream}__late": MemorySink() for stream in streams}
    query = runtime.finish(str(tmp_path / "checkpoint"), {output: MemorySink(), **aside})
    assert query.late_rows == len(LATE) * len(streams)
    assert in_progress(query, "emitted", "rows") == query.written[output] > 0
    for sink in aside.values():
        assert sorted(sink.rows) == [(*row, row[0]) for row in LATE]


def test_a_reader_without_all_rows_does_not_report():
    for app, told in ((FILTERED, True), (RANGES, True), (SIDE_BY_SIDE, False)):
        made = plan(parse(TRADES + app))
        found = plan_streaming(made, cut(made, streaming=True, bound={"S"}), ["S__late"], shards=4, late=["S"])
        assert [fragment.inputs for fragment in found.fragments if not fragment.names] == [("S",)] * told
        assert [takes_all(fragment, "S") for fragment in found.fragments].count(True) == (1 if told else 2)


def test_a_fragment_of_only_late_rows_gets_no_other_rows():
    made = plan(parse(TRADES + "@info(name = 'f') from S[v > 0] select k insert into Out;"))
    layout = cut(made, streaming=True, bound={"S"})

    def key_ranges(*wanted: str, late: tuple[str, ...] = ()):
        found = plan_streaming(made, layout, wanted, always=True, late=late, shards=2)
        return [key_range_of(made, i, p, 2 * n, 2) for n, (i, p) in enumerate(zip(found.fragments, found.programs))]

    before = key_ranges("Out")
    fit = assign_key_ranges(before, key_ranges("S__late", late=("S",)))
    assert [key_range.retired for key_range in fit.key_ranges] == [True, False]
    assert assign_key_ranges(fit.key_ranges, key_ranges("S__late", late=("S",))).indexes == [1]


def test_they_are_a_streaming_dataframe_after_catalyst_stages(spark, tmp_path):
    runtime = runtime_of(spark, FILTERED, tmp_path)
    late = runtime.output("S__late", meta=True)
    assert late.isStreaming
    assert late.columns == ["ts", "k", "v", "_timestamp"]
    with pytest.raises(ValueError, match="stream 'Good' is not bound, so it has no late rows"):
        runtime.output("Good__late")


def test_a_filtered_late_row_is_counted_only_for_late_output(spark, tmp_path):
    from siddhi.spark import MemorySink

    query = runtime_of(spark, FILTERED, tmp_path).start(
        str(tmp_path / "checkpoint"), {"Out": MemorySink(), "Counted": MemorySink()}, trigger={"availableNow": True}
    )
    query.await_termination()
    assert query.late_rows == 1  # once, though it goes two ways
    assert in_progress(query, "siddhi_S", "rows") == 4
    assert in_progress(query, "emitted", "late") == 1
