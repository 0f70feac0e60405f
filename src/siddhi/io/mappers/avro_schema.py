"""Avro schemas: parsing, what they allow, and the binary encoding of their values by fastavro."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

import fastavro
from fastavro import _read_py, _write_py

from siddhi.errors import MappingFailedError, SiddhiAppCreationError

__all__ = ["AvroSchema", "generated"]

_NUMBERS = {"int": "int", "long": "long", "float": "float", "double": "double", "bool": "boolean", "string": "string"}
_LARGEST_SCHEMA = 1_000_000


class AvroSchema:
    """A schema with its named types.

    Values have the types of Avro: a logical type is its underlying value, a timestamp for instance a long. Only ``decimal`` is
    a Decimal.

    Args:
        text: the schema as JSON.
        references: schemas whose types this one names, those without references first.

    Attributes:
        root: the parsed schema.

    Raises:
        SiddhiAppCreationError: it is not an Avro schema, or the items of an array or map have no bytes, so that a few bytes
            could have any number of them.
    """

    def __init__(self, text: str, references: tuple[str, ...] = ()) -> None:
        self._named: dict[str, Any] = {}
        try:
            for reference in references:
                self._parsed(reference)
            self.root: Any = self._parsed(text)
            self._is_recursive = any(self._contains_itself(type_) for type_ in self._named.values())
            empty = next((type_ for type_ in self._parts(self.root, set()) if self._has_empty_items(type_)), None)
        except RecursionError:
            raise SiddhiAppCreationError("the Avro schema is nested too deeply", code="E326") from None
        if empty is not None:
            raise SiddhiAppCreationError(
                f"the items of an {empty['type']} in the Avro schema have no bytes, so a payload of a few bytes could have any "
                "number of them",
                code="E326",
                hint="wrap the items in a record with a field, or in a union with null",
            )
        # The compiled functions call themselves without a limit; those in Python end with a RecursionError.
        self._read: Any = _read_py.schemaless_reader if self._is_recursive else fastavro.schemaless_reader
        self._write: Any = _write_py.schemaless_writer if self._is_recursive else fastavro.schemaless_writer

    def _parsed(self, text: str) -> Any:
        if len(text) > _LARGEST_SCHEMA:
            raise SiddhiAppCreationError(f"the Avro schema has {len(text)} characters", code="E326")
        try:
            return fastavro.parse_schema(_underlying(_json(text)), self._named)
        except (SiddhiAppCreationError, RecursionError):
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {error}" if isinstance(error, (KeyError, TypeError)) else str(error)
            raise SiddhiAppCreationError(
                f"invalid Avro schema: {what}", code="E326", hint="write the schema as JSON, as in an .avsc file"
            ) from error

    def resolved(self, schema: Any) -> Any:
        """Return a part of the schema; for the name of a type, the type."""
        if isinstance(schema, str):
            return self._named.get(schema, schema)
        return schema

    def kind(self, schema: Any) -> str:
        """Return the type of a part of the schema: ``record``, ``union``, ``decimal``, ``long`` and so on."""
        schema = self.resolved(schema)
        if isinstance(schema, list):
            return "union"
        if isinstance(schema, str):
            return schema
        if schema.get("logicalType") == "decimal" and schema["type"] in ("bytes", "fixed"):
            return "decimal"
        kind = schema["type"]
        return str(kind) if isinstance(kind, str) else self.kind(kind)

    def branches(self, schema: Any) -> list[Any]:
        """Return the branches of a union; the schema itself if it is not a union."""
        schema = self.resolved(schema)
        return schema if isinstance(schema, list) else [schema]

    def fields(self, schema: Any) -> dict[str, dict[str, Any]]:
        """Return the fields of a record by name."""
        return {field["name"]: field for field in self.resolved(schema)["fields"]}

    def decode(self, data: bytes, writer: AvroSchema | None = None) -> Any:
        """Return the value of an encoded payload.

        Args:
            data: the payload.
            writer: the schema with which it was written, if that is another one.

        Raises:
            MappingFailedError: the payload does not fit the schema.
        """
        stream = BytesIO(data)
        try:
            value = self._read(stream, self.root) if writer is None else writer._read(stream, writer.root, self.root)
        except RecursionError:
            raise MappingFailedError("the payload is nested too deeply") from None
        except Exception as error:
            why = str(error) or type(error).__name__
            raise MappingFailedError(
                f"the payload does not fit the Avro schema, at byte {stream.tell()}: {why}"
            ) from error
        if stream.tell() != len(data):
            raise MappingFailedError(
                f"the payload does not fit the Avro schema: it has {len(data) - stream.tell()} more bytes"
            )
        return value

    def encode(self, value: Any, *, item: bool = False) -> bytes:
        """Return the payload of a value.

        Args:
            value: the value.
            item: whether the value is the only item of an array, which the schema is.

        Raises:
            MappingFailedError: the value does not fit the schema.
        """
        stream = BytesIO()
        try:
            self._write(stream, self.root, [value] if item else value)
        except RecursionError:
            raise MappingFailedError("a value is nested too deeply") from None
        except Exception as error:
            raise MappingFailedError(
                f"the event does not fit the Avro schema: {str(error) or type(error).__name__}"
            ) from error
        return stream.getvalue()

    def _children(self, schema: Any) -> Iterator[Any]:
        schema = self.resolved(schema)
        if isinstance(schema, list):
            yield from schema
        elif isinstance(schema, dict):
            yield from (field["type"] for field in schema.get("fields", ()))
            yield from (schema[key] for key in ("items", "values") if key in schema)

    def _parts(self, schema: Any, seen: set[str]) -> Iterator[Any]:
        """Return a schema and the schemas inside it, each named one once."""
        schema = self.resolved(schema)
        if isinstance(schema, dict) and "name" in schema:
            if schema["name"] in seen:
                return
            seen.add(schema["name"])
        yield schema
        for child in self._children(schema):
            yield from self._parts(child, seen)

    def _contains_itself(self, schema: Any) -> bool:
        return any(
            part is schema or (isinstance(part, dict) and part.get("name") == schema["name"])
            for child in self._children(schema)
            for part in self._parts(child, set())
        )

    def _has_empty_items(self, schema: Any) -> bool:
        return isinstance(schema, dict) and schema["type"] == "array" and self._is_empty(schema["items"], ())

    def _is_empty(self, schema: Any, inside: tuple[str, ...]) -> bool:
        """Return whether the values of a schema have no bytes."""
        schema = self.resolved(schema)
        kind = self.kind(schema)
        if kind == "record":
            if schema["name"] in inside:
                return True
            return all(self._is_empty(field["type"], (*inside, schema["name"])) for field in schema["fields"])
        return kind == "null" or (isinstance(schema, dict) and schema["type"] == "fixed" and schema["size"] < 1)


def generated(stream: str, attributes: tuple[tuple[str, Any], ...]) -> str:
    """Return the schema of a stream: a record with a field per attribute, in their order.

    Raises:
        SiddhiAppCreationError: an attribute is an object, for which Avro has no type.
    """
    fields = []
    for name, type_ in attributes:
        if type_.value not in _NUMBERS:
            raise SiddhiAppCreationError(
                f"no Avro schema can be generated for stream '{stream}': attribute '{name}' is an {type_.value}",
                code="E326",
                hint="add schema.def = '...'",
            )
        fields.append({"name": name, "type": _NUMBERS[type_.value]})
    return json.dumps({"type": "record", "name": stream, "fields": fields})


def _json(text: str) -> Any:
    """Return the JSON of a schema; the name of a primitive type can stand without quotes."""
    text = text.strip()
    if text.isidentifier():
        return text
    document = json.loads(text)
    if not isinstance(document, (str, list, dict)) or not document:
        raise ValueError(f"expected an object, a list or a text, got {text[:80]}")
    return document


def _underlying(schema: Any) -> Any:
    """Return a schema without logical types other than ``decimal``."""
    if isinstance(schema, list):
        return [_underlying(branch) for branch in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {key: value for key, value in schema.items() if key != "logicalType" or value == "decimal"}
    for key in ("type", "items", "values"):
        if key in kept:
            kept[key] = _underlying(kept[key])
    if isinstance(fields := kept.get("fields"), list):
        kept["fields"] = [_underlying(field) for field in fields]
    return kept
