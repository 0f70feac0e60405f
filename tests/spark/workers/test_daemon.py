"""Workers are forked with the engine in memory."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("pyspark")

from siddhi.spark.workers.daemon import MODULES

pytestmark = pytest.mark.spark


def test_a_worker_begins_with_the_modules_of_the_engine(spark):
    def loaded(_: int) -> list[str]:
        return [name for name in MODULES if name in sys.modules]

    assert spark.sparkContext.parallelize([0], 1).map(loaded).collect() == [list(MODULES)]
