"""Reading ahead keeps the order of chunks and errors."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from siddhi.cli.failures import BadInput
from siddhi.cli.inputs.read_ahead import read_ahead
from siddhi.cli.schema import Chunk


def test_an_error_of_reading_ahead_is_raised_after_the_chunks_before() -> None:
    def chunks() -> Iterator[Chunk]:
        for size in (3, 1):
            yield Chunk(pa.record_batch({"at": ["a"] * size}), None)
        raise BadInput("line 5")

    ahead = read_ahead(chunks())
    assert [len(next(ahead)), len(next(ahead))] == [3, 1]
    with pytest.raises(BadInput, match="line 5"):
        next(ahead)
