"""Repeated work has the same UUIDs."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from tests.spark.streaming.without_jvm import FakeStream

APP = """define stream S (k string, v int);
partition with (k of S) begin
    @info(name = 'q') from S select k, v, UUID() as id insert into Kept;
end;
@info(name = 'plain') from S select v, UUID() as id insert into Plain;"""


def streamed(run: str) -> FakeStream:
    stream = FakeStream(APP, bound={"S"}, shards=3, grace=5)
    stream.run = run
    for start in (0, 20):
        stream.batch([(n, "S", 1000 + n, (f"k{n % 5}", n)) for n in range(start, start + 20)])
    stream.finish()
    return stream


def test_a_repeated_stream_has_the_same_ids():
    one, again, other = streamed("one"), streamed("one"), streamed("other")
    assert one.found == again.found
    ids = [row[-1] for stream in (one, other) for rows in stream.found.values() for row in rows]
    assert len(set(ids)) == len(ids) == 160


@pytest.mark.spark
def test_a_repeated_batch_has_the_same_ids(spark):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(APP, spark, shards=3)
    rows = [(f"k{n % 5}", n, 1000 + n) for n in range(40)]
    runtime.bind("S", spark.createDataFrame(rows, "k string, v int, t bigint"), timestamp="t")
    kept, plain = runtime.output("Kept"), runtime.output("Plain")
    found = [sorted(map(tuple, frame.collect())) for frame in (kept, kept, plain, plain)]
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert len({row[-1] for rows in found for row in rows}) == 80
