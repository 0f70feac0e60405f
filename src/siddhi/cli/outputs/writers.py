"""Writers of output files."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from siddhi.cli.endpoints import Endpoint, Format
from siddhi.cli.formats.columns import csv_cells, joined, json_values
from siddhi.cli.schema import ARROW_TYPES

_ROW_GROUP = 1 << 16


class Writer(Protocol):
    """Writes record batches of one schema."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append one or more rows; raise OSError."""

    def close(self) -> None:
        """Finish the file; raise OSError."""


def output_schema(attributes: Sequence[tuple[str, str]], timestamp: str | None) -> pa.Schema:
    """Return the Arrow schema of a stream, with an optional leading timestamp column; objects become JSON text."""
    fields = [pa.field(name, ARROW_TYPES.get(kind, pa.string())) for name, kind in attributes]
    return pa.schema(fields if timestamp is None else [pa.field(timestamp, pa.int64()), *fields])


def open_writer(
    endpoint: Endpoint, schema: pa.Schema, *, json_columns: frozenset[str] = frozenset(), label: str | None = None
) -> Writer:
    """Open an output.

    Args:
        endpoint: the output.
        schema: schema of the batches.
        json_columns: text columns that contain JSON, which JSON lines embed unquoted.
        label: name of the stream to add to each line, if streams share standard output.

    Raises:
        OSError: the file can't be created.
    """
    if endpoint.format is Format.PARQUET:
        return ParquetWriter(endpoint.path, schema)
    file = sys.stdout.buffer if endpoint.is_standard else Path(endpoint.path).open("wb")  # noqa: SIM115 - kept open
    if endpoint.format is Format.CSV:
        return CsvWriter(file, schema)
    return JsonLinesWriter(file, schema, json_columns, label)


class CsvWriter:
    """Comma-separated values with a header line; quotes only if needed, null is empty, the empty string is ``""``."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self._file = file
        file.write(joined([csv_cells(pa.array([name])) for name in schema.names], ","))

    def write(self, batch: pa.RecordBatch) -> None:
        """Append one line per row."""
        self._file.write(joined([csv_cells(column) for column in batch.columns], ","))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class JsonLinesWriter:
    """One JSON object per line; standard output is flushed after every batch and left open."""

    def __init__(self, file: BinaryIO, schema: pa.Schema, json_columns: frozenset[str], label: str | None) -> None:
        self._file = file
        self._keys = [json.dumps(name, ensure_ascii=False) + ":" for name in schema.names]
        self._json = [name in json_columns for name in schema.names]
        self._start = "{" if label is None else '{"_stream":' + json.dumps(label, ensure_ascii=False) + ","

    def write(self, batch: pa.RecordBatch) -> None:
        """Append one line per row."""
        pieces: list[pa.Array | str] = []
        lead = self._start
        for key, is_json, column in zip(self._keys, self._json, batch.columns, strict=True):
            pieces += [lead + key, column.fill_null("null") if is_json else json_values(column)]
            lead = ","
        self._file.write(joined([*pieces, "}"], ""))
        if self._file is sys.stdout.buffer:
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is sys.stdout.buffer:
            self._file.flush()
        else:
            self._file.close()


class ParquetWriter:
    """A Parquet file; small batches are combined into row groups of 65,536 rows."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(path, schema)
        self._buffered: list[pa.RecordBatch] = []
        self._rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        self._buffered.append(batch)
        self._rows += batch.num_rows
        if self._rows >= _ROW_GROUP:
            self._write_group()

    def close(self) -> None:
        """Write the buffered rows and the footer of the file."""
        self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        if self._buffered:
            self._writer.write_table(pa.Table.from_batches(self._buffered, self._schema))
            self._buffered.clear()
            self._rows = 0
