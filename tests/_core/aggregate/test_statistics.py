from __future__ import annotations

import math
import statistics

import pytest

from siddhi._core.expression.executor import make_variable
from siddhi._core.record.event import Layout, TypeCode
from siddhi.runtime.assembly.expressions import make_aggregator
from tests.kit.aggregators import NUMBERS, Bench


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("code", NUMBERS)
def test_deviation_over_a_sliding_window(code: TypeCode, computed: bool) -> None:
    results = Bench("stdDev", code, computed=computed).slide([None, 4, 2, None, None, 7], 2)
    assert results == [None, 0.0, 1.0, 0.0, None, 0.0]


def test_deviation_is_of_the_population() -> None:
    values = [3.5, -2.25, 7.0, 7.0, 0.5]
    assert Bench("stdDev", TypeCode.DOUBLE).slide(values, 5)[-1] == pytest.approx(statistics.pstdev(values))


def test_the_deviation_of_one_value_is_zero() -> None:
    bench = Bench("stdDev", TypeCode.DOUBLE)
    for value in (0.1, 0.2, 1e9, 0.3):
        bench.add(value)
    for value in (0.1, 0.2, 1e9):
        last = bench.remove(value)
    assert last == 0.0


def test_rounding_never_makes_the_deviation_nan() -> None:
    bench = Bench("stdDev", TypeCode.DOUBLE)
    results = bench.slide([0.1, 0.1, 0.1, 1e-9, 0.1, 0.1, 0.1, 0.1], 3)
    assert not any(math.isnan(each) for each in results)


def test_nan_and_infinity_are_kept() -> None:
    assert math.isnan(Bench("stdDev", TypeCode.DOUBLE).slide([1.0, math.nan], 2)[1])
    assert math.isnan(Bench("stdDev", TypeCode.DOUBLE).slide([1.0, math.inf], 2)[1])


def test_deviation_is_reset_with_the_last_value() -> None:
    bench = Bench("stdDev", TypeCode.DOUBLE)
    bench.add(1e300)
    assert bench.remove(1e300) is None
    assert bench.aggregator.empty()
    assert bench.slide([1.0, 3.0], 2) == [0.0, 1.0]


def test_and_is_true_for_only_true_values() -> None:
    bench = Bench("and", TypeCode.BOOL)
    assert bench.slide([True, True, False, True, True], 2) == [True, True, False, False, True]
    bench.remove(True)
    assert bench.remove(True) is False
    assert bench.aggregator.empty()


def test_or_is_true_if_a_value_is_true() -> None:
    bench = Bench("or", TypeCode.BOOL)
    assert bench.slide([False, True, False, False], 2) == [False, True, True, False]
    bench.remove(False)
    assert bench.remove(False) is False
    assert bench.aggregator.empty()


@pytest.mark.parametrize("name", ["and", "or"])
def test_null_is_an_error_and_changes_nothing(name: str) -> None:
    bench = Bench(name, TypeCode.BOOL)
    bench.add(True)
    before = bench.aggregator.save()
    with pytest.raises(ValueError, match="can't take null"):
        bench.add(None)
    with pytest.raises(ValueError, match="can't take null"):
        bench.remove(None)
    assert bench.aggregator.save() == before
    assert bench.add(True) is True


@pytest.mark.parametrize(("name", "code"), [("stdDev", TypeCode.DOUBLE), ("and", TypeCode.BOOL), ("or", TypeCode.BOOL)])
def test_states_are_restored_from_a_snapshot(name: str, code: TypeCode) -> None:
    values = [0.1, 0.7, 0.3] if code == TypeCode.DOUBLE else [True, False, True]
    bench, copy = Bench(name, code), Bench(name, code)
    bench.slide(values, 5)
    copy.aggregator.load(bench.aggregator.save())
    assert [copy.remove(value) for value in values] == [bench.remove(value) for value in values]


def test_wrong_types_are_refused() -> None:
    text = (make_variable(Layout(["v"], [TypeCode.STRING]), 0),)
    with pytest.raises(TypeError, match="stdDev takes a number"):
        make_aggregator("stdDev", text, TypeCode.DOUBLE)
    with pytest.raises(TypeError, match="and takes a bool"):
        make_aggregator("and", text, TypeCode.BOOL)
