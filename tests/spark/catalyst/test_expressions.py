"""Expressions on Spark give what the engine gives, with ANSI on and off."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.plan.catalyst_expressions import why_not_catalyst
from tests.spark.catalyst.expression_kit import app, by_engine, by_spark, first_difference

pytestmark = pytest.mark.spark

ORDER = ("<", "<=", ">", ">=", "==", "!=")
MATH = ("+", "-", "*", "/", "%")


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
    found += [f"cast({p}, '{to}')" for p in "alfdsx" for to in ("int", "long", "float", "double", "string", "bool")]
    found += ["eventTimestamp()"]
    return found


@pytest.fixture(scope="module")
def native() -> list[str]:
    """Those of the expressions that are lowered; the others need the engine and say why."""
    made = plan(parse(app(expressions())))
    columns = made.executions[0].selector.columns
    reasons = [why_not_catalyst(column.expression) for column in columns]
    assert sum(reason is not None for reason in reasons) == 10, reasons
    return [text for text, reason in zip(expressions(), reasons) if reason is None]


@pytest.fixture(scope="module")
def answers(native) -> list[list[object]]:
    return by_engine(native)


@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "no-ansi"])
def test_results_equal_those_of_the_engine(spark, native, answers, ansi):
    types, given = by_spark(spark, native, ansi=ansi)
    assert first_difference(native, types, answers, given) is None
