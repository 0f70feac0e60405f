"""Recorded cases on Spark. The oracle is the embedded engine.

All of them go through Spark in a few jobs, in batch and as streams (see :mod:`tests.spark.many_apps`), and some in jobs of
their own, as users run them.
"""

from __future__ import annotations

import os
import warnings

import pytest

pytest.importorskip("pyspark")

from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark._compat import spark_version
from siddhi.spark.testing import assert_parity, differences, oracle
from siddhi.types import AttributeType
from tests.spark.cases import SHIFT, eligible, outputs_of, rows_of, runs_through, shifted
from tests.spark.many_apps import Found, ManyApps, OneApp

pytestmark = pytest.mark.spark
EVERY = int(os.environ.get("SIDDHI_SPARK_CASES", "60"))
JOBS = 2
FEWER = int(os.environ.get("SIDDHI_SPARK_STREAMS", "4" if spark_version() >= (4, 1) else "15"))
"""Of the cases as streams one in so many: in PySpark 4.0 every call to the state of a shard takes its time. Without a JVM all
of them are played as streams in tests/spark/streaming/test_streams_without_jvm.py, and `nox -s spark` plays all on Spark."""
LONGEST = 30_000
"""Of a case in a stream (ms): time is one there, and what repeats itself would do so until the end of the longest."""


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case["id"]) for cases in eligible().values() for case in cases[::EVERY]]
)
def test_recorded_case(compiled, case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a query runs on one shard
        assert_parity(case["app"], rows_of(case), compiled, outputs=outputs_of(case))


def part(number: int, *, longest: int | None = None, every: int = 1) -> tuple[list[str], list[OneApp]]:
    """Ids and apps of one of the jobs."""
    cases = [case for group in eligible().values() for case in group]
    chosen = [
        case
        for case in cases[number :: JOBS * every]
        if runs_through(case) and (longest is None or shifted(case)[-1][1] < SHIFT + longest)
    ]
    assert len(chosen) > 250 // every
    return [case["id"] for case in chosen], [OneApp(case["app"], shifted(case), outputs_of(case)) for case in chosen]


def compare(ids: list[str], apps: list[OneApp], found: list[Found], until: int | None) -> None:
    wrong = []
    for id_, app, got in zip(ids, apps, found, strict=True):
        want = oracle(app.text, app.rows, app.outputs, until=until)
        streams = plan(parse(app.text)).streams
        for name in app.outputs:
            singles = [n for n, a in enumerate(streams[name].attributes, 1) if a.type is AttributeType.FLOAT]
            told = differences(want[name], got[name], singles)
            if told is not None:
                wrong.append(f"{id_}, stream {name}: {told}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("number", range(JOBS))
def test_all_recorded_cases_in_batch(spark, tmp_path, number):
    ids, apps = part(number)
    found = ManyApps(apps, shards=3, prefer="engine").in_batch(spark, tmp_path, seed=number)
    compare(ids, apps, found, until=None)


@pytest.mark.parametrize("number", range(JOBS))
def test_all_recorded_cases_as_streams(spark, tmp_path, number):
    ids, apps = part(number, longest=LONGEST, every=FEWER)
    together = ManyApps(apps, shards=3, prefer="native")
    found, late = together.streamed(spark, tmp_path, seed=number)
    assert late == 0
    compare(ids, apps, found, until=together.last)
