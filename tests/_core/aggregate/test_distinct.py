from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import pytest

from siddhi._core.expression.executor import make_variable
from siddhi._core.record.event import Layout, TypeCode
from siddhi.runtime.assembly.expressions import make_aggregator
from tests.kit.aggregators import Bench

VALUES: dict[TypeCode, tuple[Any, Any, Any]] = {
    TypeCode.STRING: ("a", "b", "c"),
    TypeCode.INT: (4, 2, 7),
    TypeCode.LONG: (4, 2, 7),
    TypeCode.FLOAT: (4.0, 2.0, 7.0),
    TypeCode.DOUBLE: (4.0, 2.0, 7.0),
    TypeCode.OBJECT: ((4,), 2, "x"),
}


@pytest.mark.parametrize("code", VALUES)
def test_null_is_a_distinct_value(code: TypeCode) -> None:
    a, b, c = VALUES[code]
    assert Bench("distinctCount", code).slide([None, a, b, None, None, c], 2) == [1, 2, 2, 2, 1, 2]


def test_bools_are_counted() -> None:
    assert Bench("distinctCount", TypeCode.BOOL).slide([True, True, False, None, True, True, True], 3) == [
        1, 1, 2, 3, 3, 2, 1,
    ]  # fmt: skip


def test_a_value_is_counted_until_its_last_occurrence_is_removed() -> None:
    bench = Bench("distinctCount", TypeCode.STRING)
    assert [bench.add(value) for value in "abab"] == [1, 2, 2, 2]
    assert [bench.remove(value) for value in "abab"] == [2, 2, 1, 0]
    assert bench.aggregator.empty()
    assert bench.remove("a") == 0


def test_many_values() -> None:
    bench = Bench("distinctCount", TypeCode.LONG)
    assert bench.slide((i % 700 for i in range(5000)), 1000)[-1] == 700
    assert bench.slide(range(10_000, 12_000), 300)[-1] == 1000


@pytest.mark.parametrize("name", ["distinctCount", "unionSet"])
def test_a_reset_clears_the_state_and_a_reused_group_is_empty(name: str) -> None:
    bench = Bench(name, TypeCode.OBJECT)
    one, size = (frozenset({1}), lambda result: result) if name == "distinctCount" else ({1}, len)
    other = frozenset({2})
    bench.add(one)
    bench.aggregator.clear()
    assert bench.aggregator.empty()
    assert size(bench.add(other)) == 1
    bench.aggregator.open(0)
    assert bench.aggregator.empty()
    assert size(bench.add(other)) == 1
    bench.aggregator.close()
    assert bench.aggregator.empty()


def test_groups_have_separate_state() -> None:
    bench = Bench("distinctCount", TypeCode.STRING)
    for slot in range(50):
        bench.aggregator.open(slot)
        for value in range(slot):
            bench.add(str(value), slot)
    assert [bench.add("0", slot) for slot in range(50)] == [1, *range(1, 50)]


def test_values_are_released_with_the_aggregator() -> None:
    value, member = ("value",), ("member",)
    before = sys.getrefcount(value), sys.getrefcount(member)
    distinct, union = Bench("distinctCount", TypeCode.OBJECT), Bench("unionSet", TypeCode.OBJECT)
    distinct.add(value)
    union.add({member})
    assert (sys.getrefcount(value), sys.getrefcount(member)) > before
    del distinct, union
    gc.collect()
    assert (sys.getrefcount(value), sys.getrefcount(member)) == before


def test_unhashable_values_are_distinguished_by_content() -> None:
    assert Bench("distinctCount", TypeCode.OBJECT).slide([[1], (1,), [1], [2], 1, 1], 3) == [1, 2, 2, 3, 3, 2]


def test_a_union_removes_an_element_with_its_last_occurrence() -> None:
    assert Bench("unionSet", TypeCode.OBJECT).slide([{1}, {2}, {1}, {2}, {3}], 1) == [{1}, {2}, {1}, {2}, {3}]
    assert Bench("unionSet", TypeCode.OBJECT).slide([{1}, {1}, {2}, {3}], 2) == [{1}, {1}, {1, 2}, {2, 3}]


def test_each_union_is_a_separate_set() -> None:
    bench = Bench("unionSet", TypeCode.OBJECT)
    first = bench.add({1})
    second = bench.add(frozenset({2}))
    assert (first, second) == ({1}, {1, 2})
    second.add(3)
    assert bench.add(set()) == {1, 2}


def test_an_unreferenced_union_is_reused_for_the_next_result() -> None:
    # A set for each event would take as long as there are elements: quadratic.
    bench = Bench("unionSet", TypeCode.OBJECT)
    first = weakref.ref(bench.add({1}))
    assert first() == {1}
    assert bench.add({2}) is first()
    assert bench.remove({1}) is first()
    kept = bench.add({3})
    assert bench.add({4}) == {2, 3, 4}
    assert kept == {2, 3}


def test_a_union_changed_by_its_receiver_is_created_again() -> None:
    bench = Bench("unionSet", TypeCode.OBJECT)
    bench.add({1, 2}).clear()
    assert bench.add({3}) == {1, 2, 3}


@pytest.mark.parametrize("value", [None, 5, [1]])
def test_a_union_takes_sets_only(value: Any) -> None:
    bench = Bench("unionSet", TypeCode.OBJECT)
    bench.add({1})
    with pytest.raises(TypeError, match=r"unionSet\(\.\.\.\) takes a set"):
        bench.add(value)
    assert bench.add(set()) == {1}


@pytest.mark.parametrize("code", VALUES)
def test_distinct_values_come_back_from_a_snapshot(code: TypeCode) -> None:
    a, b, c = VALUES[code]
    bench, copy = Bench("distinctCount", code), Bench("distinctCount", code)
    for value in (a, b, c, None, c, a):
        bench.add(value)
    bench.remove(b)
    copy.add(b)
    copy.aggregator.load(bench.aggregator.save())
    assert [copy.remove(value) for value in (a, a, c, None, c)] == [3, 2, 2, 1, 0]


def test_an_empty_state_comes_back_empty() -> None:
    for name in ("distinctCount", "unionSet"):
        bench, copy = Bench(name, TypeCode.OBJECT), Bench(name, TypeCode.OBJECT)
        copy.add(frozenset({1}))
        copy.aggregator.load(bench.aggregator.save())
        assert copy.aggregator.empty()


def test_unions_come_back_from_a_snapshot() -> None:
    bench, copy = Bench("unionSet", TypeCode.OBJECT), Bench("unionSet", TypeCode.OBJECT)
    bench.add({1, "x"})
    bench.add({1})
    copy.aggregator.load(bench.aggregator.save())
    assert copy.remove({1}) == {1, "x"}
    assert copy.remove({1, "x"}) == set()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("distinctCount", b"\x01\x01\x00\x00\x00\x06"),
        ("distinctCount", b"\x02"),
        ("unionSet", b"\x00"),
        ("unionSet", b"\x0a\x02\x00\x00\x00\x02\x02"),
    ],
)
def test_damaged_states_are_refused(name: str, data: bytes) -> None:
    bench = Bench(name, TypeCode.OBJECT)
    with pytest.raises(ValueError, match="snapshot is damaged"):
        bench.aggregator.load(data)


def test_wrong_types_are_refused() -> None:
    with pytest.raises(TypeError, match="unionSet takes an object"):
        make_aggregator("unionSet", (make_variable(Layout(["v"], [TypeCode.STRING]), 0),), TypeCode.OBJECT)
