"""Arithmetic: one test per rule."""

from __future__ import annotations

import math
from typing import Any

import pytest

from siddhi._core.expression.arithmetic import make_arithmetic, make_widen
from tests.kit.expressions import (
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
    apply,
    single,
)

KINDS = [(), (1,), (0,), (0, 1)]  # which operands are constants


def compute(symbol: str, type_: int, a: Any, b: Any, constants: tuple[int, ...] = ()) -> Any:
    constants = tuple(i for i in constants if (a, b)[i] is not None)
    return apply(lambda x, y: make_arithmetic(symbol, x, y), (type_, a), (type_, b), constants=constants)


@pytest.mark.parametrize("constants", KINDS)
@pytest.mark.parametrize(
    ("symbol", "type_", "a", "b", "expected"),
    [
        ("+", INT, INT_MAX, 7, -2147483642),
        ("-", INT, INT_MIN, 1, INT_MAX),
        ("*", INT, INT_MAX, 2, -2),
        ("/", INT, INT_MIN, -1, INT_MIN),
        ("%", INT, INT_MIN, -1, 0),
        ("+", LONG, LONG_MAX, 1, LONG_MIN),
        ("-", LONG, LONG_MIN, 1, LONG_MAX),
        ("*", LONG, LONG_MAX, 2, -2),
        ("/", LONG, LONG_MIN, -1, LONG_MIN),
        ("%", LONG, LONG_MIN, -1, 0),
    ],
)
def test_integers_wrap_around(
    symbol: str, type_: int, a: int, b: int, expected: int, constants: tuple[int, ...]
) -> None:
    assert compute(symbol, type_, a, b, constants) == expected


@pytest.mark.parametrize("constants", KINDS)
@pytest.mark.parametrize("type_", [INT, LONG])
def test_division_truncates_toward_zero_and_the_remainder_follows_the_dividend(
    type_: int, constants: tuple[int, ...]
) -> None:
    assert compute("/", type_, -7, 2, constants) == -3
    assert compute("/", type_, 7, -2, constants) == -3
    assert compute("%", type_, -7, 3, constants) == -1
    assert compute("%", type_, 7, -3, constants) == 1


@pytest.mark.parametrize("constants", KINDS)
@pytest.mark.parametrize("type_", [FLOAT, DOUBLE])
def test_the_remainder_of_floating_point_numbers_follows_the_dividend(type_: int, constants: tuple[int, ...]) -> None:
    assert compute("%", type_, -7.5, 2.0, constants) == -1.5
    assert compute("%", type_, 7.5, -2.0, constants) == 1.5


@pytest.mark.parametrize("constants", KINDS)
@pytest.mark.parametrize("symbol", ["/", "%"])
@pytest.mark.parametrize("type_", NUMERIC, ids=NAMES.get)
def test_division_by_zero_is_null(symbol: str, type_: int, constants: tuple[int, ...]) -> None:
    assert compute(symbol, type_, 5, 0, constants) is None
    assert compute(symbol, type_, 0, 0, constants) is None


def test_division_by_negative_zero_is_null() -> None:
    assert compute("/", DOUBLE, 1.0, -0.0) is None
    assert compute("/", FLOAT, 1.0, -0.0) is None


@pytest.mark.parametrize("constants", KINDS)
@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "%"])
@pytest.mark.parametrize("type_", NUMERIC, ids=NAMES.get)
def test_arithmetic_with_null_is_null(symbol: str, type_: int, constants: tuple[int, ...]) -> None:
    assert compute(symbol, type_, None, 3, constants) is None
    assert compute(symbol, type_, 3, None, constants) is None
    assert compute(symbol, type_, None, None, constants) is None


def test_a_null_constant_makes_null() -> None:
    assert apply(lambda a, b: make_arithmetic("+", a, b), (INT, 1), (INT, None), constants=(1,)) is None


def test_overflow_of_floating_point_numbers_is_infinite() -> None:
    assert compute("*", DOUBLE, 1e308, 10.0) == math.inf
    assert compute("*", FLOAT, -3e38, 10.0) == -math.inf


def test_floats_compute_in_single_precision() -> None:
    assert compute("+", FLOAT, 16777216.0, 1.0) == 16777216.0
    assert compute("/", FLOAT, 1.0, 3.0) == 0.33333334


@pytest.mark.parametrize("constants", [(), (0,)])
@pytest.mark.parametrize(
    ("source", "value", "target", "expected"),
    [
        (INT, INT_MAX, LONG, INT_MAX),
        (INT, 16777217, FLOAT, 16777216.0),
        (INT, 16777217, DOUBLE, 16777217.0),
        (LONG, LONG_MAX, FLOAT, 2.0**63),
        (LONG, 2**53 + 1, DOUBLE, 2.0**53),
        # Through double it would be rounded twice, to 2^60.
        (LONG, 2**60 + 2**36 + 1, FLOAT, 2.0**60 + 2.0**37),
        (FLOAT, 0.1, DOUBLE, 0.10000000149011612),
    ],
)
def test_widening(source: int, value: Any, target: int, expected: Any, constants: tuple[int, ...]) -> None:
    widened = apply(lambda a: make_widen(a, target), (source, value), constants=constants)
    assert (single(widened) if target == FLOAT else widened) == expected
    assert type(widened) is type(expected)


@pytest.mark.parametrize(
    ("source", "target"), [(INT, LONG), (INT, FLOAT), (INT, DOUBLE), (LONG, FLOAT), (LONG, DOUBLE), (FLOAT, DOUBLE)]
)
def test_null_stays_null_when_widened(source: int, target: int) -> None:
    assert apply(lambda a: make_widen(a, target), (source, None)) is None
    assert apply(lambda a: make_widen(a, target), (source, None), constants=(0,)) is None


@pytest.mark.parametrize(
    ("source", "target"), [(INT, LONG), (INT, FLOAT), (INT, DOUBLE), (LONG, FLOAT), (LONG, DOUBLE), (FLOAT, DOUBLE)]
)
def test_computed_values_are_widened_too(source: int, target: int) -> None:
    def make(a: Any, b: Any) -> Any:
        return make_widen(make_arithmetic("+", a, b), target)

    assert apply(make, (source, 2), (source, 3)) == 5
    assert apply(make, (source, 2), (source, None)) is None


def test_both_operands_are_evaluated_even_if_the_first_is_null() -> None:
    from siddhi._core.expression.python import make_python_function

    seen: list[int] = []
    apply(
        lambda a, b: make_arithmetic("+", a, make_python_function(seen.append, (b,), INT, "see")), (INT, None), (INT, 7)
    )
    assert seen == [7]
