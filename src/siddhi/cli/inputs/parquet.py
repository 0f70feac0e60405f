"""Reads events from a Parquet file by row groups; columns are cast to the stream's types without loss."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from siddhi.cli.endpoints import Endpoint
from siddhi.cli.failures import BadInput, reason
from siddhi.cli.formats.text import READ_ERRORS, Fault, column_at_fault, missing_column
from siddhi.cli.inputs.source import BadLines
from siddhi.cli.inputs.timestamps import epoch_ms, instants_to_ms, is_point_in_time
from siddhi.cli.schema import ARROW_TYPES, IN_WORDS, Chunk, InputSchema

_ROWS = 1 << 16


class ParquetSource:
    """A .parquet file."""

    def __init__(self, endpoint: Endpoint, schema: InputSchema, bad_lines: BadLines) -> None:
        self.stream = endpoint.stream
        self._name = endpoint.path
        self._schema = schema
        self._bad_lines = bad_lines
        try:
            self._file = pq.ParquetFile(endpoint.path)
        except OSError as error:
            raise BadInput(f"cannot read {endpoint.path}: {reason(error)}") from error
        except pa.ArrowException as error:
            raise BadInput(f"cannot read {endpoint.path}: {error}") from error
        self.total_bytes: int | None = Path(endpoint.path).stat().st_size
        self._row = 1
        for column in schema.columns:
            self._check(column)

    @property
    def done_bytes(self) -> int:
        """Share of the file's bytes that corresponds to the rows read so far."""
        rows: int = self._file.metadata.num_rows
        return (self.total_bytes or 0) * (self._row - 1) // max(1, rows)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the events batch by batch.

        Raises:
            BadInput: the file is damaged, or has a bad row and bad rows are not skipped.
        """
        try:
            for batch in self._file.iter_batches(batch_size=_ROWS, columns=self._schema.columns):
                yield from self._read(batch, self._row)
                self._row += batch.num_rows
        except OSError as error:
            raise BadInput(f"cannot read {self._name}: {reason(error)}") from error

    def _check(self, column: str) -> None:
        found = self._file.schema_arrow
        if column not in found.names:
            raise BadInput(missing_column(self._name, column, self._schema.stream, found.names))
        kind = self._schema.type_of(column)
        if kind is not None and not _fits(found.field(column).type, kind):
            raise BadInput(
                f"{self._name}, column '{column}': values of type {found.field(column).type} are not {IN_WORDS[kind]}"
            )

    def _read(self, batch: pa.RecordBatch, row: int) -> Iterator[Chunk]:
        try:
            chunk = _convert(batch, self._schema)
        except READ_ERRORS:
            if batch.num_rows > 1:
                middle = batch.num_rows // 2
                yield from self._read(batch.slice(0, middle), row)
                yield from self._read(batch.slice(middle), row + middle)
            else:
                self._bad_lines.report(f"{self._name}, row {row}, {self._explain(batch)}")
        else:
            if len(chunk):
                yield chunk

    def _explain(self, row: pa.RecordBatch) -> str:
        column = column_at_fault(self._schema, lambda part: _convert(row, part))
        if column is None:
            return "not readable"
        value = row.column(column)[0].as_py()
        return str(Fault.of_value("null" if value is None else str(value), column, self._schema))

    def close(self) -> None:
        """Close the input."""
        self._file.close()


def _convert(batch: pa.RecordBatch, schema: InputSchema) -> Chunk:
    arrays = [_cast(batch.column(name), kind) for name, kind in schema.attributes]
    columns = pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in schema.attributes])
    return Chunk(columns, None if schema.timestamp is None else epoch_ms(batch.column(schema.timestamp)))


def _fits(found: pa.DataType, kind: str) -> bool:
    """Return whether an Arrow type can be cast to a SiddhiQL type, apart from the range of values."""
    is_ = pa.types
    if is_.is_dictionary(found):
        found = found.value_type
    whole = is_.is_integer(found)
    fitting = {
        "string": is_.is_string(found) or is_.is_large_string(found) or is_.is_string_view(found),
        "bool": is_.is_boolean(found),
        "int": whole,
        "long": whole or is_point_in_time(found),
        "float": whole or is_.is_floating(found) or is_.is_decimal(found),
        "double": whole or is_.is_floating(found) or is_.is_decimal(found),
    }
    return bool(is_.is_null(found) or fitting[kind])


def _cast(column: pa.Array, kind: str) -> pa.Array:
    found = column.type
    if kind == "string" and pa.types.is_dictionary(found):
        return column
    if is_point_in_time(found):
        return instants_to_ms(column)  # as a long, a point in time is in milliseconds
    return column.cast(ARROW_TYPES[kind])
