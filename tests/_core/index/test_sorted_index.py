"""Sorted index: entries are found in order, however the blocks are split and merged."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi._core.index.sorted_index import SortedKeys

LAST = 2**64 - 1


def everything(slots: SortedKeys) -> list[tuple[int, int]]:
    return slots.between(0, LAST)


@pytest.mark.parametrize("keys", [range(2000), range(2000, 0, -1), random.Random(1).sample(range(10**6), 2000)])
def test_keys_are_returned_in_order_whatever_order_they_were_added_in(keys: list[int]) -> None:
    slots = SortedKeys()
    for slot, key in enumerate(keys):
        slots.put(key, slot)
    assert slots.size == 2000
    assert everything(slots) == sorted((key, slot) for slot, key in enumerate(keys))


def test_the_smallest_and_largest_numbers_are_valid_keys() -> None:
    slots = SortedKeys()
    slots.put(LAST, 1)
    slots.put(0, 2)
    assert everything(slots) == [(0, 2), (LAST, 1)]
    assert slots.between(0, LAST, behind_low=True, with_high=False) == []


def test_the_index_is_empty_after_all_entries_were_removed() -> None:
    slots = SortedKeys()
    for key in range(1000):
        slots.put(key, key)
    for key in range(1000):
        slots.discard((key * 7) % 1000)
    assert slots.size == 0
    assert everything(slots) == []
    slots.put(5, 6)
    assert everything(slots) == [(5, 6)]


def test_removing_an_absent_key_is_an_error() -> None:
    slots = SortedKeys()
    with pytest.raises(KeyError):
        slots.discard(1)
    slots.put(1, 1)
    with pytest.raises(KeyError):
        slots.discard(2)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 40)), max_size=200),
    st.integers(0, 41),
    st.integers(0, 41),
    st.booleans(),
    st.booleans(),
    st.integers(1, 1000),
)
def test_ranges_equal_those_of_a_sorted_dict(
    changes: list[tuple[bool, int]], low: int, high: int, behind_low: bool, with_high: bool, spread: int
) -> None:
    slots, twin = SortedKeys(), {}
    # Filling it up first makes several blocks, so that every change may meet a border.
    for key in range(spread):
        slots.put(1000 + key, key)
    for adds, key in changes:
        if adds and key not in twin:
            slots.put(key, key + 7)
            twin[key] = key + 7
        elif not adds and key in twin:
            slots.discard(key)
            del twin[key]
    wanted = [
        (key, slot)
        for key, slot in sorted(twin.items())
        if (key > low if behind_low else key >= low) and (key <= high if with_high else key < high)
    ]
    assert slots.between(low, high, behind_low, with_high) == wanted
