"""Merges several inputs into one sequence of events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from siddhi.cli.inputs.read_ahead import read_ahead
from siddhi.cli.inputs.source import Source
from siddhi.cli.schema import Chunk


@dataclass(frozen=True, slots=True)
class Run:
    """Rows from start to stop (exclusive) of a chunk, which are sent together."""

    stream: str
    chunk: Chunk
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


def one_after_another(sources: Sequence[Source]) -> Iterator[Run]:
    """Read each input to its end before the next."""
    for source in sources:
        for chunk in _chunks(source):
            yield Run(source.stream, chunk, 0, len(chunk))


@dataclass(slots=True)
class _Head:
    """Current chunk and row of an input."""

    stream: str
    rest: Iterator[Chunk]
    chunk: Chunk
    times: npt.NDArray[np.int64]
    row: int = 0

    @property
    def time(self) -> int:
        return int(self.times[self.row])

    def until(self, bound: int, *, inclusive: bool) -> int:
        """Return the first row from here on beyond the bound (exponential search)."""
        start, width = self.row, 16
        while start < len(self.times):
            times = self.times[start : start + width]
            beyond = times > bound if inclusive else times >= bound
            first = int(beyond.argmax())
            if beyond[first]:
                return start + first
            start, width = start + width, width * 2
        return len(self.times)


def in_time_order(sources: Sequence[Source]) -> Iterator[Run]:
    """Merge inputs by event time.

    Each input keeps its own order, even if its times go back; at equal times the input named first comes first. One chunk
    per input is in memory, and runs of rows from one input stay together as columns.
    """
    heads = [head for source in sources if (head := _first(source.stream, _chunks(source))) is not None]
    while heads:
        first = min(range(len(heads)), key=lambda index: (heads[index].time, index))
        head = heads[first]
        stop = len(head.times)
        for index, other in enumerate(heads):
            if index != first:
                stop = min(stop, head.until(other.time, inclusive=first < index))
        yield Run(head.stream, head.chunk, head.row, stop)
        head.row = stop
        if stop == len(head.times):
            following = _first(head.stream, head.rest)
            if following is None:
                del heads[first]
            else:
                heads[first] = following


def _chunks(source: Source) -> Iterator[Chunk]:
    is_file = source.total_bytes is not None
    return read_ahead(source.chunks()) if is_file else source.chunks()


def _first(stream: str, chunks: Iterator[Chunk]) -> _Head | None:
    for chunk in chunks:
        assert chunk.timestamps is not None, "only inputs with times are merged"
        return _Head(stream, chunks, chunk, chunk.timestamps.to_numpy())
    return None
