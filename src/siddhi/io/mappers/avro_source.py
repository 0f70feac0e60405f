"""``@map(type = 'avro')`` of a source: records of Avro are mapped to events."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, ClassVar

from siddhi.errors import MappingFailedError, shown
from siddhi.io.connector import ConnectorContext
from siddhi.io.mappers.avro_registry import FRAME_BYTES, frame, frame_id, registry_of, schema_of
from siddhi.io.mappers.avro_values import reader
from siddhi.io.mappers.json_path import MISSING, JsonPath
from siddhi.io.options import OptionHolder
from siddhi.io.source import AttributeMapping, InputEventHandler, SourceMapper

__all__ = ["AvroSourceMapper"]

logger = logging.getLogger("siddhi")

Row = tuple[object, ...]


class AvroSourceMapper(SourceMapper):
    """Maps a record to an event, and the records of an array to a chunk of events.

    Without ``@attributes`` the fields are the attributes of the same names; with ``@attributes`` each value is found by a
    JSONPath in the record.
    """

    supported_input_event_classes: ClassVar[tuple[type, ...]] = (bytes, bytearray, memoryview, dict, list)

    def init(self, options: OptionHolder, mappings: tuple[AttributeMapping, ...], context: ConnectorContext) -> None:
        self._strict = options.flag("fail.on.missing.attribute", default=True)
        self.allow_null_in_transport_properties = not self._strict
        self._takes_records = options.flag("use.avro.deserializer", default=False)
        self._registry = registry_of(options)
        self._schema = schema_of("source mapper 'avro'", options, self._registry, context)
        has_id = self._registry is not None and "schema.id" in options
        self._id = options.integer("schema.id", most=2**31 - 1) if has_id else None
        root = self._schema.root
        self._is_list = self._schema.kind(root) == "array"
        record = self._schema.resolved(root)["items"] if self._is_list else root
        self._row_of = self._custom(mappings, record, context) if mappings else self._default(record, context)

    def map(self, payload: Any, handler: InputEventHandler) -> None:
        """Map a payload.

        Raises:
            MappingFailedError: the payload does not fit the schema, or its only event can't be mapped. Of an array, the items
                that can't be mapped are reported to the handler after the others are sent.
        """
        value = self._decoded(payload)
        if not isinstance(value, list):
            handler.send_row(self._row_of(value))
            return
        rows: list[Row] = []
        failed = []
        row_of = self._row_of
        for item in value:
            try:
                rows.append(row_of(item))
            except MappingFailedError as error:
                failed.append((error, item))
        if failed and len(value) == 1:
            raise failed[0][0]
        handler.send_rows(rows)
        for cause, item in failed:
            handler.fail(cause, item if not isinstance(payload, (bytes, bytearray, memoryview)) else self._part(item))

    def _decoded(self, payload: Any) -> Any:
        if isinstance(payload, (bytes, bytearray, memoryview)):
            data = bytes(payload)
            if self._registry is None:
                return self._schema.decode(data)
            id_ = frame_id(data)
            writer = None if id_ == self._id else self._registry.schema(id_)
            return self._schema.decode(data[FRAME_BYTES:], writer)
        if self._takes_records and isinstance(payload, (Mapping, list)):
            return payload
        raise MappingFailedError(f"expected bytes, got {type(payload).__name__}")

    def _part(self, item: Any) -> bytes:
        """Return a payload with one item of an array."""
        data = self._schema.encode(item, item=True)
        return data if self._registry is None or self._id is None else frame(self._id) + data

    def _default(self, record: Any, context: ConnectorContext) -> Callable[[Any], Row]:
        names = [name for name, _ in context.attributes]
        if self._schema.kind(record) != "record":
            readers = [
                (name, reader(name, type_, self._schema, None, text_of))
                for (name, type_), text_of in zip(context.attributes, context.texts, strict=True)
            ]
            return lambda value: self._loose_row(value, readers, frozenset(names))
        fields = self._schema.fields(record)
        problem = self._problem(names, fields)
        if problem is not None:
            logger.warning("app '%s', stream '%s': each event will fail: %s", context.app, context.stream, problem)
            return lambda _: _fail(problem)
        readers = [
            (name, reader(name, type_, self._schema, fields[name]["type"], text_of) if name in fields else None)
            for (name, type_), text_of in zip(context.attributes, context.texts, strict=True)
        ]
        if (
            not self._takes_records
            and len(names) > 1
            and all(name in fields and read is None for name, read in readers)
        ):
            return itemgetter(*names)
        return lambda value: _row(value, readers)

    def _problem(self, names: Sequence[str], fields: Mapping[str, Any]) -> str | None:
        """Return why no record can be mapped; as in JSON, an item needs all attributes, and can have further fields."""
        wanted, given = (names, fields) if self._is_list else (fields, names)
        missing = [name for name in wanted if name not in given]
        if not missing:
            return None
        what = "the items have no field" if self._is_list else "the stream has no attribute for field"
        return f"{what} '{missing[0]}' of the Avro schema"

    @staticmethod
    def _loose_row(value: Any, readers: Sequence[tuple[str, Any]], names: frozenset[str]) -> Row:
        if isinstance(value, Mapping):
            for key in value:
                if key not in names:
                    _fail(f"the stream has no attribute for {shown(key)}")
        return _row(value, readers)

    def _custom(
        self, mappings: tuple[AttributeMapping, ...], record: Any, context: ConnectorContext
    ) -> Callable[[Any], Row]:
        found = []
        for mapping in mappings:
            path = JsonPath(mapping.mapping)
            name, type_ = context.attributes[mapping.position]
            read = reader(name, type_, self._schema, self._part_at(record, path), context.texts[mapping.position])
            found.append((mapping.position, name, path, read))
        width, strict = len(context.attributes), self._strict

        def row_of(value: Any) -> Row:
            row: list[object] = [None] * width
            for position, name, path, read in found:
                item = path.find(value)
                if item is MISSING:
                    if strict:
                        _fail(f"attribute '{name}': the record has no '{path.text}'")
                elif item is not None:
                    row[position] = item if read is None else read(item)
            return tuple(row)

        return row_of

    def _part_at(self, record: Any, path: JsonPath) -> Any:
        """Return the part of the schema at a path of names of fields; None: it is not known."""
        for key in path.keys or (None,):
            if self._schema.kind(record) != "record" or key not in (fields := self._schema.fields(record)):
                return None
            record = fields[key]["type"]
        return record


def _row(value: Any, readers: Sequence[tuple[str, Any]]) -> Row:
    if not isinstance(value, Mapping):
        _fail(f"expected a record, got {shown(value)}")
    return tuple([value.get(name) if read is None else read(value.get(name)) for name, read in readers])


def _fail(why: str) -> Any:
    raise MappingFailedError(why)
