"""Attribute types of streams in Arrow, and their names in messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

ARROW_TYPES = {
    "string": pa.string(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bool": pa.bool_(),
}

IN_WORDS = {
    "string": "a string",
    "int": "an int (-2147483648 to 2147483647)",
    "long": "a long",
    "float": "a float",
    "double": "a double",
    "bool": "a bool (true or false)",
}

TIMESTAMP_IN_WORDS = "a time (milliseconds since 1970, or ISO 8601 such as 2013-03-04T05:17:00Z)"


@dataclass(frozen=True, slots=True)
class InputSchema:
    """The columns to read from an input: the attributes of a stream and optionally a column of event times."""

    stream: str
    attributes: tuple[tuple[str, str], ...]  # (name, SiddhiQL type), in the order of the definition
    timestamp: str | None  # a column, which may be an attribute as well

    @property
    def columns(self) -> list[str]:
        """Names of the columns to read, each once."""
        names = [name for name, _ in self.attributes]
        return names if self.timestamp is None or self.timestamp in names else [*names, self.timestamp]

    def type_of(self, column: str) -> str | None:
        """Return the SiddhiQL type of a column; None for a column of event times that is not an attribute."""
        return dict(self.attributes).get(column)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive events of one stream: its attributes in order, and event times in ms (int64) if the input has them."""

    columns: pa.RecordBatch
    timestamps: pa.Array | None

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    @property
    def times(self) -> npt.NDArray[np.int64] | None:
        """Event times in ms; None: the input has none."""
        return None if self.timestamps is None else self.timestamps.to_numpy()

    def slice(self, start: int, stop: int) -> Chunk:
        """Return the rows from start to stop (exclusive) without a copy."""
        times = None if self.timestamps is None else self.timestamps.slice(start, stop - start)
        return Chunk(self.columns.slice(start, stop - start), times)


def unreadable_attributes(attributes: Sequence[tuple[str, str]]) -> list[str]:
    """Return the names of attributes whose type can't be read from files (``object``)."""
    return [name for name, kind in attributes if kind not in ARROW_TYPES]
