"""JSON lines: one object per line; a key that is absent is null."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyarrow import json as arrow_json

from siddhi.cli.failures import BadInput
from siddhi.cli.formats.text import Fault, UnreadableTextError, chunk_of, column_at_fault, missing_column
from siddhi.cli.schema import ARROW_TYPES, Chunk, InputSchema

SAMPLE_LINES = 1000
_NULL_LINE = re.compile(rb"\n[ \t\r]*null")


class JsonLinesFormat:
    """Reads the keys of the stream from objects; other keys are ignored."""

    def __init__(self, sample: bytes, schema: InputSchema, file: str) -> None:
        """Check the first lines for missing columns.

        Raises:
            BadInput: a column is in none of the objects in the first 1,000 lines.
        """
        self._schema = schema
        objects = list(_objects(sample.split(b"\n")[:SAMPLE_LINES]))
        keys = {key: None for item in objects for key in item}
        for column in schema.columns:
            if objects and column not in keys:
                raise BadInput(missing_column(file, column, schema.stream, keys))
        self._times_are_text = any(isinstance(item.get(schema.timestamp or ""), str) for item in objects)

    def cut(self, data: bytes) -> int:
        """Return the end of the last complete line."""
        return data.rfind(b"\n") + 1

    def records(self, data: bytes) -> list[bytes]:
        """Split into lines."""
        lines = [line + b"\n" for line in data.split(b"\n")]
        lines[-1] = lines[-1][:-1]
        return [line for line in lines if line]

    def read(self, data: bytes) -> Chunk:
        """Read whole lines into columns of the stream's types."""
        return chunk_of(self._read_columns(data, self._schema), self._schema)

    def explain(self, record: bytes) -> Fault:
        """Return the error of an invalid line, by parsing it and reading its columns one by one."""
        try:
            item = json.loads(record.strip(), object_pairs_hook=_Pairs, parse_int=_integer)
        except UnicodeDecodeError as error:
            return Fault(f"not UTF-8 text ({error.reason} at byte {error.start})")
        except json.JSONDecodeError as error:
            return Fault(f"not JSON: {error.msg} at column {error.colno}")
        except RecursionError:
            return Fault("not readable: it is nested too deeply")
        if not isinstance(item, _Pairs):
            return Fault(f"expected a JSON object, found {_shown(item)}")
        if item.repeated is not None:
            return Fault(f"key '{item.repeated}' occurs twice")
        column = column_at_fault(self._schema, lambda part: chunk_of(self._read_columns(record, part), part))
        if column is None:
            return Fault("not readable; a number may be out of range")
        return Fault.of_value(_shown(item.get(column)), column, self._schema)

    def _read_columns(self, data: bytes, schema: InputSchema) -> pa.Table:
        times = pa.string() if self._times_are_text else pa.int64()
        types = {column: ARROW_TYPES.get(schema.type_of(column) or "", times) for column in schema.columns}
        if not data.strip():
            return pa.table({column: pa.array([], kind) for column, kind in types.items()})
        if b"null" in data and (data.lstrip().startswith(b"null") or _NULL_LINE.search(data)):
            # Arrow reads null as an object without keys, and crashes the process if there is no other line.
            raise UnreadableTextError("a line is null")
        return arrow_json.read_json(
            pa.BufferReader(data),
            read_options=arrow_json.ReadOptions(block_size=len(data) + 1, use_threads=False),
            parse_options=arrow_json.ParseOptions(
                explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior="ignore"
            ),
        )


class _Pairs(dict[str, Any]):
    """A JSON object that records a duplicate key."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        keys = [key for key, _ in pairs]
        self.repeated = next((key for key in keys if keys.count(key) > 1), None)


def _integer(text: str) -> int | str:
    """Return an integer, or the text of one that has too many digits for Python."""
    return int(text) if len(text) < 1000 else text


def _objects(lines: Iterable[bytes]) -> Iterable[dict[str, Any]]:
    for line in lines:
        try:
            item = json.loads(line)
        except (ValueError, RecursionError):
            continue  # blank, truncated or invalid: reported with its line number when it is read
        if isinstance(item, dict):
            yield item


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
