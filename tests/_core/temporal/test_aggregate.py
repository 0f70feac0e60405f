"""Aggregators of temporal windows: rows leave in any order, and nothing of them stays."""

from __future__ import annotations

import math
import random
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.expression.executor import make_variable
from siddhi._core.record.event import Layout, TypeCode
from siddhi._core.temporal.aggregate import make_deviation, make_extremum, make_real_sum
from tests.kit.aggregators import CURRENT, EXPIRED

INF, NAN = math.inf, math.nan


class Bag:
    """An aggregator of one value, and the values it holds."""

    def __init__(self, native: str, code: TypeCode = TypeCode.DOUBLE) -> None:
        self.layout = Layout(["x"], [code])
        variable = make_variable(self.layout, 0)
        make = make_extremum if native in ("min", "max") else make_real_sum
        self.aggregator: Aggregator = make_deviation(variable) if native == "stdDev" else make(native, variable)
        self.aggregator.open(0)

    def add(self, value: Any) -> Any:
        return self.aggregator.step(self.layout, (value,), CURRENT)

    def remove(self, value: Any) -> Any:
        return self.aggregator.step(self.layout, (value,), EXPIRED)


def test_what_large_values_leave_behind_is_nothing() -> None:
    bag = Bag("sum")
    bag.add(0.1)
    bag.add(1e17)
    bag.add(0.2)
    assert bag.remove(1e17) == pytest.approx(0.3, rel=1e-15)


def test_deviation_of_large_values_leaves_no_trace() -> None:
    bag, random_ = Bag("stdDev"), random.Random(7)
    held = [random_.choice((1e-3, 1.0, 1e9)) * random_.random() for _ in range(40)]
    for value in held:
        bag.add(value)
    for _ in range(5_000):
        held.append(random_.choice((1e-3, 1.0, 1e9)) * random_.random())
        bag.add(held[-1])
        bag.remove(held.pop(random_.randrange(len(held))))
    while len(held) > 20:
        bag.remove(held.pop(held.index(max(held))))
    assert bag.add(0.5) == pytest.approx(statistics.pstdev([*held, 0.5]), rel=1e-9)


def test_deviation_of_equal_values_is_zero() -> None:
    bag = Bag("stdDev")
    assert [bag.add(0.1) for _ in range(7)] == [0.0] * 7
    assert math.isnan(bag.add(INF))
    assert bag.remove(INF) == 0.0


def test_deviation_of_times_keeps_milliseconds() -> None:
    bag = Bag("stdDev", TypeCode.LONG)
    for value in (1_790_000_000_000, 1_790_000_000_002):
        deviation = bag.add(value)
    assert deviation == pytest.approx(1.0, rel=1e-9)


def test_sum_does_not_drift_over_many_changes() -> None:
    bag, random_ = Bag("sum"), random.Random(5)
    held = [random_.uniform(-1e9, 1e9) for _ in range(50)]
    for value in held:
        bag.add(value)
    total = None
    for _ in range(20_000):
        held.append(random_.choice((1e-6, 1.0, 1e9)) * random_.random())
        bag.add(held[-1])
        total = bag.remove(held.pop(random_.randrange(len(held))))
    assert total == pytest.approx(math.fsum(held), rel=1e-15)


@pytest.mark.parametrize("native", ["sum", "avg"])
def test_infinities_and_nan_leave_no_trace(native: str) -> None:
    bag = Bag(native)
    bag.add(2.0)
    assert bag.add(INF) == INF
    assert math.isnan(bag.add(-INF))
    assert bag.remove(INF) == -INF
    assert math.isnan(bag.add(NAN))
    bag.remove(-INF)
    assert bag.remove(NAN) == 2.0
    assert bag.remove(2.0) is None


def test_avg_of_longs_keeps_their_low_bits() -> None:
    bag = Bag("avg", TypeCode.LONG)
    for value in (2**62 + 1, -(2**62), 2**63 - 1, -(2**63) + 1):
        mean = bag.add(value)
    assert mean == 0.25


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 50)), max_size=400), st.sampled_from(["min", "max"]))
def test_extremum_of_a_multiset_equals_its_definition(steps: list[tuple[bool, int]], native: str) -> None:
    bag = Bag(native, TypeCode.INT)
    held: list[int] = []
    for is_removal, number in steps:
        if is_removal and held:
            found = bag.remove(held.pop(number % len(held)))
        else:
            held.append(number)
            found = bag.add(number)
        assert found == ((min if native == "min" else max)(held) if held else None)


def test_one_value_that_stays_does_not_keep_all_that_come_after_it() -> None:
    layout = Layout(["x"], [TypeCode.INT])
    lowest = make_extremum("min", make_variable(layout, 0))
    lowest.open(0)
    lowest.step(layout, (-1,), CURRENT)
    for number in range(20_000):
        lowest.step(layout, (number,), CURRENT)
        assert lowest.step(layout, (number,), EXPIRED) == -1
    assert lowest.held() < 200
