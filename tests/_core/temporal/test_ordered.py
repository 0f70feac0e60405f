"""Ordered rows: in order whatever came and left, equal rows are told apart, blocks are split and merged."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi._core.record.event import Layout, TypeCode
from siddhi._core.temporal.ordered import OrderedRows

INF, NAN = float("inf"), float("nan")
VALUES: dict[TypeCode, list[Any]] = {
    TypeCode.INT: [None, -(2**31), -1, 0, 2**31 - 1],
    TypeCode.LONG: [None, -(2**63), -(2**63) + 1, -1, 0, 2**63 - 1],
    TypeCode.FLOAT: [None, -INF, -1.5, 0.0, 1.5, INF, NAN],
    TypeCode.DOUBLE: [None, -INF, -1.5, 0.0, 5e-324, INF, NAN],
    TypeCode.BOOL: [None, False, True],
    TypeCode.STRING: [None, "", "\0", "a", "a\0", "abc", "abcd", "abd", "é", "€", "𝄞"],
}


def rows_of(code: TypeCode, *, descending: bool) -> OrderedRows:
    return OrderedRows(Layout(["x"], [code]), ((0, descending),))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("code", VALUES)
def test_null_ranks_below_every_value_and_nan_above(code: TypeCode, descending: bool) -> None:
    rows = rows_of(code, descending=descending)
    shuffled = VALUES[code] * 3
    random.Random(7).shuffle(shuffled)
    for value in shuffled:
        rows.add((value,))
    ascending = [value for value in VALUES[code] for _ in range(3)]
    found = [row[0] for row in rows.rows_in_order()]
    assert repr(found) == repr(ascending[::-1] if descending else ascending)


def test_zeros_of_both_signs_are_equal() -> None:
    rows = OrderedRows(Layout(["x", "y"], [TypeCode.DOUBLE, TypeCode.INT]), ((0, False), (1, False)))
    for row in ((0.0, 2), (-0.0, 1), (0.0, 0)):
        rows.add(row)
    assert [row[1] for row in rows.rows_in_order()] == [0, 1, 2]


def test_any_of_many_equal_rows_is_found_and_removed() -> None:
    rows = rows_of(TypeCode.INT, descending=True)
    handles = [rows.add((5,)) for _ in range(1000)]
    random.Random(1).shuffle(handles)
    assert all(rows.remove(handle) for handle in handles)
    assert rows.rows_in_order() == []
    assert rows.blocks == []


@pytest.mark.parametrize("numbers", [range(5000), range(5000, 0, -1), random.Random(3).sample(range(10**6), 5000)])
def test_blocks_stay_small_and_are_not_left_almost_empty(numbers: list[int]) -> None:
    rows = rows_of(TypeCode.LONG, descending=False)
    handles = [rows.add((number,)) for number in numbers]
    assert max(rows.blocks) <= 128
    assert len(rows.blocks) <= 2 * 5000 // 128 + 2
    for handle in handles[::2] + handles[1::4]:
        assert rows.remove(handle)
    assert len(rows.blocks) <= 1250 // 32 + 2
    assert rows.rows_in_order() == sorted(rows.rows_in_order())


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6), st.sampled_from("abc")), max_size=300))
def test_order_by_several_attributes_equals_sorting(steps: list[tuple[bool, int, str]]) -> None:
    rows = OrderedRows(Layout(["n", "s"], [TypeCode.INT, TypeCode.STRING]), ((1, True), (0, False)))
    known: list[tuple[int, tuple[int, str]]] = []
    for is_removal, number, text in steps:
        if is_removal and known:
            handle, _ = known.pop(number % len(known))
            assert rows.remove(handle)
        else:
            known.append((rows.add((number, text)), (number, text)))
    want = sorted((row for _, row in known), key=lambda row: (-ord(row[1]), row[0]))
    assert rows.rows_in_order() == want
