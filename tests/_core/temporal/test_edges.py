"""Heap of edges: in order of time, END before START, then arrival, whatever the runs are."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi._core.record.event import EventPool, Layout, TypeCode
from siddhi._core.temporal.lifetime import EdgeHeap

END, START = 0, 1
Edge = tuple[int, int, int]
"""Time, kind, input."""


def heap_of(edges: Iterable[Edge]) -> EdgeHeap:
    heap = EdgeHeap(EventPool(Layout(["x"], [TypeCode.INT])))
    for edge in edges:
        heap.push(*edge)
    return heap


def in_order(edges: Iterable[Edge]) -> list[tuple[int, int, int, int]]:
    return sorted(((*edge, number) for number, edge in enumerate(edges)), key=lambda edge: (edge[0], edge[1], edge[3]))


def shuffled(n: int, times: int) -> list[Edge]:
    random_ = random.Random(n)
    return [(random_.randrange(times), random_.randrange(2), random_.randrange(3)) for _ in range(n)]


@pytest.mark.parametrize(
    "edges",
    [
        shuffled(20_000, 10**9),
        shuffled(20_000, 50),
        [(time, START, 0) for time in range(5000)],
        [(-time, END, 1) for time in range(5000)],
        [edge for time in range(5000) for edge in ((time, START, 0), (time + 700, END, 0))],
    ],
    ids=["random", "many at one time", "in order", "backwards", "lifetimes"],
)
def test_edges_leave_in_order_of_time_kind_and_arrival(edges: list[Edge]) -> None:
    heap = heap_of(edges)
    assert heap.copy() == in_order(edges)
    assert [heap.pop() for _ in edges] == in_order(edges)
    assert (len(heap), heap.runs, heap.alive) == (0, 0, 0)


def test_edges_that_come_in_order_make_no_runs() -> None:
    heap = heap_of(edge for time in range(9000) for edge in ((time, START, 0), (time + 700, END, 0)))
    assert heap.runs == 0


def test_runs_are_merged() -> None:
    assert 0 < heap_of(shuffled(100_000, 10**9)).runs <= 16


@given(
    st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 20), st.integers(0, 1), st.integers(0, 3))), max_size=200)
)
def test_additions_between_removals_keep_the_order(steps: list[Edge | None]) -> None:
    heap = heap_of([])
    held: list[tuple[int, int, int, int]] = []
    for step in steps:
        if step is not None:
            held.append((*step, heap.push(*step)))
        elif held:
            first = min(held, key=lambda edge: (edge[0], edge[1], edge[3]))
            held.remove(first)
            assert heap.pop() == first
    assert heap.copy() == sorted(held, key=lambda edge: (edge[0], edge[1], edge[3]))


def test_a_large_heap_stays_in_order_as_edges_come_and_leave() -> None:
    random_ = random.Random(4)
    heap = heap_of(shuffled(5000, 10_000))
    now = 0
    for _ in range(20_000):
        time, *_ = heap.pop()
        assert time >= now
        now = time
        heap.push(now + int(random_.expovariate(1 / 5000)), random_.randrange(2), 0)
    assert len(heap) == 5000


def test_clearing_releases_what_waits() -> None:
    heap = heap_of(shuffled(3000, 100))
    heap.clear()
    assert (len(heap), heap.alive) == (0, 0)
    heap.push(1, START, 0)
    assert heap.pop()[:3] == (1, START, 0)
    with pytest.raises(IndexError):
        heap.pop()
