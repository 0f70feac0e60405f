from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.planner.bind.operators import widen
from siddhi.planner.plan.expressions import (
    And,
    Arithmetic,
    Call,
    Comparison,
    Const,
    IsNull,
    IsNullEvent,
    Not,
    Or,
    Widen,
)
from siddhi.types import AttributeType
from tests.kit.planning import query, refused, single, typed

INT, LONG, FLOAT, DOUBLE = (AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT, AttributeType.DOUBLE)
STRING, BOOL = AttributeType.STRING, AttributeType.BOOL
WIDER = {
    "ii": INT, "il": LONG, "if": FLOAT, "id": DOUBLE, "ll": LONG, "lf": FLOAT, "ld": DOUBLE, "ff": FLOAT, "fd": DOUBLE,
    "dd": DOUBLE,
}  # fmt: skip


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "%"])
@pytest.mark.parametrize("pair", WIDER)
def test_arithmetic_uses_the_wider_type(pair: str, operator: str) -> None:
    for left, right in (pair, pair[::-1]):
        found = typed(f"{left} {operator} {right}")
        assert isinstance(found, Arithmetic)
        assert found.type is found.left.type is found.right.type is WIDER[pair]


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("pair", WIDER)
def test_comparisons_of_numbers(pair: str, operator: str) -> None:
    """In the wider type; long with float in double for equality, in single precision for order."""
    expected = DOUBLE if pair == "lf" and operator in ("==", "!=") else WIDER[pair]
    for left, right in (pair, pair[::-1]):
        found = typed(f"{left} {operator} {right}")
        assert isinstance(found, Comparison)
        assert found.type is BOOL
        assert found.operand_type is found.left.type is found.right.type is expected


@pytest.mark.parametrize("operator", ["==", "!="])
@pytest.mark.parametrize(("name", "type_"), [("s", STRING), ("b", BOOL)])
def test_equality_of_texts_and_bools(operator: str, name: str, type_: AttributeType) -> None:
    found = typed(f"{name} {operator} {name}")
    assert isinstance(found, Comparison)
    assert found.operand_type is type_


@pytest.mark.parametrize(
    "expression",
    ["s < s", "b >= b", "s == i", "b == i", "b != d", "o == o", "o == s", "s == b", "s > i", "b < 1"],
)
def test_invalid_comparisons_are_refused(expression: str) -> None:
    error = refused(f"from S[{expression}] select i insert into O;")
    assert error.code == "E310"
    assert "cannot compare" in error.message


@pytest.mark.parametrize("expression", ["s + 1", "1 + s", "b * 2", "s + s", "b - b", "o * o", "o + s"])
def test_invalid_arithmetic_is_refused(expression: str) -> None:
    error = refused(f"from S select {expression} as x insert into O;")
    assert error.code == "E310"
    assert "requires numbers, not a" in error.message


def test_an_object_is_converted_to_the_type_of_the_other_operand() -> None:
    found = typed("o + 1.5")
    assert isinstance(found, Arithmetic)
    assert isinstance(found.left, Call)
    assert (found.left.function.name, found.left.type) == ("cast", DOUBLE)


def test_logic_takes_bools() -> None:
    assert isinstance(typed("b and i > 1"), And)
    assert isinstance(typed("b or not b"), Or)
    assert isinstance(typed("not (i > 1)"), Not)
    for expression in ("i and b", "b and s", "d or b", "b or o", "not i"):
        assert refused(f"from S select {expression} as x insert into O;").code == "E311"


def test_not_has_the_highest_precedence_and_the_hint_says_so() -> None:
    error = refused("from S[not i == 7] select i insert into O;")
    assert error.hint is not None
    assert "not (...)" in error.hint


def test_is_null_takes_a_value_or_an_event_of_a_source() -> None:
    assert isinstance(typed("i is null"), IsNull)
    assert isinstance(typed("S is null"), IsNullEvent)
    assert isinstance(typed("sizeOfSet(o) is null"), IsNull)


def test_constants_have_the_types_of_their_literals() -> None:
    assert typed("7") == Const(INT, 7)
    assert typed("7L") == Const(LONG, 7)
    assert typed("5 sec") == Const(LONG, 5000)
    assert typed("'x'") == Const(STRING, "x")
    assert typed("true") == Const(BOOL, True)
    assert typed("0.1") == Const(DOUBLE, 0.1)
    assert typed("0.1f") == Const(FLOAT, struct.unpack("<f", struct.pack("<f", 0.1))[0])


def test_widened_literals_are_literals() -> None:
    found = single(query("from S[d > 10] select i insert into O;")).before[0]
    assert found.condition.right == Const(DOUBLE, 10.0)  # type: ignore[union-attr]
    assert isinstance(typed("f + 9007199254740993L").right, Widen)  # type: ignore[attr-defined]


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_long_literal_is_widened_at_plan_time_only_if_exact(value: int) -> None:
    wider = widen(Const(LONG, value), DOUBLE)
    assert isinstance(wider, Widen) or wider == Const(DOUBLE, value)


@given(st.integers(-(2**31), 2**31 - 1))
def test_an_int_literal_is_widened_to_float_as_in_java(value: int) -> None:
    assert widen(Const(INT, value), FLOAT) == Const(FLOAT, struct.unpack("<f", struct.pack("<f", value))[0])
