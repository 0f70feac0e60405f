"""Inputs are merged by time; each keeps its order, and at equal times the first named input is first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from siddhi.frames.merge import in_time_order, one_after_another


@dataclass
class Listed:
    """Events whose only attribute tells input and position."""

    labels: list[str]
    times: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


Input = tuple[str, Iterator[Listed]]


def listed(stream: str, times: list[int], size: int = 3) -> Input:
    """An input of given times, in chunks of a given size."""

    def chunks() -> Iterator[Listed]:
        for start in range(0, len(times), size):
            part = times[start : start + size]
            yield Listed([f"{stream}{start + index}" for index in range(len(part))], np.array(part, np.int64))

    return stream, chunks()


def order(*inputs: Input) -> list[tuple[int, str]]:
    rows: list[tuple[int, str]] = []
    for run in in_time_order(inputs):
        assert len(run) > 0
        times, labels = run.chunk.times[run.start : run.stop], run.chunk.labels[run.start : run.stop]
        rows += zip(times.tolist(), labels, strict=True)
    return rows


def test_inputs_are_merged_by_time_and_at_equal_times_by_input() -> None:
    rows = order(listed("a", [1, 4, 4, 9]), listed("b", [2, 4, 5]), listed("c", []))
    assert [label for _, label in rows] == ["a0", "b0", "a1", "a2", "b1", "b2", "a3"]


def test_an_input_keeps_its_order_if_its_times_decrease() -> None:
    rows = order(listed("a", [5, 1, 7]), listed("b", [6, 2]))
    assert [label for _, label in rows] == ["a0", "a1", "b0", "b1", "a2"]


def test_inputs_without_times_follow_one_another() -> None:
    runs = list(one_after_another([listed("a", [9, 8, 7, 6]), listed("b", [1])]))
    assert [(run.stream, len(run)) for run in runs] == [("a", 3), ("a", 1), ("b", 1)]


TIMES = st.lists(st.integers(0, 20), max_size=60)


@given(st.lists(TIMES, min_size=1, max_size=4), st.integers(1, 40))
def test_sorted_inputs_merge_as_heapq_merges_them(inputs: list[list[int]], size: int) -> None:
    rows = [
        [(time, f"{'abcd'[number]}{index}") for index, time in enumerate(sorted(times))]
        for number, times in enumerate(inputs)
    ]
    merged = order(*(listed("abcd"[number], sorted(times), size) for number, times in enumerate(inputs)))
    assert merged == list(heapq.merge(*rows, key=lambda row: row[0]))
