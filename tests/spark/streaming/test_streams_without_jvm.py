"""Recorded cases over streams: rows shuffled within the watermark, cut at random, engines restored from their state."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkRunError
from siddhi.spark.testing import differences, oracle
from siddhi.types import AttributeType
from tests.spark.cases import eligible, outputs_of, runs_through, shifted
from tests.spark.streaming.without_jvm import FakeStream, played


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for cases in eligible().values() for case in cases])
def test_recorded_case_as_a_stream(case):
    if not runs_through(case):
        return
    rows, outputs = shifted(case), outputs_of(case)
    want = oracle(case["app"], rows, outputs)
    for shards, forget in ((1, False), (3, True)):
        try:
            stream = played(case["app"], rows, shards=shards, seed=shards, forget=forget)
        except NotImplementedError:
            continue  # a key that Spark computes
        assert stream.late == 0
        for name in outputs:
            attributes = stream.plan.streams[name].attributes
            singles = [n for n, a in enumerate(attributes, 1) if a.type is AttributeType.FLOAT]
            told = differences(want[name], stream.found.get(name, []), singles)
            assert told is None, f"stream {name}, {shards} shards: {told}"


def test_rows_before_1970_are_refused_unless_they_are_late():
    app = """@app:name('Early') define stream S (k string, v int);
    partition with (k of S) begin from S select k, sum(v) as s insert into Out; end;"""
    stream = FakeStream(app, bound={"S"}, shards=2, grace=100)
    stream.batch([(0, "S", 0, ("a", 1)), (1, "S", 20, ("a", 2))])  # within the grace after it
    stream.finish()
    assert [row[0] for row in stream.found["Out"]] == [0, 20]
    stream = FakeStream(app, bound={"S"}, shards=2, grace=100)
    told = "app 'Early': a row of S has event time -5 ms, and event time of Spark streams starts in 1970"
    with pytest.raises(SparkRunError, match=told):
        stream.batch([(0, "S", 20, ("a", 1)), (1, "S", -5, ("a", 1))])
    stream = FakeStream(app, bound={"S"}, shards=2, grace=100)
    stream.batch([(0, "S", 1000, ("a", 1))])
    stream.batch([(1, "S", -5, ("a", 1))])
    assert stream.late == 1


OVERDUE = """define stream S (k string, v int);
partition with (k of S) begin from S select k, v output all every 3 events insert into Y; end;
from every a=Y -> not S[k == a.k and v < 0] for 100 milliseconds select a.k as k, a.v as v insert into Out;"""


@pytest.mark.parametrize("forget", [False, True])
@pytest.mark.parametrize("last", [600, 601, 900])
def test_overdue_timers_of_the_last_event_run_when_time_advances(last, forget):
    """The first two rows of a key are emitted with the third, when their absences are overdue."""
    rows = [("S", at, ("a", n)) for n, at in enumerate((0, 200, 400))]
    rows += [("S", 600, ("b", 7)), ("S", last, ("b", 8)), ("S", last, ("b", 9))]
    want = oracle(OVERDUE, rows, ["Out"])["Out"]
    assert want == [(100, "a", 0), (300, "a", 1), (500, "a", 2)]
    for shards in (1, 3):
        for seed in range(4):
            stream = played(OVERDUE, rows, shards=shards, seed=seed, forget=forget)
            assert sorted(stream.found.get("Out", [])) == sorted(want)
