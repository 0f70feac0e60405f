"""Recorded cases on Spark: those that play events into an app and look at streams. The oracle is the embedded engine."""

from __future__ import annotations

import os
import warnings

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SiddhiAppError
from siddhi.planner import plan
from siddhi.query_compiler import parse
from siddhi.spark.islands import cut
from siddhi.spark.refusals import refuse
from siddhi.spark.testing import assert_parity
from tests.conformance.play import CASES, load_cases

pytestmark = pytest.mark.spark
EVERY = int(os.environ.get("SIDDHI_SPARK_CASES", "12"))


def eligible(every: int = EVERY) -> list:
    found = []
    for path in sorted(CASES.glob("*.jsonl")):
        mine = [case for case in load_cases(path) if rows_of(case) and runs(case)]
        found += [pytest.param(case, id=case["id"]) for case in mine[::every]]
    return found


def every_case() -> list:
    return eligible(1)


def rows_of(case) -> list:
    rows = []
    for step in case["steps"]:
        ((verb, what),) = step.items()
        if verb != "send" or what[1] is None:
            return []
        rows.append((what[0], what[1], tuple(what[2])))
    return rows if case["streams"] and not case["tables"] and "error" not in case["expect"] else []


def runs(case) -> bool:
    try:
        made = plan(parse(case["app"]))
        refuse(made, cut(made), flush=False)
    except SiddhiAppError:
        return False
    fed = {stream for stream, _, _ in rows_of(case)}
    seen = [made.streams[name] for name in (*fed, *case["streams"]) if name in made.streams]
    objects = any(str(attribute.type) == "object" for stream in seen for attribute in stream.attributes)
    return not objects and all(name in made.streams and name not in fed for name in case["streams"]) and len(seen) > 1


@pytest.mark.parametrize("case", eligible())
def test_recorded_case(spark, case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a query runs on one shard
        assert_parity(case["app"], rows_of(case), spark, outputs=[s for s in case["streams"] if not s.startswith("!")])
