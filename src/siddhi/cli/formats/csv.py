"""Comma-separated values with a header line; an empty cell is null, a quoted empty cell the empty string."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

import pyarrow as pa
from pyarrow import csv as arrow_csv

from siddhi.cli.failures import BadInput
from siddhi.cli.formats.text import Fault, UnreadableTextError, chunk_of, column_at_fault, missing_column
from siddhi.cli.schema import ARROW_TYPES, Chunk, InputSchema

# A value and its separator. A quote opens a quoted value only at its beginning; elsewhere it is an ordinary character.
_CELL = re.compile(rb'(?:"[^"]*(?:""[^"]*)*"(?!")[^,\n]*|[^",\n][^,\n]*)?(,|\n)')
_BOM = b"\xef\xbb\xbf"
_CELL_TYPES = {**ARROW_TYPES, "string": pa.dictionary(pa.int32(), pa.string())}
_LONGEST_RECORD = 4 << 20


class CsvFormat:
    """Reads the records below a header."""

    def __init__(self, header: bytes, schema: InputSchema, file: str) -> None:
        """Find the wanted columns in the header line.

        Raises:
            BadInput: a column is missing or ambiguous.
        """
        text = header.removeprefix(_BOM).decode("utf-8", errors="replace")
        self._header = _cells(text) or []
        self._schema = schema
        for column in schema.columns:
            if column not in self._header:
                raise BadInput(missing_column(file, column, schema.stream, self._header))
            if self._header.count(column) > 1:
                raise BadInput(f"{file} has more than one column '{column}'")

    def cut(self, data: bytes) -> int:
        """Return the end of the last complete record; a line end between quotes does not end a record."""
        end = data.rfind(b"\n") + 1
        if data.count(b'"', 0, end) % 2 == 0:
            return end
        end = max(_record_ends(data), default=0)
        # An unterminated record blocks all data after it; beyond the limit its first line is passed on alone, as an error.
        return end if end or len(data) < _LONGEST_RECORD else data.find(b"\n") + 1

    def records(self, data: bytes) -> list[bytes]:
        """Split into records; an unclosed quote affects only its own line."""
        records: list[bytes] = []
        start = 0
        while start < len(data):
            for end in _record_ends(data, start):
                records.append(data[start:end])
                start = end
            if start < len(data):
                end = data.find(b"\n", start) + 1 or len(data)
                records.append(data[start:end])
                start = end
        return records

    def read(self, data: bytes) -> Chunk:
        """Read whole records into columns of the stream's types."""
        return chunk_of(self._read_columns(data, self._schema), self._schema)

    def explain(self, record: bytes) -> Fault:
        """Return the error of an invalid record, by reading its columns one by one."""
        try:
            text = record.decode("utf-8")
        except UnicodeDecodeError as error:
            return Fault(f"not UTF-8 text ({error.reason} at byte {error.start})")
        if _never_closes_a_quote(record):
            return Fault("unterminated quote")
        cells = _cells(text)
        if cells is None:
            return Fault(f"a value is longer than {csv.field_size_limit():,} characters")
        if len(cells) != len(self._header):
            return Fault(f"{len(cells)} values where the header has {len(self._header)} columns")
        column = column_at_fault(self._schema, lambda part: chunk_of(self._read_columns(record, part), part))
        if column is None:
            return Fault("not readable")
        return Fault.of_value(cells[self._header.index(column)], column, self._schema)

    def _read_columns(self, data: bytes, schema: InputSchema) -> pa.Table:
        if data.count(b'"') % 2 and _never_closes_a_quote(data):
            raise UnreadableTextError("unterminated quote")
        types = {name: _CELL_TYPES[kind] for name, kind in schema.attributes}
        if schema.timestamp is not None and schema.timestamp not in types:
            types[schema.timestamp] = self._type_of_times(data, schema.timestamp)
        if not data.strip():
            return pa.table({column: pa.array([], kind) for column, kind in types.items()})
        return arrow_csv.read_csv(
            pa.BufferReader(data),
            read_options=arrow_csv.ReadOptions(column_names=self._header, block_size=len(data) + 1, use_threads=False),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=schema.columns,
                column_types=types,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
            ),
        )

    def _type_of_times(self, data: bytes, column: str) -> pa.DataType:
        """Choose by the first record: reading integers directly is twice as fast as parsing text."""
        first = data.lstrip()
        cells = _cells(first[: first.find(b"\n")].decode("utf-8", errors="replace")) or []
        position = self._header.index(column)
        is_whole = position < len(cells) and cells[position].strip().removeprefix("-").isdigit()
        return pa.int64() if is_whole else pa.string()


def _cells(text: str) -> list[str] | None:
    """Return the values of the first record; empty if there is none, None if a value is too long for Python's reader."""
    try:
        return next(csv.reader(io.StringIO(text, newline="")), [])
    except csv.Error:
        return None


def header_of(data: bytes) -> int:
    """Return the end of the header record; 0 if it is incomplete."""
    return next(_record_ends(data), 0)


def _record_ends(data: bytes, start: int = 0) -> Iterator[int]:
    """Yield the end of each complete record from start on; stop at an incomplete one."""
    cell = _CELL.match(data, start)
    while cell is not None:
        if cell.group(1) == b"\n":
            yield cell.end()
        cell = _CELL.match(data, cell.end())


def _never_closes_a_quote(data: bytes) -> bool:
    """Return whether data ends inside quotes."""
    complete = data if data.endswith(b"\n") else data + b"\n"
    return max(_record_ends(complete), default=0) < len(complete)
