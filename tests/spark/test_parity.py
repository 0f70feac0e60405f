"""Equality of rows in comparisons; needs no Java."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.spark.testing import differences

SUM = 0.1 + 0.2


def test_floating_point_numbers():
    assert differences([(1, SUM)], [(1, 0.3)]) is None
    told = differences([(1, SUM)], [(1, 0.3)], exact=True)
    assert told is not None
    assert told.startswith("1 missing")
    assert differences([(1, SUM), (1, float("nan"))], [(1, float("nan")), (1, SUM)], exact=True) is None


def test_values_of_other_types():
    assert differences([(1, True)], [(1, 1)]) is not None
    assert differences([(1, None)], [(1, 0.0)]) is not None
