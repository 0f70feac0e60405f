"""The pipeline of the examples has the rows of the embedded engine."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

import pyarrow.parquet as pq

from siddhi import SiddhiManager
from siddhi.spark.testing import differences

pytestmark = pytest.mark.spark
FOLDER = Path(__file__).parents[2] / "examples" / "spark_pipeline"


def test_the_pipeline_has_the_rows_of_the_embedded_engine(spark, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import pipeline

    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # nothing of it runs on one shard
        pipeline.run(spark, tmp_path)
    rows = [tuple(row) for row in pipeline.cleaned(spark).orderBy("ts").collect()]
    sys.modules.pop("pipeline")
    assert len(rows) > 5000

    worsening = []
    runtime = SiddhiManager().create_siddhi_app_runtime((FOLDER / "worsening.siddhi").read_text())
    runtime.add_callback("Worsening", lambda events: worsening.extend(event.data for event in events))
    with runtime:
        for row in rows:
            runtime.input_handler("Departures").send(row, row[0])
        hours = [event.data for event in runtime.query("from ByHour within 0L, 4000000000000L per 'hours' select *")]
    assert len(worsening) > 20
    assert len(hours) > 300
    assert differences(worsening, read(tmp_path / "worsening")) is None
    assert differences(hours, read(tmp_path / "by_hour")) is None


def read(folder: Path) -> list[tuple]:
    columns = pq.read_table(folder).columns
    return list(zip(*(column.to_pylist() for column in columns)))
