"""``@map(type = 'json')`` of a source: JSON documents are mapped to events."""

from __future__ import annotations

from typing import Any, ClassVar

from siddhi.errors import MappingFailedError
from siddhi.io.connector import ConnectorContext
from siddhi.io.mappers.json_decoder import Decode, custom_decoder, default_decoder
from siddhi.io.mappers.json_path import MISSING, JsonPath
from siddhi.io.mappers.json_values import compact, exact_reader, loose_reader, parse, plain
from siddhi.io.options import OptionHolder
from siddhi.io.source import AttributeMapping, InputEventHandler, SourceMapper

__all__ = ["JsonSourceMapper"]

Row = tuple[object, ...]


class JsonSourceMapper(SourceMapper):
    """Maps a JSON object to an event, and a list of objects to a chunk of events.

    Without ``@attributes`` the keys are the names of the attributes, optionally inside the key ``event``. With
    ``@attributes`` each value is found by a JSONPath from the element selected by ``enclosing.element``.
    """

    supported_input_event_classes: ClassVar[tuple[type, ...]] = (str, bytes, bytearray, memoryview)

    def init(self, options: OptionHolder, mappings: tuple[AttributeMapping, ...], context: ConnectorContext) -> None:
        self._strict = options.flag("fail.on.missing.attribute", default=True)
        self._lenient = options.flag("lenient", default=False)
        self._grouped = options.flag("event.grouping.enabled", default=True)
        self.allow_null_in_transport_properties = not self._strict
        enclosing = options.static("enclosing.element", "$").strip()
        self._enclosing = JsonPath(enclosing)
        # Precedes a stored element whose place can't be told by keys; no JSON document begins so.
        self._mark = f"{enclosing} = " if mappings and self._enclosing.keys is None else None
        self._paths = [(mapping.position, JsonPath(mapping.mapping)) for mapping in mappings]
        self._names = {name: position for position, (name, _) in enumerate(context.attributes)}
        self._exact = [
            exact_reader(name, type_, reader)
            for (name, type_), reader in zip(context.attributes, context.readers, strict=True)
        ]
        self._loose = [
            loose_reader(name, type_, reader)
            for (name, type_), reader in zip(context.attributes, context.readers, strict=True)
        ]
        self._decode: Decode | None
        if mappings:
            options.without_effect(("lenient",), "no @attributes")
            self._decode = custom_decoder(context.attributes, self._paths, self._enclosing, strict=self._strict)
        else:
            self._decode = default_decoder(context.attributes, strict=self._strict)

    def map(self, payload: Any, handler: InputEventHandler) -> None:
        """Map a payload.

        Raises:
            MappingFailedError: the payload is not JSON, or its only event can't be mapped. Of a list, the elements that can't
                be mapped are reported to the handler after the others are sent.
        """
        if isinstance(payload, memoryview):
            payload = bytes(payload)
        if self._mark is not None and isinstance(payload, str) and payload.startswith(self._mark):
            handler.send_row(self._custom_row(plain(parse(payload[len(self._mark) :]))))
            return
        is_text = isinstance(payload, (str, bytes, bytearray))
        decoded = self._decode(payload) if is_text and self._decode is not None else None
        if decoded is not None:
            is_list, rows = decoded
            if is_list:
                self._send(rows, handler)
            else:
                handler.send_row(rows)
            return
        document = parse(payload)
        if not self._paths:
            if isinstance(document, list):
                self._map_list(document, self._listed_row, handler)
            else:
                handler.send_row(self._single_row(document))
            return
        event = self._enclosing.find(document)
        if event is MISSING or event is None:
            raise MappingFailedError(f"the document has no element '{self._enclosing.text}'")
        if isinstance(event, list):
            self._map_list(event, self._custom_row, handler)
        else:
            handler.send_row(self._custom_row(event))

    def _send(self, rows: list[Row], handler: InputEventHandler) -> None:
        if self._grouped:
            handler.send_rows(rows)
        else:
            for row in rows:
                handler.send_row(row)

    def _map_list(self, elements: list[Any], row_of: Any, handler: InputEventHandler) -> None:
        rows, failed = [], []
        for element in elements:
            try:
                rows.append(row_of(element))
            except MappingFailedError as error:
                failed.append((error, element))
        self._send(rows, handler)
        for cause, element in failed:
            handler.fail(cause, self._payload_of(element))

    def _payload_of(self, element: Any) -> str:
        """Return a payload with one element of a list, to which the same rules apply as in the list."""
        text = compact(element)
        if self._mark is not None:
            return f"{self._mark}{text}"
        # The default layout has other rules for a single object, and a list, or null, alone is no element.
        if not self._paths or element is None or isinstance(element, list):
            text = f"[{text}]"
        for key in reversed((self._enclosing.keys or ()) if self._paths else ()):
            text = f"[{'null,' * key}{text}]" if isinstance(key, int) else f"{{{compact(key)}:{text}}}"
        return text

    def _single_row(self, document: Any) -> Row:
        if isinstance(document, dict):
            first = next(iter(document), None)
            if (
                first is not None
                and first.lower() == "event"
                and (first not in self._names or isinstance(document[first], dict))
            ):
                if len(document) > 1 and not self._lenient:
                    raise MappingFailedError(f"unknown key {compact(list(document)[1])} beside '{first}'")
                document = document[first]
        keys = document if isinstance(document, dict) else {}
        if document is not keys and isinstance(document, list):
            raise MappingFailedError("expected an object, got a list")
        if not self._lenient:
            for key in keys:
                if key not in self._names:
                    raise MappingFailedError(f"unknown key {compact(key)}: the stream has no such attribute")
        return tuple(
            read(keys[name]) if name in keys else self._missing(name)
            for name, read in zip(self._names, self._loose if self._lenient else self._exact, strict=True)
        )

    def _listed_row(self, element: Any) -> Row:
        if not isinstance(element, dict):
            raise MappingFailedError(f"expected an object, got {compact(element)}")
        is_wrapped = isinstance(element.get("event"), dict)
        values = element["event"] if is_wrapped else element
        return tuple(
            read(values[name]) if name in values else self._missing(name, always=not is_wrapped)
            for name, read in zip(self._names, self._loose, strict=True)
        )

    def _custom_row(self, event: Any) -> Row:
        row: list[object] = [None] * len(self._names)
        for position, path in self._paths:
            value = path.find(event)
            row[position] = self._missing(path.text) if value is MISSING else self._loose[position](value)
        return tuple(row)

    def _missing(self, name: str, *, always: bool = False) -> object:
        if self._strict or always:
            raise MappingFailedError(f"the event has no '{name}'")
        return None
