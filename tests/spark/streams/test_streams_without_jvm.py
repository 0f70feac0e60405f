"""Recorded cases over streams: rows shuffled within the watermark, cut at random, engines restored from their state."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.spark.testing import differences, oracle
from siddhi.types import AttributeType
from tests.spark.cases import eligible, outputs_of, runs_through, shifted
from tests.spark.streams.without_jvm import played


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
