"""Base of the text formats, and messages about records that can't be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from siddhi.cli.inputs.timestamps import epoch_ms, out_of_range
from siddhi.cli.schema import IN_WORDS, TIMESTAMP_IN_WORDS, Chunk, InputSchema
from siddhi.errors import did_you_mean

_INTEGER = re.compile(r"-?[0-9]{1,30}")
_SHOWN = 60
_SHOWN_NAMES = 500


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a record can't be read, and in which column."""

    problem: str
    column: str | None = None

    @classmethod
    def of_value(cls, value: str, column: str, schema: InputSchema) -> Fault:
        """Describe a value that does not match its column's type, or is not a time."""
        shown = value if len(value) <= _SHOWN else value[: _SHOWN - 3] + "..."
        kind = schema.type_of(column)
        if column == schema.timestamp and _INTEGER.fullmatch(value) and (wrong := out_of_range(int(value))) is not None:
            return cls(wrong, column)
        readable_but_for_time = column == schema.timestamp and (kind is None or not value or kind == "string")
        expected = TIMESTAMP_IN_WORDS if readable_but_for_time or kind is None else IN_WORDS[kind]
        return cls(f"'{shown}' is not {expected}", column)

    def __str__(self) -> str:
        return self.problem if self.column is None else f"column '{self.column}': {self.problem}"


class UnreadableTextError(ValueError):
    """The bytes are not complete records of the format."""


# Errors of `TextFormat.read` for bytes with at least one bad record. Timestamps raise a ValueError, as Arrow does.
READ_ERRORS = (ValueError, pa.ArrowException)


class TextFormat(Protocol):
    """Splits bytes into records and reads events from them."""

    def cut(self, data: bytes) -> int:
        """Return the end of the last complete record in data; 0 if there is none."""

    def records(self, data: bytes) -> list[bytes]:
        """Split into records, each with its line end; joined they equal data."""

    def read(self, data: bytes) -> Chunk:
        """Read complete records; raise one of ``READ_ERRORS`` if one is bad."""

    def explain(self, record: bytes) -> Fault:
        """Return the error of a record that ``read`` can't read."""


def chunk_of(columns: pa.Table, schema: InputSchema) -> Chunk:
    """Arrange columns in the order of the stream's attributes, and add the event times."""
    names = [name for name, _ in schema.attributes]
    arrays = [_one_array(columns.column(name)) for name in names]
    batch = pa.RecordBatch.from_arrays(arrays, names=names)
    if schema.timestamp is None:
        return Chunk(batch, None)
    return Chunk(batch, epoch_ms(_one_array(columns.column(schema.timestamp))))


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    # Older pyarrow returns a ChunkedArray if a dictionary column has more than one chunk.
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.unify_dictionaries().chunks)


def missing_column(file: str, column: str, stream: str, columns: Iterable[str]) -> str:
    """Return the message about a file without a column of its stream."""
    names = list(columns)
    has = ", ".join(names) or "none"
    has = has if len(has) <= _SHOWN_NAMES else f"{has[: _SHOWN_NAMES - 3]}..."
    return f"{file} has no column '{column}' for stream '{stream}' (columns: {has}){did_you_mean(column, names)}"


def column_at_fault(schema: InputSchema, read: Callable[[InputSchema], object]) -> str | None:
    """Read a bad record one column at a time and return the first that fails; None if no single column fails."""
    if not _reads(read, InputSchema(schema.stream, (), None)):
        return None
    parts = {name: InputSchema(schema.stream, ((name, kind),), None) for name, kind in schema.attributes}
    for column, part in parts.items():
        if not _reads(read, part):
            return column
    if schema.timestamp is not None and not _reads(read, InputSchema(schema.stream, (), schema.timestamp)):
        return schema.timestamp
    return None


def _reads(read: Callable[[InputSchema], object], part: InputSchema) -> bool:
    try:
        read(part)
    except READ_ERRORS:
        return False
    return True
