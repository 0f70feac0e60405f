"""Generated expressions on Spark give what the engine gives, with ANSI on and off."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from siddhi.errors import SiddhiAppError
from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.plan.catalyst_expressions import why_not_catalyst
from tests.spark.catalyst.expression_kit import app, by_engine, by_spark, first_difference

pytestmark = pytest.mark.spark
AT_ONCE = 100
"""Expressions of one job."""
LEAVES = {
    "int": ["a", "b", "0", "1", "3", "2147483647"],
    "long": ["l", "m", "0L", "5L", "9223372036854775807L"],
    "float": ["f", "g", "0.0f", "1.5f", "16777216.0f"],
    "double": ["d", "e", "0.0", "0.1", "9.3e18"],
    "string": ["s", "t", "''", "'12'", "'true'"],
    "bool": ["x", "y", "true"],
}
NUMBERS = ["int", "long", "float", "double"]
COLUMNS = {"int": "ab", "long": "lm", "float": "fg", "double": "de", "string": "st", "bool": "xy"}


@cache
def expressions(kind: str, depth: int) -> st.SearchStrategy[str]:
    """Expressions of a type."""
    leaf = st.sampled_from(LEAVES[kind])
    if depth == 0:
        return leaf
    same = st.deferred(lambda: expressions(kind, depth - 1))
    condition = st.deferred(lambda: expressions("bool", depth - 1))
    anything = st.sampled_from(list(LEAVES)).flatmap(lambda other: expressions(other, depth - 1))
    found = [
        leaf,
        st.builds("ifThenElse({}, {}, {})".format, condition, same, same),
        st.builds("coalesce({}, {})".format, same, same),
        st.builds("default({}, {})".format, st.sampled_from(COLUMNS[kind]), st.sampled_from(LEAVES[kind][2:])),
        st.builds("convert({}, '{}')".format, anything, st.just(kind)),
    ]
    if kind in NUMBERS:
        # Of two types the result has the wider one.
        other = st.sampled_from(NUMBERS[: NUMBERS.index(kind) + 1]).flatmap(lambda one: expressions(one, depth - 1))
        pair = st.tuples(same, other).flatmap(st.permutations)
        found += [st.builds(lambda two, sign: f"({two[0]} {sign} {two[1]})", pair, st.sampled_from("+-*/%"))] * 3
    if kind in ("int", "long"):
        found.append(st.builds("{}({}, {})".format, st.sampled_from(["maximum", "minimum"]), same, same))
    if kind == "bool":
        numbers = st.sampled_from(NUMBERS).flatmap(lambda one: expressions(one, depth - 1))
        signs = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
        found += [st.builds("({} {} {})".format, numbers, signs, numbers)] * 2
        found += [st.builds("({} {} {})".format, condition, st.sampled_from(["and", "or"]), condition)] * 2
        texts = st.deferred(lambda: expressions("string", depth - 1))
        found += [
            st.builds("({} {} {})".format, texts, st.sampled_from(["==", "!="]), texts),
            st.builds("(not {})".format, condition),
            st.builds("({} is null)".format, anything),
        ]
    return st.one_of(found)


def generated(n: int) -> list[str]:
    """Different expressions that Spark computes."""
    found: dict[str, None] = {}

    @settings(max_examples=n, phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(list(LEAVES)).flatmap(lambda kind: expressions(kind, 3)))
    def collect(text: str) -> None:
        try:
            columns = plan(parse(app([text]))).executions[0].selector.columns
        except SiddhiAppError:
            return
        if why_not_catalyst(columns[0].expression) is None:
            found[text] = None

    collect()
    return list(found)


def test_results_equal_those_of_the_engine(spark):
    texts = generated(4 * settings().max_examples)
    assert len(texts) > settings().max_examples
    for some in (texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)):
        want = by_engine(some)
        for ansi in (True, False):
            types, got = by_spark(spark, some, ansi=ansi)
            told = first_difference(some, types, want, got)
            assert told is None, f"ANSI {ansi}: {told}"
