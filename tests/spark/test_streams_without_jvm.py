"""Recorded cases over streams: rows shuffled within the watermark, cut at random, engines restored from their state."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.spark.testing import differences, oracle
from siddhi.types import AttributeType
from tests.spark.test_conformance import every_case, rows_of
from tests.spark.without_jvm import played

SHIFT = 1_000_000_000_000 - 1_000_000_000_000 % (366 * 86_400_000)


@pytest.mark.parametrize("case", every_case())
def test_recorded_case_as_a_stream(case):
    rows = [(stream, time + SHIFT, values) for stream, time, values in rows_of(case)]
    outputs = [name for name in case["streams"] if not name.startswith("!")]
    try:
        want = oracle(case["app"], rows, outputs)
    except ValueError:
        return  # an app that fails on its rows fails a query on Spark
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
