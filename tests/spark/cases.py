"""The recorded cases that can run on Spark: those that play events into an app and look at streams."""

from __future__ import annotations

from functools import cache

from siddhi.errors import SiddhiAppError
from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.plan.fragments import cut
from siddhi.spark.plan.unsupported import refuse
from siddhi.spark.testing import Row, oracle
from tests.conformance.play import CASES, Case, load_cases

__all__ = ["SHIFT", "eligible", "outputs_of", "rows_of", "runs_through", "shifted"]

SHIFT = 1_000_000_000_000 - 1_000_000_000_000 % (366 * 86_400_000)
"""How far times are moved (ms): a watermark of 0 is none."""


@cache
def eligible() -> dict[str, list[Case]]:
    """By group."""
    found = {}
    for path in sorted(CASES.glob("*.jsonl")):
        mine = [case for case in load_cases(path) if rows_of(case) and _runs(case)]
        if mine:
            found[path.stem] = mine
    return found


def rows_of(case: Case) -> list[Row]:
    """What is sent, or nothing where a case does more than that."""
    rows = []
    for step in case["steps"]:
        ((verb, what),) = step.items()
        if verb != "send" or what[1] is None:
            return []
        rows.append((what[0], what[1], tuple(what[2])))
    return rows if case["streams"] and not case["tables"] and "error" not in case["expect"] else []


def shifted(case: Case) -> list[Row]:
    """What is sent, in our days."""
    return [(stream, time + SHIFT, values) for stream, time, values in rows_of(case)]


def outputs_of(case: Case) -> list[str]:
    """The streams that are compared."""
    return [stream for stream in case["streams"] if not stream.startswith("!")]


def runs_through(case: Case) -> bool:
    """Whether the app takes its rows; one that fails on them fails a query on Spark."""
    try:
        oracle(case["app"], shifted(case), outputs_of(case))
    except ValueError:
        return False
    return True


def _runs(case: Case) -> bool:
    try:
        made = plan(parse(case["app"]))
        refuse(made, cut(made), flush=False)
    except SiddhiAppError:
        return False
    fed = {stream for stream, _, _ in rows_of(case)}
    seen = [made.streams[name] for name in (*fed, *case["streams"]) if name in made.streams]
    objects = any(str(attribute.type) == "object" for stream in seen for attribute in stream.attributes)
    return not objects and all(name in made.streams and name not in fed for name in case["streams"]) and len(seen) > 1
