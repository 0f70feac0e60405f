"""convert: every entry of the matrix, and the texts of numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest

from siddhi._core.expression.cast import make_convert
from tests.kit.expressions import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    INT_MAX,
    INT_MIN,
    LONG,
    LONG_MAX,
    LONG_MIN,
    NAMES,
    NUMERIC,
    OBJECT,
    STRING,
    apply,
    single,
)

TYPES = [*NUMERIC, BOOL, STRING]


def convert(source: int, value: Any, target: int) -> Any:
    """The result, the same for a variable, a constant and a computed value."""
    from siddhi._core.expression.function import make_coalesce

    found = apply(lambda a: make_convert(a, target), (source, value))
    assert repr(apply(lambda a: make_convert(a, target), (source, value), constants=(0,))) == repr(found)
    if source != BOOL:
        assert repr(apply(lambda a: make_convert(make_coalesce((a,)), target), (source, value))) == repr(found)
    return found


def check(source: int, value: Any, target: int, expected: Any) -> None:
    found = convert(source, value, target)
    assert type(found) is type(expected)
    assert repr(single(found) if target == FLOAT and found is not None else found) == repr(expected)


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        (3000000000, INT, -1294967296),
        (LONG_MIN, INT, 0),
        (-1, INT, -1),
        (7, LONG, 7),
        (2**60 + 2**36 + 1, FLOAT, 2.0**60 + 2.0**37),
        (2**53 + 1, DOUBLE, 2.0**53),
        (1, BOOL, True),
        (0, BOOL, False),
        (2, BOOL, False),
        (-1, BOOL, False),
        (LONG_MIN, STRING, "-9223372036854775808"),
        (LONG_MAX, STRING, "9223372036854775807"),
    ],
)
def test_from_long(value: int, target: int, expected: Any) -> None:
    check(LONG, value, target, expected)


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        (-7, INT, -7),
        (INT_MIN, LONG, INT_MIN),
        (16777217, FLOAT, 16777216.0),
        (INT_MAX, DOUBLE, 2147483647.0),
        (1, BOOL, True),
        (257, BOOL, False),
        (INT_MIN, STRING, "-2147483648"),
        (0, STRING, "0"),
    ],
)
def test_from_int(value: int, target: int, expected: Any) -> None:
    check(INT, value, target, expected)


@pytest.mark.parametrize("source", [FLOAT, DOUBLE], ids=NAMES.get)
@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        (2.9, INT, 2),
        (-2.9, INT, -2),
        (1e30, INT, INT_MAX),
        (-1e30, INT, INT_MIN),
        (math.inf, INT, INT_MAX),
        (math.nan, INT, 0),
        (-2.9, LONG, -2),
        (1e30, LONG, LONG_MAX),
        (-math.inf, LONG, LONG_MIN),
        (math.nan, LONG, 0),
        (1.0, BOOL, True),
        (1.5, BOOL, False),
        (math.nan, BOOL, False),
        (0.5, FLOAT, 0.5),
        (0.5, DOUBLE, 0.5),
        (2.5, STRING, "2.5"),
        (100.0, STRING, "100.0"),
        (1e10, STRING, "1.0E10"),
        (1e-5, STRING, "1.0E-5"),
        (0.001, STRING, "0.001"),
        (9999999.0, STRING, "9999999.0"),
        (1e7, STRING, "1.0E7"),
        (-0.0, STRING, "-0.0"),
        (0.0, STRING, "0.0"),
        (math.nan, STRING, "NaN"),
        (math.inf, STRING, "Infinity"),
        (-math.inf, STRING, "-Infinity"),
    ],
)
def test_from_real(source: int, value: float, target: int, expected: Any) -> None:
    check(source, value, target, expected)


@pytest.mark.parametrize(
    ("source", "value", "target", "expected"),
    [
        (DOUBLE, 1e300, INT, INT_MAX),
        (DOUBLE, 2147483647.9, INT, INT_MAX),
        (DOUBLE, -2147483648.9, INT, INT_MIN),
        (DOUBLE, 1e300, FLOAT, math.inf),
        (DOUBLE, 0.1, FLOAT, 0.10000000149011612),
        (FLOAT, 0.1, DOUBLE, 0.10000000149011612),
        (FLOAT, 0.1, STRING, "0.1"),
        (FLOAT, 16777216.0, STRING, "1.6777216E7"),
        (FLOAT, 3.4028234663852886e38, STRING, "3.4028235E38"),
        (FLOAT, 2.0**-149, STRING, "1.4E-45"),
        (FLOAT, 2.0**-126, STRING, "1.1754944E-38"),
        (DOUBLE, 0.1, STRING, "0.1"),
        (DOUBLE, 0.10000000149011612, STRING, "0.10000000149011612"),
        (DOUBLE, 5e-324, STRING, "4.9E-324"),
        (DOUBLE, 1.7976931348623157e308, STRING, "1.7976931348623157E308"),
        (DOUBLE, 2e23, STRING, "2.0E23"),
        (DOUBLE, 9.99e-4, STRING, "9.99E-4"),
        (DOUBLE, -1234567.125, STRING, "-1234567.125"),
    ],
)
def test_from_real_where_the_width_matters(source: int, value: float, target: int, expected: Any) -> None:
    check(source, value, target, expected)


@pytest.mark.parametrize("exponent", range(-149, 128))
def test_text_of_a_power_of_two_reads_back_as_the_same_float(exponent: int) -> None:
    value = 2.0**exponent
    assert single(convert(STRING, convert(FLOAT, value, STRING), FLOAT)) == value


@pytest.mark.parametrize(
    ("target", "true", "false"),
    [(INT, 1, 0), (LONG, 1, 0), (FLOAT, 1.0, 0.0), (DOUBLE, 1.0, 0.0), (BOOL, True, False), (STRING, "true", "false")],
)
def test_from_bool(target: int, true: Any, false: Any) -> None:
    check(BOOL, True, target, true)
    check(BOOL, False, target, false)


@pytest.mark.parametrize("type_", [INT, LONG], ids=NAMES.get)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", 12),
        ("+12", 12),
        ("-12", -12),
        ("0000000000000000000000012", 12),
        ("\u0661\u0662", 12),
        ("", None),
        ("+", None),
        ("-", None),
        ("--1", None),
        (" 12", None),
        ("12 ", None),
        ("1.5", None),
        ("1e3", None),
        ("1_000", None),
        ("0x10", None),
        ("12L", None),
        ("abc", None),
        ("\U0001d7ce", None),
    ],
)
def test_from_text_to_an_integer(type_: int, text: str, expected: int | None) -> None:
    check(STRING, text, type_, expected)


@pytest.mark.parametrize(("type_", "low", "high"), [(INT, INT_MIN, INT_MAX), (LONG, LONG_MIN, LONG_MAX)])
def test_from_text_to_an_integer_at_the_ends_of_its_range(type_: int, low: int, high: int) -> None:
    check(STRING, str(low), type_, low)
    check(STRING, str(high), type_, high)
    check(STRING, f"+{high}", type_, high)
    check(STRING, str(low - 1), type_, None)
    check(STRING, str(high + 1), type_, None)
    check(STRING, f"{high}0", type_, None)


@pytest.mark.parametrize("type_", [FLOAT, DOUBLE], ids=NAMES.get)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1.5e2", -150.0),
        ("+1E+2", 100.0),
        ("1e-2d", 0.01),
        ("1f", 1.0),
        ("1F", 1.0),
        ("1.5D", 1.5),
        (" \t1.5\n", 1.5),
        ("NaN", math.nan),
        ("-NaN", math.nan),
        ("Infinity", math.inf),
        ("+Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("-0", -0.0),
        ("1e99999999999", math.inf),
        ("-1e99999999999", -math.inf),
        ("1e-99999999999", 0.0),
        ("0e99999999999", 0.0),
        ("0x1p3", 8.0),
        ("0X1.8P-1f", 0.75),
        ("-0x.8p0", -0.5),
        ("0x1.p1", 2.0),
        ("0x1p99999", math.inf),
        ("-0x1p99999", -math.inf),
        ("", None),
        (" ", None),
        (".", None),
        ("e5", None),
        ("1e", None),
        ("1e+", None),
        ("1ff", None),
        ("1 f", None),
        ("1L", None),
        ("1_0", None),
        ("nan", None),
        ("inf", None),
        ("infinity", None),
        ("NaNf", None),
        ("Infinityd", None),
        ("0x1", None),
        ("0xp1", None),
        ("0x.p1", None),
        ("0x1p", None),
        ("1,5", None),
        ("\u0661", None),
        ("1\u00a0", None),
        ("abc", None),
    ],
)
def test_from_text_to_a_real(type_: int, text: str, expected: float | None) -> None:
    if type_ == FLOAT and expected == 0.01:
        expected = single(expected)
    check(STRING, text, type_, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.1", 0.10000000149011612),
        ("16777217", 16777216.0),
        ("1e39", math.inf),
        # Exactly between two floats, and a little off: rounding to double first would lose the little.
        ("1.000000059604644775390625", 1.0),
        ("1.00000005960464477539062500000000000001", 1.0000001192092896),
        ("1.00000017881393432617187499999999999999", 1.0000001192092896),
        ("1.000000178813934326171875", 1.000000238418579),
        ("0x1.000001p0", 1.0),
        ("0x1.00000100000000000001p0", 1.0000001192092896),
        # Between the greatest float and infinity.
        ("340282356779733661637539395458142568448", math.inf),
        ("340282356779733661637539395458142568447", 3.4028234663852886e38),
        ("-3.40282356779733661637539395458142568448e38", -math.inf),
        ("-3.40282356779733661637539395458142568447e38", -3.4028234663852886e38),
        # Between 0 and the least float.
        ("7.006492321624085e-46", 0.0),
        ("7.006492321624086e-46", 1.401298464324817e-45),
    ],
)
def test_a_text_is_rounded_to_float_once(text: str, expected: float) -> None:
    check(STRING, text, FLOAT, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True),
        ("TRUE", True),
        ("tRuE", True),
        ("false", False),
        ("yes", False),
        ("1", False),
        ("", False),
        ("true ", False),
        ("TRUF", False),
        ("4rue", False),
        ("\u0154rue", False),
    ],
)
def test_from_text_to_a_bool(text: str, expected: bool) -> None:
    check(STRING, text, BOOL, expected)


def test_a_text_is_unchanged() -> None:
    check(STRING, "  IBM\n", STRING, "  IBM\n")


@pytest.mark.parametrize("target", TYPES, ids=NAMES.get)
@pytest.mark.parametrize("source", [*TYPES, OBJECT], ids=NAMES.get)
def test_null_remains_null_but_becomes_false_as_a_bool(source: int, target: int) -> None:
    if source == OBJECT and target != STRING:
        return
    assert apply(lambda a: make_convert(a, target), (source, None)) is (False if target == BOOL else None)


class Odd:
    def __str__(self) -> str:
        return "an odd one"


CYCLE: list[Any] = [1]
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", "text"),
        (5, "5"),
        (1e10, "1.0E10"),
        (True, "true"),
        ([1, 2.5, "a", None, [True, []]], "[1, 2.5, a, null, [true, []]]"),
        ((("a", 1), ("b", None)), "[[a, 1], [b, null]]"),
        ({3, 1, 2}, "[1, 2, 3]"),
        ({"b", "a", None}, "[a, b, null]"),
        ({"k": 1, "l": [0.5]}, "{k=1, l=[0.5]}"),
        (CYCLE, "[1, [...]]"),
        (Odd(), "an odd one"),
        (ValueError("no good"), "message : no good\n cause :null"),
        (ValueError(), "message : null\n cause :null"),
        ([ValueError("no good")], "[ValueError: no good]"),
    ],
)
def test_text_of_an_object(value: Any, expected: str) -> None:
    assert apply(lambda a: make_convert(a, STRING), (OBJECT, value)) == expected


def test_text_of_an_exception_names_its_cause() -> None:
    def failed(suppress: bool) -> Exception:
        try:
            try:
                raise KeyError("k")
            except KeyError as cause:
                if suppress:
                    raise ValueError("outer") from None
                raise ValueError("outer") from cause
        except ValueError as error:
            return error

    assert apply(lambda a: make_convert(a, STRING), (OBJECT, failed(False))) == "message : outer\n cause :KeyError: 'k'"
    assert apply(lambda a: make_convert(a, STRING), (OBJECT, failed(True))) == "message : outer\n cause :null"


@pytest.mark.parametrize("target", [*NUMERIC, BOOL], ids=NAMES.get)
def test_an_object_converts_to_string_only(target: int) -> None:
    with pytest.raises(TypeError, match=f"can't make a {NAMES[target]} of a object"):
        apply(lambda a: make_convert(a, target), (OBJECT, 1))


@pytest.mark.parametrize("source", TYPES, ids=NAMES.get)
def test_nothing_converts_to_object(source: int) -> None:
    with pytest.raises(TypeError, match="can't make a object"):
        apply(lambda a: make_convert(a, OBJECT), (source, None))
