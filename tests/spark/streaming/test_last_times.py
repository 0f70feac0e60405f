"""Counters of a running batch; needs no Java."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from py4j.protocol import Py4JError

from siddhi.spark.streaming import last_times


class Mute:
    """A query of a Spark that does not say what its plan counts."""

    @property
    def _jsq(self):
        raise Py4JError("no such method")


def test_a_spark_without_counters_is_reported_once(caplog, monkeypatch):
    monkeypatch.setattr(last_times, "_warned", [])
    with caplog.at_level("WARNING", "siddhi"):
        for _ in range(3):
            assert last_times.times_of_batch(Mute()) == {}
    assert caplog.messages == [
        "this version of Spark has no metrics of a running batch, so a kill may lose those of its last batch: no such method"
    ]
