from __future__ import annotations

from typing import Any

import pytest

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.expression.executor import make_variable
from siddhi._core.record.event import Layout, TypeCode
from siddhi.runtime.assembly.expressions import make_aggregator
from tests.kit.aggregators import CURRENT, EXPIRED, NUMBERS, WHOLE, Bench

VALUES = [None, 4, 2, None, None, 7]


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("code", NUMBERS)
def test_nulls_are_skipped_by_sum_and_avg(code: TypeCode, computed: bool) -> None:
    total = Bench("sum", code, computed=computed).slide(VALUES, 2)
    assert total == [None, 4, 6, 2, None, 7]
    assert {type(each) for each in total if each is not None} == {int if code in WHOLE else float}
    mean = Bench("avg", code, computed=computed).slide(VALUES, 2)
    assert mean == [None, 4.0, 3.0, 2.0, None, 7.0]
    assert {type(each) for each in mean if each is not None} == {float}


@pytest.mark.parametrize("code", NUMBERS)
def test_count_includes_nulls(code: TypeCode) -> None:
    assert Bench("count", code).slide(VALUES, 2) == [1, 2, 2, 2, 2, 2]
    assert Bench("count", code, computed=True).slide(VALUES, 2) == [1, 2, 2, 2, 2, 2]


def test_count_needs_no_argument_and_is_0_when_empty() -> None:
    layout = Layout([], [])
    count: Aggregator = make_aggregator("count", (), TypeCode.LONG)
    count.open(0)
    assert [count.step(layout, (), kind) for kind in (CURRENT, CURRENT, EXPIRED, EXPIRED)] == [1, 2, 1, 0]


def test_an_aggregate_in_the_argument_of_count_receives_the_event() -> None:
    layout = Layout(["v"], [TypeCode.INT])
    inner: Aggregator = make_aggregator("sum", (make_variable(layout, 0),), TypeCode.LONG)
    outer: Aggregator = make_aggregator("count", (inner,), TypeCode.LONG)
    inner.open(0)
    outer.open(0)
    assert outer.step(layout, (5,), CURRENT) == 1
    assert inner.step(layout, (None,), CURRENT) == 5


def test_sums_of_integers_are_long_and_wrap() -> None:
    assert Bench("sum", TypeCode.INT).slide([2**31 - 1, 2**31 - 1], 2) == [2**31 - 1, 2**32 - 2]
    bench = Bench("sum", TypeCode.LONG)
    assert bench.slide([2**63 - 1, 1], 2) == [2**63 - 1, -(2**63)]
    assert bench.remove(1) == 2**63 - 1


def test_avg_adds_up_in_double() -> None:
    assert Bench("avg", TypeCode.LONG).slide([2**63 - 1, 2**63 - 1], 2)[1] == float(2**63)
    assert Bench("avg", TypeCode.INT).slide([1, 2], 2) == [1.0, 1.5]


def test_floats_are_widened_before_the_addition() -> None:
    assert Bench("sum", TypeCode.FLOAT).add(1.1) == 1.100000023841858
    assert Bench("avg", TypeCode.FLOAT).add(1.1) == 1.100000023841858


@pytest.mark.parametrize("name", ["sum", "avg"])
def test_a_rounding_error_remains_until_a_reset(name: str) -> None:
    bench = Bench(name, TypeCode.DOUBLE)
    residue = 0.1 + 0.2 - 0.1 - 0.2
    assert residue != 0
    bench.add(0.1)
    bench.add(0.2)
    bench.remove(0.1)
    assert bench.remove(0.2) is None
    assert bench.aggregator.empty()
    assert bench.add(1e-17) == residue + 1e-17
    bench.aggregator.clear()
    assert bench.add(1e-17) == 1e-17


@pytest.mark.parametrize("name", ["sum", "avg", "count"])
def test_groups_have_separate_state(name: str) -> None:
    bench = Bench(name, TypeCode.INT)
    expected: dict[int, Any] = {}
    for slot in (7, 3, 1000):
        bench.aggregator.open(slot)
        bench.add(slot, slot)
    for slot in (7, 3, 1000):
        expected[slot] = bench.add(None, slot)
    assert expected == {slot: {"sum": slot, "avg": float(slot), "count": 2}[name] for slot in (7, 3, 1000)}
    assert bench.aggregator.empty(0)


@pytest.mark.parametrize("name", ["sum", "avg", "count"])
def test_a_reused_group_is_empty(name: str) -> None:
    bench = Bench(name, TypeCode.INT)
    bench.add(5)
    assert not bench.aggregator.empty()
    bench.aggregator.open(0)
    assert bench.aggregator.empty()
    bench.add(5)
    bench.aggregator.close()
    bench.aggregator.open(0)
    assert bench.add(5) == {"sum": 5, "avg": 5.0, "count": 1}[name]


def test_a_group_that_was_never_opened_is_refused() -> None:
    with pytest.raises(IndexError, match="slot 9 has not been opened"):
        Bench("sum", TypeCode.INT).add(1, 9)


def test_wrong_types_are_refused() -> None:
    text = (make_variable(Layout(["v"], [TypeCode.STRING]), 0),)
    number = (make_variable(Layout(["v"], [TypeCode.INT]), 0),)
    with pytest.raises(TypeError, match="sum takes a number"):
        make_aggregator("sum", text, TypeCode.LONG)
    with pytest.raises(TypeError, match=r"sum\(int var\) has type 2, not 4"):
        make_aggregator("sum", number, TypeCode.DOUBLE)
    with pytest.raises(ValueError, match="unknown built-in aggregator 'median'"):
        make_aggregator("median", number, TypeCode.DOUBLE)
