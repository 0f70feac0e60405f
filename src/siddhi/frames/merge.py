"""Merges several inputs into one sequence of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["Run", "Timed", "in_time_order", "one_after_another"]


class Timed(Protocol):
    """Consecutive events of one input."""

    def __len__(self) -> int:
        """Return the number of events."""

    @property
    def times(self) -> npt.NDArray[np.int64] | None:
        """Times of the events (ms); None: they have none."""


ChunkT = TypeVar("ChunkT", bound=Timed)
_LATEST = 2**63 - 1


@dataclass(slots=True)
class Run(Generic[ChunkT]):
    """Rows from start to stop (exclusive) of a chunk, which are sent together."""

    stream: str
    chunk: ChunkT
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


def one_after_another(inputs: Iterable[tuple[str, Iterator[ChunkT]]]) -> Iterator[Run[ChunkT]]:
    """Read each input (its stream and its chunks) to its end before the next."""
    for stream, chunks in inputs:
        for chunk in chunks:
            yield Run(stream, chunk, 0, len(chunk))


_FEW = 8  # rows that are compared one by one, which is faster for short runs


class _Head(Generic[ChunkT]):
    """Current chunk and row of an input; ``time`` is that of the row."""

    __slots__ = ("_listed", "_times", "chunk", "rest", "row", "stream", "time")

    def __init__(self, stream: str, rest: Iterator[ChunkT], chunk: ChunkT, times: npt.NDArray[np.int64]) -> None:
        self.stream = stream
        self.rest = rest
        self.chunk = chunk
        self.row = 0
        self._times = times
        self._listed: list[int] = times.tolist()
        self.time = self._listed[0]

    def until(self, bound: int) -> int:
        """Return the first row behind the current one whose time is greater than the bound (exponential search)."""
        listed, row = self._listed, self.row + 1
        end = min(row + _FEW, len(listed))
        while row < end:
            if listed[row] > bound:
                return row
            row += 1
        width = 2 * _FEW
        while row < len(listed):
            beyond = self._times[row : row + width] > bound
            first = int(beyond.argmax())
            if beyond[first]:
                return row + first
            row, width = row + width, width * 2
        return len(listed)

    def move(self, row: int) -> bool:
        """Go to a row; return whether the chunk has it."""
        self.row = row
        if row == len(self._listed):
            return False
        self.time = self._listed[row]
        return True


def in_time_order(inputs: Iterable[tuple[str, Iterator[ChunkT]]]) -> Iterator[Run[ChunkT]]:
    """Merge inputs, each its stream and its chunks, by event time.

    Each input keeps its own order, even if its times go back; at equal times the input named first comes first. One chunk
    per input is in memory, and runs of rows from one input stay together as columns.
    """
    heads = [head for stream, chunks in inputs if (head := _first(stream, chunks)) is not None]
    while heads:
        first, time, bound = 0, heads[0].time, _LATEST
        for index in range(1, len(heads)):
            other = heads[index].time
            if other < time:
                # An input before this one goes first at its own time.
                first, time, bound = index, other, min(bound, time - 1)
            elif other < bound:
                bound = other
        head = heads[first]
        stop = head.until(bound)
        yield Run(head.stream, head.chunk, head.row, stop)
        if not head.move(stop):
            following = _first(head.stream, head.rest)
            if following is None:
                del heads[first]
            else:
                heads[first] = following


def _first(stream: str, chunks: Iterator[ChunkT]) -> _Head[ChunkT] | None:
    for chunk in chunks:
        times = chunk.times
        assert times is not None, "only inputs with times are merged"
        if len(times):
            return _Head(stream, chunks, chunk, times)
    return None
