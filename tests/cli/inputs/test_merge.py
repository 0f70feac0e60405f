"""Inputs are merged by time; each keeps its order, and at equal times the first named input is first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.cli.failures import BadInput
from siddhi.cli.inputs.merge import in_time_order, one_after_another
from siddhi.cli.inputs.read_ahead import read_ahead
from siddhi.cli.schema import Chunk


@dataclass
class Listed:
    """A source of given times, in chunks of a given size; the only attribute tells input and position."""

    stream: str
    times: list[int]
    size: int = 3
    total_bytes: int | None = None
    done_bytes: int = 0

    def chunks(self) -> Iterator[Chunk]:
        for start in range(0, len(self.times), self.size):
            times = self.times[start : start + self.size]
            labels = [f"{self.stream}{start + index}" for index in range(len(times))]
            yield Chunk(pa.record_batch({"at": labels}), pa.array(times, pa.int64()))

    def close(self) -> None:
        pass


def order(*sources: Listed) -> list[tuple[int, str]]:
    rows = []
    for run in in_time_order(sources):
        assert len(run) > 0
        part = run.chunk.slice(run.start, run.stop)
        rows += zip(part.timestamps.to_pylist(), part.columns["at"].to_pylist(), strict=True)
    return rows


def test_inputs_are_merged_by_time_and_at_equal_times_by_input() -> None:
    rows = order(Listed("a", [1, 4, 4, 9]), Listed("b", [2, 4, 5]), Listed("c", []))
    assert [label for _, label in rows] == ["a0", "b0", "a1", "a2", "b1", "b2", "a3"]


def test_an_input_keeps_its_order_if_its_times_decrease() -> None:
    rows = order(Listed("a", [5, 1, 7]), Listed("b", [6, 2]))
    assert [label for _, label in rows] == ["a0", "a1", "b0", "b1", "a2"]


def test_inputs_without_times_follow_one_another() -> None:
    runs = list(one_after_another([Listed("a", [9, 8, 7, 6]), Listed("b", [1])]))
    assert [(run.stream, len(run)) for run in runs] == [("a", 3), ("a", 1), ("b", 1)]


TIMES = st.lists(st.integers(0, 20), max_size=60)


@given(st.lists(TIMES, min_size=1, max_size=4), st.integers(1, 40), st.sampled_from([None, 1]))
def test_sorted_inputs_merge_as_heapq_merges_them(inputs: list[list[int]], size: int, total: int | None) -> None:
    sources = [Listed("abcd"[index], sorted(times), size, total) for index, times in enumerate(inputs)]
    rows = [[(time, f"{source.stream}{index}") for index, time in enumerate(source.times)] for source in sources]
    assert order(*sources) == list(heapq.merge(*rows, key=lambda row: row[0]))


def test_an_error_of_reading_ahead_is_raised_after_the_chunks_before() -> None:
    def chunks() -> Iterator[Chunk]:
        yield from Listed("a", [1, 2, 3, 4]).chunks()
        raise BadInput("line 5")

    ahead = read_ahead(chunks())
    assert [len(next(ahead)), len(next(ahead))] == [3, 1]
    with pytest.raises(BadInput, match="line 5"):
        next(ahead)
