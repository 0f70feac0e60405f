"""Comparisons: one test per rule."""

from __future__ import annotations

import math
from typing import Any

import pytest

from siddhi._core.expression.compare import make_comparison
from siddhi._core.expression.function import make_function
from tests.kit.expressions import BOOL, DOUBLE, FLOAT, INT, LONG, NAMES, NUMERIC, STRING, apply

SYMBOLS = ["<", "<=", ">", ">=", "==", "!="]
KINDS = [(), (1,), (0,), (0, 1)]  # which operands are constants


def compare(symbol: str, type_: int, a: Any, b: Any, constants: tuple[int, ...] = ()) -> Any:
    constants = tuple(i for i in constants if (a, b)[i] is not None)
    return apply(lambda x, y: make_comparison(symbol, x, y), (type_, a), (type_, b), constants=constants)


@pytest.mark.parametrize("constants", KINDS)
@pytest.mark.parametrize("type_", NUMERIC, ids=NAMES.get)
@pytest.mark.parametrize(
    ("symbol", "below", "equal", "above"),
    [
        ("<", True, False, False),
        ("<=", True, True, False),
        (">", False, False, True),
        (">=", False, True, True),
        ("==", False, True, False),
        ("!=", True, False, True),
    ],
)
def test_numbers(symbol: str, below: bool, equal: bool, above: bool, type_: int, constants: tuple[int, ...]) -> None:
    assert compare(symbol, type_, -2, 3, constants) is below
    assert compare(symbol, type_, 3, 3, constants) is equal
    assert compare(symbol, type_, 3, -2, constants) is above


@pytest.mark.parametrize("symbol", SYMBOLS)
@pytest.mark.parametrize("type_", NUMERIC, ids=NAMES.get)
def test_numbers_that_are_computed(symbol: str, type_: int) -> None:
    def make(a: Any, b: Any) -> Any:
        return make_comparison(symbol, make_function("maximum", (a,), type_), b)

    for a, b in [(1, 2), (2, 2), (2, 1), (None, 1), (1, None), (None, None)]:
        assert apply(make, (type_, a), (type_, b)) is compare(symbol, type_, a, b)


@pytest.mark.parametrize("constants", KINDS)
@pytest.mark.parametrize("type_", [*NUMERIC, STRING, BOOL], ids=NAMES.get)
@pytest.mark.parametrize("symbol", SYMBOLS)
def test_null_is_unequal_to_everything_and_nothing_else(symbol: str, type_: int, constants: tuple[int, ...]) -> None:
    if type_ not in NUMERIC and symbol not in ("==", "!="):
        return
    value: Any = {STRING: "a", BOOL: False}.get(type_, 0)
    for a, b in [(None, value), (value, None), (None, None)]:
        assert compare(symbol, type_, a, b, constants) is (symbol == "!=")


@pytest.mark.parametrize("constants", KINDS)
def test_text_is_compared_exactly(constants: tuple[int, ...]) -> None:
    for a, b in [
        ("IBM", "IBM"),
        ("IBM", "ibm"),
        ("IBM", "IBM "),
        ("", ""),
        ("é", "e"),
        ("日本", "日本"),
        ("aé", "a日"),
    ]:
        assert compare("==", STRING, a, "".join(list(b)), constants) is (a == b)
        assert compare("!=", STRING, a, "".join(list(b)), constants) is (a != b)


def test_text_that_is_computed() -> None:
    def make(a: Any, b: Any) -> Any:
        return make_comparison("==", make_function("convert", (a,), STRING), make_function("convert", (b,), STRING))

    assert apply(make, (INT, 12), (LONG, 12)) is True
    assert apply(make, (INT, 12), (DOUBLE, 12.0)) is False
    assert apply(make, (INT, None), (LONG, None)) is False


@pytest.mark.parametrize("constants", KINDS)
def test_bools(constants: tuple[int, ...]) -> None:
    for a in (True, False):
        for b in (True, False):
            assert compare("==", BOOL, a, b, constants) is (a == b)
            assert compare("!=", BOOL, a, b, constants) is (a != b)


@pytest.mark.parametrize("constants", KINDS)
@pytest.mark.parametrize("type_", [FLOAT, DOUBLE], ids=NAMES.get)
@pytest.mark.parametrize("symbol", SYMBOLS)
def test_nan_follows_ieee(symbol: str, type_: int, constants: tuple[int, ...]) -> None:
    assert compare(symbol, type_, math.nan, 1.0, constants) is (symbol == "!=")
    assert compare(symbol, type_, 1.0, math.nan, constants) is (symbol == "!=")
    assert compare(symbol, type_, math.nan, math.nan, constants) is (symbol == "!=")
