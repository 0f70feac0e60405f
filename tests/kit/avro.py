"""Helpers to write and read payloads of Avro with fastavro alone, and annotations with a schema."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

__all__ = ["decoded", "encoded", "map_of", "record"]

NAMES = {"s": "string", "i": "int", "l": "long", "f": "float", "d": "double", "b": "boolean"}


def record(name: str = "Trade", /, **fields: Any) -> dict[str, Any]:
    """Return the schema of a record."""
    return {"type": "record", "name": name, "fields": [{"name": key, "type": type_} for key, type_ in fields.items()]}


def encoded(schema: Any, value: Any) -> bytes:
    """Return the payload of a value."""
    import fastavro

    stream = BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


def decoded(schema: Any, payload: bytes) -> Any:
    """Return the value of a payload."""
    import fastavro

    return fastavro.schemaless_reader(BytesIO(payload), fastavro.parse_schema(schema), None)


def map_of(schema: Any, more: str = "") -> str:
    """Return ``@map`` with a schema and further elements."""
    return f'@map(type = \'avro\', schema.def = """{json.dumps(schema)}"""{", " if more else ""}{more})'
