"""The example of delay cascades in batch has the rows of the embedded engine."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from siddhi.spark.testing import assert_parity

pytestmark = pytest.mark.spark
FOLDER = Path(__file__).parents[2] / "examples" / "delay_cascades"


def test_delay_cascades(spark):
    with (FOLDER / "movements.csv").open() as lines:
        rows = [
            ("Movements", int(r["ts"]), (int(r["ts"]), r["kind"], r["tail"], r["carrier"], int(r["flight"]), r["origin"],
                                         r["dest"], int(r["delay"])))
            for r in csv.DictReader(lines)
        ]  # fmt: skip
    app = (FOLDER / "delay_cascades.siddhi").read_text()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert_parity(app, rows, spark, shards=[5], prefer=["native"])
