"""Output files, written batch by batch."""

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
    """Takes record batches of one schema."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append one row or more; raises OSError."""

    def close(self) -> None:
        """Finish the file; raises OSError."""


def output_schema(attributes: Sequence[tuple[str, str]], timestamp: str | None) -> pa.Schema:
    """Arrow fields of a stream; an object is kept as JSON text. A timestamp column, if wanted, comes first."""
    fields = [pa.field(name, ARROW_TYPES.get(kind, pa.string())) for name, kind in attributes]
    return pa.schema(fields if timestamp is None else [pa.field(timestamp, pa.int64()), *fields])


def open_writer(
    endpoint: Endpoint, schema: pa.Schema, *, json_columns: frozenset[str] = frozenset(), label: str | None = None
) -> Writer:
    """Open an output.

    Args:
        endpoint: where to.
        schema: of the batches to come.
        json_columns: text columns whose text is JSON (JSON lines take it over as it is).
        label: stream name to begin each line with where streams share standard output.

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
    """Comma-separated values with a header line; quotes only where needed, null is empty, empty text is ``""``."""

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
    """A Parquet file; small batches are gathered into row groups of 65,536 rows."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(path, schema)
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        self._waiting.append(batch)
        self._rows += batch.num_rows
        if self._rows >= _ROW_GROUP:
            self._write_group()

    def close(self) -> None:
        """Write what waits, and the footer that makes the file readable."""
        self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
            self._waiting.clear()
            self._rows = 0
