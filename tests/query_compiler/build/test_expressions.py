from __future__ import annotations

import math

import pytest

from siddhi.errors import SiddhiParserError
from siddhi.query_api import Constant, EventIndex, FunctionCall, In, IsNull, IsNullStream, Not, Variable
from siddhi.query_compiler import parse_expression, parse_time
from siddhi.types import AttributeType

T = AttributeType


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("7", 7, T.INT),
        ("007", 7, T.INT),
        ("-5", -5, T.INT),
        ("- 1", -1, T.INT),
        ("+3", 3, T.INT),
        ("2147483647", 2**31 - 1, T.INT),
        ("-2147483648", -(2**31), T.INT),
        ("9223372036854775807L", 2**63 - 1, T.LONG),
        ("-9223372036854775808l", -(2**63), T.LONG),
        ("7.5", 7.5, T.DOUBLE),
        ("7d", 7.0, T.DOUBLE),
        ("1.e2", 100.0, T.DOUBLE),
        ("-2.5", -2.5, T.DOUBLE),
        (".5f", 0.5, T.FLOAT),
        ("0.1f", 0.10000000149011612, T.FLOAT),
        ("true", True, T.BOOL),
        ("FALSE", False, T.BOOL),
        ("''", "", T.STRING),
        (r"'a\nb'", r"a\nb", T.STRING),
        ('"it\'s"', "it's", T.STRING),
        ('"""he said "it\'s"."""', 'he said "it\'s".', T.STRING),
        ("'héllo → 日本'", "héllo → 日本", T.STRING),
    ],
)
def test_literals(text, value, kind):
    constant = parse_expression(text)
    assert constant == Constant(value, kind)
    assert type(constant.value) is type(value)


@pytest.mark.parametrize("text", ["2147483648", "-2147483649", "9223372036854775808L", "1e400", "1e39f", "9" * 30])
def test_a_number_out_of_range_is_an_error_with_its_location(text):
    with pytest.raises(SiddhiParserError) as caught:
        parse_expression(f"a + {text}")
    assert caught.value.code == "E102"
    assert (caught.value.line, caught.value.column) == (1, 4)


def test_an_int_out_of_range_has_a_hint_to_use_long():
    with pytest.raises(SiddhiParserError, match="write 3000000000L"):
        parse_expression("3000000000")


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1 year", 31_536_000_000),
        ("3 months", 3 * 2_592_000_000),
        ("2 weeks", 1_209_600_000),
        ("5 DAYS", 432_000_000),
        ("1 hour 25 min", 5_100_000),
        ("1hour 25min 3sec 7millisec", 5_103_007),
        ("5sec", 5_000),
        ("5min", 300_000),
        ("5hours", 18_000_000),
        ("5weeks", 5 * 604_800_000),
        ("90 seconds", 90_000),
        ("0 sec", 0),
        ("3000000000 milliseconds", 3_000_000_000),
    ],
)
def test_times_are_long_constants_of_milliseconds(text, milliseconds):
    assert parse_time(text) == milliseconds
    assert parse_expression(text) == Constant(milliseconds, T.LONG, is_time=True)


@pytest.mark.parametrize("text", ["1 sec 1 min", "1 sec 2 sec", "1 day 1 year"])
def test_units_of_a_time_must_decrease(text):
    with pytest.raises(SiddhiParserError, match="coarsest unit first") as caught:
        parse_expression(f"x < {text}")
    assert caught.value.code == "E103"


@pytest.mark.parametrize("text", ["5", "5 ms", "5 s", "sec", "5L sec", "-5 sec", "", "5 sec ago"])
def test_invalid_times_are_refused(text):
    with pytest.raises(SiddhiParserError):
        parse_time(text)


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("a + 2 * 3", "a + (2 * 3)"),
        ("10 - a - 3", "(10 - a) - 3"),
        ("100 / a / 5", "(100 / a) / 5"),
        ("20 % a * 2", "(20 % a) * 2"),
        ("a + 1 > 3 - 1", "(a + 1) > (3 - 1)"),
        ("1 < 2 == true", "(1 < 2) == true"),
        ("1 == 1 == true", "(1 == 1) == true"),
        ("a == T.a in T", "(a == T.a) in T"),
        ("a in T in U", "(a in T) in U"),
        ("a in T and b", "(a in T) and b"),
        ("a or b and c", "a or (b and c)"),
        ("a or b or c", "(a or b) or c"),
        ("not a == 7", "(not a) == 7"),
        ("not a and b", "(not a) and b"),
        ("not a in T", "(not a) in T"),
        ("not a is null", "not (a is null)"),
        ("not f(a) * 2", "(not f(a)) * 2"),
        ("a-1", "a - 1"),
        ("a -1", "a - 1"),
        ("a+-1", "a + (-1)"),
        ("a*-2", "a * (-2)"),
        ("a - -1", "a - (-1)"),
        ("1 -1", "1 - 1"),
        ("((a))", "a"),
    ],
)
def test_precedence(text, grouped):
    assert parse_expression(text) == parse_expression(grouped)


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("a", Variable("a")),
        ("S.a", Variable("a", "S")),
        ("e1[0].a", Variable("a", "e1", EventIndex(0))),
        ("e1[last].a", Variable("a", "e1", EventIndex(0, from_last=True))),
        ("e1[last - 2].a", Variable("a", "e1", EventIndex(2, from_last=True))),
        ("#S.a", Variable("a", "S", is_inner=True)),
        ("#S[1].a", Variable("a", "S", EventIndex(1), is_inner=True)),
        ("!S.a", Variable("a", "S", is_fault=True)),
        ("X#f.a", Variable("a", "X", function_id="f")),
        (
            "X[1]#f[2].a",
            Variable("a", "X", EventIndex(1), function_id="f", function_index=EventIndex(2)),
        ),
        ("a is null", IsNull(Variable("a"))),
        ("S.a is null", IsNull(Variable("a", "S"))),
        ("f() is null", IsNull(FunctionCall("f"))),
        ("e1[1] is null", IsNullStream("e1", EventIndex(1))),
        ("#S is null", IsNullStream("S", is_inner=True)),
        ("!S is null", IsNullStream("S", is_fault=True)),
        ("f()", FunctionCall("f")),
        ("f(*)", FunctionCall("f", star=True)),
        ("str:f(a, 'b')", FunctionCall("f", (Variable("a"), Constant("b", T.STRING)), "str")),
        ("x in T", In(Variable("x"), "T")),
        ("not x", Not(Variable("x"))),
    ],
)
def test_references_and_calls(text, expression):
    assert parse_expression(text) == expression


@pytest.mark.parametrize(
    "text",
    [
        "-a",
        "-(1)",
        "a && b",
        "a || b",
        "a = b",
        "a <> b",
        "(a) is null",
        "1 is null",
        "f(",
        "a b",
        "1.",
        "a..b",
        "f(a,)",
        "",
    ],
)
def test_invalid_expressions_are_refused(text):
    with pytest.raises(SiddhiParserError):
        parse_expression(text)


def test_floats_are_rounded_to_single_precision():
    value = parse_expression("16777217f").value
    assert value == 16777216.0
    assert math.isfinite(value)
