from __future__ import annotations

import gc
import math
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from siddhi._core.index.hash_index import KeyMap
from siddhi._core.record.event import TypeCode
from tests.kit.snapshots import damage_may_be_found

# Few values per type, so that keys come again; of each kind of equality one that a comparison of bits would miss.
CELLS: dict[TypeCode, st.SearchStrategy[Any]] = {
    TypeCode.STRING: st.sampled_from(["", "a", "b", "é", "東", "\ud800", "null", "a" * 40]).map(
        lambda s: (s + "!")[:-1]
    ),
    TypeCode.INT: st.integers(-3, 3) | st.sampled_from([-(2**31), 2**31 - 1]),
    TypeCode.LONG: st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1, 2**32, -(2**32)]),
    TypeCode.FLOAT: st.sampled_from([0.0, -0.0, 1.5, math.inf, math.nan, -math.nan]),
    TypeCode.DOUBLE: st.sampled_from([0.0, -0.0, 1.5, 1e300, -math.inf, math.nan, -math.nan]),
    TypeCode.BOOL: st.booleans(),
    TypeCode.OBJECT: st.sampled_from([0, 1, 1.0, "1", (1, 2), frozenset({1}), b"x", True]),
}


def comparable(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The key as Python's dict would have to see it: NaN is itself."""
    return tuple("NaN" if isinstance(cell, float) and math.isnan(cell) else cell for cell in key)


class KeyMapMachine(RuleBasedStateMachine):
    """A map against a dict and a stack of free slots."""

    @initialize(types=st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4))
    def start(self, types: list[TypeCode]) -> None:
        self.types = types
        self.map = KeyMap(types)
        self.slots: dict[tuple[Any, ...], int] = {}
        self.free: list[int] = []
        self.used = 0

    def key(self, data: st.DataObject) -> tuple[Any, ...]:
        return data.draw(st.tuples(*(CELLS[each] | st.none() for each in self.types)))

    @rule(data=st.data())
    def add(self, data: st.DataObject) -> None:
        key = self.key(data)
        known = self.slots.get(comparable(key))
        if known is None:
            if self.free:
                slot = self.free.pop()
            else:
                slot, self.used = self.used, self.used + 1
            self.slots[comparable(key)] = slot
        assert self.map.add(key) == ((slot, True) if known is None else (known, False))

    @rule(data=st.data())
    def look_up(self, data: st.DataObject) -> None:
        key = self.key(data)
        assert self.map.id_of(key) == self.slots.get(comparable(key))

    @precondition(lambda self: self.slots)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(list(self.slots)))
        slot = self.slots.pop(key)
        self.map.discard(slot)
        self.free.append(slot)
        if not self.slots:
            self.free, self.used = [], 0
        with pytest.raises(KeyError):
            self.map.discard(slot)

    @rule()
    def clear(self) -> None:
        self.map.empty()
        self.slots, self.free, self.used = {}, [], 0

    @rule()
    def save_and_load(self) -> None:
        data = self.map.save()
        self.map = KeyMap(self.types)
        self.map.load(data)
        assert self.map.save() == data

    @invariant()
    def same_keys(self) -> None:
        if hasattr(self, "map"):
            assert len(self.map) == len(self.slots)
            assert {comparable(key): slot for slot, key in self.map.items().items()} == self.slots


TestKeyMapMachine = KeyMapMachine.TestCase


@pytest.mark.parametrize("code", [TypeCode.STRING, TypeCode.INT, TypeCode.LONG, TypeCode.DOUBLE, TypeCode.OBJECT])
def test_many_keys_are_added_and_removed(code: TypeCode) -> None:
    make = {TypeCode.STRING: str, TypeCode.DOUBLE: float, TypeCode.OBJECT: lambda i: (i,)}.get(code, int)
    keys = KeyMap([code])
    assert [keys.add((make(i),)) for i in range(20_000)] == [(i, True) for i in range(20_000)]
    for i in range(0, 20_000, 3):
        keys.discard(i)
    assert all(keys.id_of((make(i),)) == (None if i % 3 == 0 else i) for i in range(20_000))
    reused = {keys.add((make(i),))[0] for i in range(20_000, 20_000 + len(range(0, 20_000, 3)))}
    assert reused == set(range(0, 20_000, 3))
    assert len(keys) == 20_000


def test_removed_keys_are_not_saved() -> None:
    keys = KeyMap([TypeCode.STRING, TypeCode.OBJECT])
    empty = keys.save()
    for i in range(2_000):
        keys.add((f"key {i}", (i,)))
    for i in range(2_000):
        keys.discard(i)
    assert keys.save() == empty
    assert keys.add(("again", 1)) == (0, True)


def test_null_differs_from_the_string_null_and_from_zero() -> None:
    keys = KeyMap([TypeCode.STRING, TypeCode.LONG])
    assert len({keys.add(key)[0] for key in [("null", 0), (None, 0), ("null", None), (None, None), ("", 0)]}) == 5
    assert keys.items()[1] == (None, 0)


def test_a_string_is_found_by_content_also_if_of_a_subclass() -> None:
    class Name(str):
        __slots__ = ()

        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            return False

    keys = KeyMap([TypeCode.STRING])
    assert keys.add((Name("IBM"),)) == (0, True)
    assert keys.add(("IBM",)) == (0, False)
    assert keys.id_of((Name("IBM"),)) == 0
    assert type(keys.items()[0][0]) is str


def test_keys_retain_and_release_their_objects() -> None:
    one, other = ("a",), ("b",)
    before = sys.getrefcount(one), sys.getrefcount(other)
    keys = KeyMap([TypeCode.OBJECT])
    keys.add((one,))
    keys.add((one,))
    keys.add((other,))
    assert sys.getrefcount(one) == before[0] + 1
    keys.discard(0)
    assert sys.getrefcount(one) == before[0]
    keys.empty()
    assert sys.getrefcount(other) == before[1]
    keys.add((one,))
    del keys
    gc.collect()
    assert sys.getrefcount(one) == before[0]


def test_strings_are_released() -> None:
    text = str(bytes([115, 111]), "ascii")
    before = sys.getrefcount(text)
    keys = KeyMap([TypeCode.STRING, TypeCode.STRING])
    keys.add((text, text))
    assert sys.getrefcount(text) == before + 2
    keys.empty()
    assert sys.getrefcount(text) == before
    keys.add((text, None))
    keys.discard(0)
    assert sys.getrefcount(text) == before


class Awkward:
    """Hashes to one place and does something when compared."""

    def __init__(self, action: Any = None) -> None:
        self.action = action

    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        if self.action:
            self.action()
        return self is other


def test_a_failed_comparison_is_raised_and_adds_nothing() -> None:
    keys = KeyMap([TypeCode.OBJECT])
    keys.add((Awkward(),))

    def fail() -> None:
        raise ArithmeticError("no")

    with pytest.raises(ArithmeticError, match="no"):
        keys.add((Awkward(fail),))
    assert len(keys) == 1


def test_a_comparison_that_clears_the_map_is_detected() -> None:
    keys = KeyMap([TypeCode.OBJECT])
    keys.add((Awkward(),))
    with pytest.raises(RuntimeError, match="changed while they were compared"):
        keys.add((Awkward(keys.empty),))
    assert len(keys) == 0


def test_an_unhashable_object_is_a_key_by_content_or_else_by_identity() -> None:
    class Itself:
        __hash__ = None  # type: ignore[assignment]

    keys = KeyMap([TypeCode.OBJECT])
    alike = [([1, [2]], [1.0, [2]]), ({"a": [1], "b": 2}, {"b": 2, "a": [1]}), ({1, 2}, frozenset({2, 1}))]
    for one, other in [*alike, (bytearray(b"x"), b"x"), (([1],), ([1],))]:
        assert keys.add((one,))[0] == keys.add((other,))[0]
    assert len(keys) == 5
    one, other = Itself(), Itself()
    assert keys.add((one,))[0] == keys.add((one,))[0] != keys.add((other,))[0]
    endless: list[object] = []
    endless.append(endless)
    assert keys.add((endless,))[0] == keys.add((endless,))[0]


@pytest.mark.parametrize("width", [0, 65])
def test_the_number_of_key_attributes_is_limited(width: int) -> None:
    with pytest.raises(ValueError, match="1 to 64 parts"):
        KeyMap([TypeCode.INT] * width)


def test_64_nulls() -> None:
    keys = KeyMap([TypeCode.INT] * 64)
    wide = [tuple(None if i == k else i for i in range(64)) for k in range(64)]
    assert [keys.add(key)[0] for key in wide] == list(range(64))
    copy = KeyMap([TypeCode.INT] * 64)
    copy.load(keys.save())
    assert copy.items() == dict(enumerate(wide))


def test_keys_of_other_types_are_refused() -> None:
    keys = KeyMap([TypeCode.INT])
    keys.add((1,))
    with pytest.raises(ValueError, match="its keys have other types"):
        KeyMap([TypeCode.LONG]).load(keys.save())


@given(st.data())
def test_changed_bytes_are_read_or_refused(data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=3))
    keys = KeyMap(types)
    for _ in range(data.draw(st.integers(0, 20))):
        keys.add(data.draw(st.tuples(*(CELLS[each] | st.none() for each in types))))
    for slot in list(keys.items())[:: data.draw(st.integers(2, 5))]:
        keys.discard(slot)
    content = bytearray(keys.save())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    copy = KeyMap(types)
    copy.add(tuple(None for _ in types))
    cut = data.draw(st.integers(0, len(content)) | st.just(len(content)))
    loaded = False
    with damage_may_be_found():
        copy.load(bytes(content[:cut]))
        loaded = True
    assert loaded or len(copy) == 0
    assert all(copy.id_of(key) == slot for slot, key in copy.items().items())
    copy.add(tuple(None for _ in types))
