"""Groups: typed keys of any number of attributes; the state of a group is released with its last event."""

from __future__ import annotations

import math
from collections import Counter, deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.running import collect, running

TYPES: dict[str, tuple[Any, ...]] = {
    "string": ("A", "B", "", "null", None),
    "int": (0, 1, -1, None),
    "long": (0, 2**40, -1, None),
    "float": (0.0, 1.5, None),
    "double": (0.0, 1.5, 1e300, None),
    "bool": (True, False, None),
}


@pytest.mark.parametrize("type_", TYPES)
@given(data=st.data())
def test_each_group_has_its_own_aggregate(type_: str, data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.sampled_from(TYPES[type_]), max_size=30))
    counts: Counter[Any] = Counter()
    expected = []
    for key in keys:
        counts[key] += 1
        expected.append((key, counts[key]))
    with running(f"define stream S (k {type_}); from S select k, count() as n group by k insert into Out;") as runtime:
        rows = collect(runtime, "Out")
        for key in keys:
            runtime.input_handler("S").send((key,))
    assert rows == expected


@given(st.lists(st.tuples(*(st.sampled_from(values) for values in TYPES.values())), max_size=20))
def test_keys_of_many_attributes_are_tuples(rows: list[tuple[Any, ...]]) -> None:
    names = [f"a{number}" for number in range(len(TYPES))]
    attributes = ", ".join(f"{name} {type_}" for name, type_ in zip(names, TYPES))
    keys = ", ".join(names)
    counts: Counter[tuple[Any, ...]] = Counter()
    expected = []
    for row in rows:
        counts[row] += 1
        expected.append((counts[row],))
    app = f"define stream S ({attributes}); from S select count() as n group by {keys} insert into Out;"
    with running(app) as runtime:
        got = collect(runtime, "Out")
        for row in rows:
            runtime.input_handler("S").send(row)
    assert got == expected


@pytest.mark.parametrize("more", ["", ", max(v) as most"])
@given(keys=st.lists(st.integers(0, 30), max_size=60))
def test_a_group_whose_events_have_expired_starts_empty(more: str, keys: list[int]) -> None:
    held: deque[int] = deque(maxlen=3)
    expected = []
    for key in keys:
        held.append(key)
        expected.append((key, held.count(key)))
    app = f"define stream S (k int, v int); from S#window.length(3) select k, count() as n{more} group by k insert into Out;"
    with running(app) as runtime:
        rows = collect(runtime, "Out")
        for key in keys:
            runtime.input_handler("S").send((key, key))
        snapshot = runtime.snapshot()
    assert [row[:2] for row in rows] == expected
    assert len(snapshot) < 2_000, "groups that are gone take no room"


def test_zeros_and_nan_are_one_key_each() -> None:
    with running("define stream S (k double); from S select count() as n group by k insert into Out;") as runtime:
        rows = collect(runtime, "Out")
        for key in (math.nan, math.nan, 1.0, math.nan):
            runtime.input_handler("S").send((key,))
    assert rows == [(1,), (2,), (1,), (3,)]
