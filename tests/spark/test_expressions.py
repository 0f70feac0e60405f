"""Expressions on Spark give what the engine gives, with ANSI on and off."""

from __future__ import annotations

import math
import random
import struct

import pytest

pytest.importorskip("pyspark")

from siddhi import SiddhiManager
from siddhi.planner import plan
from siddhi.query_compiler import parse
from siddhi.spark.nativeness import why_not_native

pytestmark = pytest.mark.spark

SCHEMA = "a int, b int, l long, m long, f float, g float, d double, e double, s string, t string, x bool, y bool"
NAN, INF = math.nan, math.inf
VALUES = {
    "int": [None, 0, 1, -1, 7, 2**31 - 1, -(2**31), 2**24 + 1],
    "long": [None, 0, 1, -1, 3, 2**63 - 1, -(2**63), 2**53 + 1, 2**31, 5_000_000_000],
    "float": [None, 0.0, -0.0, 1.0, -1.5, NAN, INF, -INF, 16777216.0, 0.10000000149011612, 1.1754943508222875e-38],
    "double": [None, 0.0, -0.0, 1.0, -2.5, NAN, INF, -INF, 2.0**53 + 2, 0.1, 1e300, 2147483647.5, 9.3e18],
    "string": [None, "", "true", "TRUE", " 12", "12", "+7", "-2147483648", "2147483648", "9223372036854775808",
               "9223372036854775807", "12\n", "\u0661\u0662", "1.5", "x"],
    "bool": [None, True, False],
}  # fmt: skip
ORDER = ("<", "<=", ">", ">=", "==", "!=")
MATH = ("+", "-", "*", "/", "%")


def rows() -> list[tuple[object, ...]]:
    """Every pair of edge values of each type, in one order that is always the same."""
    shuffle = random.Random(5).sample
    pairs = {kind: [(a, b) for a in values for b in values] for kind, values in VALUES.items()}
    n = max(len(found) for found in pairs.values())
    columns = []
    for kind in ("int", "long", "float", "double", "string", "bool"):
        found = pairs[kind] + shuffle(pairs[kind] * 30, n)
        columns += [[a for a, _ in found[:n]], [b for _, b in found[:n]]]
    return list(zip(*columns))


def expressions() -> list[str]:
    found = [f"{p} {operator} {q}" for operator in MATH for p in ("a", "l", "f", "d") for q in ("b", "m", "g", "e")]
    found += [f"{p} {operator} {q}" for operator in ORDER for p in ("a", "l", "f", "d") for q in ("b", "m", "g", "e")]
    found += ["s == t", "s != t", "x == y", "x != y", "a == 1", "d > 0.5", "f != 1.5f", "l + 9223372036854775807L"]
    found += [
        "a * 2 - b / 3",
        "(a + b) * (a - b)",
        "l * m + a",
        "d * 2.0 / (e - 1.0)",
        "a % 3 == b % 3",
        "0 - a",
        "0 - l",
    ]
    found += ["x and y", "x or y", "not x", "not (a > b)", "x and a > 1 or y", "a is null", "not (s is null)", "x"]
    found += [
        "ifThenElse(x, a, b)",
        "ifThenElse(a > b, s, 'less')",
        "ifThenElse(x, y, x)",
        "coalesce(a, b, 5)",
        "coalesce(x, y)",
    ]
    found += ["default(a, 3)", "default(s, 'none')", "maximum(a, b)", "minimum(l, m)", "maximum(a)"]
    found += [f"convert({p}, '{to}')" for p in "alfdsx" for to in ("int", "long", "float", "double", "string", "bool")]
    found += [f"instanceOf{kind}({p})" for kind in ("Integer", "Long", "String", "Boolean") for p in "alsx"]
    found += ["cast(a, 'long')", "eventTimestamp()"]
    return found


def app(found: list[str]) -> str:
    columns = ", ".join(f"{text} as r{n}" for n, text in enumerate(found))
    return f"@app:playback define stream S ({SCHEMA}); from S select {columns} insert into Out;"


@pytest.fixture(scope="module")
def native() -> list[str]:
    """Those of the expressions that are lowered; the others need the engine and say why."""
    made = plan(parse(app(expressions())))
    columns = made.executions[0].selector.columns
    reasons = [why_not_native(column.expression) for column in columns]
    assert sum(reason is not None for reason in reasons) == 4, reasons
    return [text for text, reason in zip(expressions(), reasons) if reason is None]


@pytest.fixture(scope="module")
def answers(native) -> list[list[object]]:
    out: list[list[object]] = []
    runtime = SiddhiManager().create_siddhi_app_runtime(app(native))
    runtime.add_callback("Out", lambda events: out.extend(list(event.data) for event in events))
    with runtime:
        for row in rows():
            runtime.input_handler("S").send(row, 1000)
    return out


@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "no-ansi"])
def test_results_are_the_engines(spark, native, answers, ansi):
    from pyspark.sql import functions as F

    from siddhi.spark.expressions import SPARK_TYPES, Lowering

    made = plan(parse(app(native)))
    query = made.executions[0]
    attributes = query.input.attributes
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    try:
        schema = ", ".join(f"{attribute.name} {SPARK_TYPES[attribute.type]}" for attribute in attributes)
        frame = spark.createDataFrame(rows(), schema).coalesce(1)
        lower = Lowering(lambda attr: F.col(attr.name), F.lit(1000).cast("bigint"))
        columns = [lower(column.expression).alias(column.name) for column in query.selector.columns]
        lowered = frame.select(*columns)
        declared = [SPARK_TYPES[column.expression.type] for column in query.selector.columns]
        assert [field.dataType.simpleString() for field in lowered.schema] == declared
        given = [list(row) for row in lowered.collect()]
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    assert len(given) == len(answers)
    for want, got, row in zip(answers, given, rows()):
        for text, type_, wanted, gotten in zip(native, declared, want, got):
            if type_ == "float":  # the engine spells singles with the fewest digits that tell them apart
                wanted, gotten = (
                    number and struct.unpack("f", struct.pack("f", number))[0] for number in (wanted, gotten)
                )
            assert same(wanted, gotten), f"{text} of {row}: want {wanted!r}, got {gotten!r}"


def same(want: object, got: object) -> bool:
    if isinstance(want, float) and isinstance(got, float):
        return (math.isnan(want) and math.isnan(got)) or (
            want == got and math.copysign(1, want) == math.copysign(1, got)
        )
    return type(want) is type(got) and want == got
