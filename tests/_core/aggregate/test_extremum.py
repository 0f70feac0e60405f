from __future__ import annotations

import math
import random

import pytest

from siddhi._core.expression.executor import make_variable
from siddhi._core.record.event import Layout, TypeCode
from siddhi.runtime.assembly.expressions import make_aggregator
from tests.kit.aggregators import NUMBERS, WHOLE, Bench

VALUES = [None, 4, 2, None, None, 7]


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("code", NUMBERS)
def test_values_over_a_sliding_window(code: TypeCode, computed: bool) -> None:
    def slide(name: str, removes: bool = True) -> list[float | None]:
        return Bench(name, code, computed=computed, removes=removes).slide(VALUES, 2)

    assert slide("min") == [None, 4, 2, 2, None, 7]
    assert slide("max") == [None, 4, 4, 2, None, 7]
    assert slide("minForever") == [None, 4, 2, 2, 2, 2]
    assert slide("maxForever") == [None, 4, 4, 4, 4, 7]
    assert {type(each) for each in slide("min") if each is not None} == {int if code in WHOLE else float}


@pytest.mark.parametrize("code", NUMBERS)
def test_without_removal_only_the_extremum_is_kept(code: TypeCode) -> None:
    bench = Bench("min", code, removes=False)
    assert [bench.add(value) for value in (5, 7, None, 3, 9)] == [5, 5, 5, 3, 3]
    bench.aggregator.clear()
    assert bench.aggregator.empty()
    assert [bench.add(value) for value in (None, 9)] == [None, 9]
    assert len(bench.aggregator.save()) <= 9


def test_without_removal_a_removal_of_the_extremum_clears_it() -> None:
    bench = Bench("max", TypeCode.INT, removes=False)
    bench.add(5)
    assert bench.remove(4) == 5
    assert bench.remove(5) is None
    assert bench.add(1) == 1


def test_equal_values_are_kept_separately() -> None:
    bench = Bench("min", TypeCode.INT)
    bench.add(2)
    bench.add(2)
    assert bench.remove(2) == 2
    assert bench.remove(2) is None


def test_a_dominated_value_is_removed_with_a_later_equal_one() -> None:
    # Siddhi's rule, as recorded: of 3, 1, 3 the oldest 3 has left the queue when it expires, so the other 3 goes.
    assert Bench("min", TypeCode.DOUBLE).slide([3, 1, 3, 7, 8], 3) == [3, 1, 1, 1, 7]


def test_removal_out_of_order_removes_the_first_equal_value() -> None:
    bench = Bench("max", TypeCode.INT)
    for value in (9, 7, 7, 5, 3):
        bench.add(value)
    assert bench.remove(7) == 9
    assert bench.remove(8) == 9  # not in the queue: nothing happens
    assert bench.remove(9) == 7
    assert bench.remove(7) == 5
    assert bench.remove(3) == 5
    assert bench.remove(5) is None


def test_forever_includes_expired_events_and_clears_at_a_reset() -> None:
    bench = Bench("minForever", TypeCode.INT)
    assert bench.remove(4) == 4
    assert bench.add(6) == 4
    assert bench.remove(3) == 3
    assert not bench.aggregator.empty()
    bench.aggregator.clear()
    assert bench.aggregator.empty()
    assert bench.add(6) == 6


@pytest.mark.parametrize("code", NUMBERS)
def test_the_limits_of_the_types_are_kept(code: TypeCode) -> None:
    if code in WHOLE:
        bits = 31 if code == TypeCode.INT else 63
        low, high = -(2**bits), 2**bits - 1
        assert Bench("min", code).slide([0, high, low], 3) == [0, 0, low]
        assert Bench("max", code).slide([0, low, high], 3) == [0, 0, high]
    else:
        assert Bench("min", code).slide([0, math.inf, -math.inf], 3) == [0, 0, -math.inf]
        assert Bench("max", code).slide([0, -math.inf, math.inf], 3) == [0, 0, math.inf]


@pytest.mark.parametrize("code", [TypeCode.FLOAT, TypeCode.DOUBLE])
def test_nan_is_greater_than_every_number(code: TypeCode) -> None:
    nan = math.nan
    assert repr(Bench("min", code).slide([nan, 5, nan, nan, nan], 2)) == repr([nan, 5.0, 5.0, nan, nan])
    assert repr(Bench("max", code).slide([5, nan, 7, 3], 2)) == repr([5.0, nan, nan, 7.0])


@pytest.mark.parametrize("code", [TypeCode.FLOAT, TypeCode.DOUBLE])
def test_the_two_zeros_are_equal_in_order_and_removed_by_sign(code: TypeCode) -> None:
    bench = Bench("min", code)
    bench.add(-0.0)
    bench.add(0.0)
    assert str(bench.remove(0.0)) == "-0.0"
    assert bench.remove(-0.0) is None


@pytest.mark.parametrize("code", NUMBERS)
@pytest.mark.parametrize("falling", [False, True])
def test_a_long_queue_grows_and_wraps_around(code: TypeCode, falling: bool) -> None:
    values = list(range(3000))
    if falling:
        values.reverse()
    name = "max" if falling else "min"
    results = Bench(name, code).slide(values, 500)
    assert results == [values[max(0, i - 499)] for i in range(3000)]


def test_a_reset_clears_a_long_queue() -> None:
    bench = Bench("min", TypeCode.INT)
    for value in range(5000):
        bench.add(value)
    bench.aggregator.clear()
    assert bench.aggregator.empty()
    assert bench.add(3) == 3
    assert bench.remove(3) is None


def test_groups_have_separate_state_that_survives_growth() -> None:
    bench = Bench("max", TypeCode.LONG)
    chance = random.Random(5)
    values: dict[int, list[int]] = {}
    for slot in range(200):
        bench.aggregator.open(slot)
        values[slot] = [chance.randrange(1000) for _ in range(20)]
        for value in values[slot]:
            bench.add(value, slot)
    bench.aggregator.close(7)
    bench.aggregator.open(7)
    assert bench.aggregator.empty(7)
    values[7] = []
    assert {slot: bench.add(None, slot) for slot in values} == {s: max(v, default=None) for s, v in values.items()}


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 100])
def test_a_queue_is_restored_from_a_snapshot(size: int) -> None:
    bench, copy = Bench("min", TypeCode.INT), Bench("min", TypeCode.INT)
    bench.slide(range(-20, 0), 5)
    for value in range(-5, 0):
        bench.remove(value)
    for value in range(size):
        bench.add(value)
    copy.add(-7)
    copy.aggregator.load(bench.aggregator.save())
    assert copy.aggregator.save() == bench.aggregator.save()
    for value in range(size):
        assert copy.remove(value) == bench.remove(value)
    assert copy.aggregator.empty()


@pytest.mark.parametrize("data", [b"", b"\x02\x00\x00\x00\x01\x00\x00\x00", b"\xff\xff\xff\xff"])
def test_a_damaged_queue_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="snapshot is damaged"):
        Bench("min", TypeCode.INT).aggregator.load(data)


def test_wrong_types_are_refused() -> None:
    text = (make_variable(Layout(["v"], [TypeCode.STRING]), 0),)
    with pytest.raises(TypeError, match="maxForever takes a number"):
        make_aggregator("maxForever", text, TypeCode.STRING)
