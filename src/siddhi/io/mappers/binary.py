"""``@map(type = 'binary')``: payloads are messages of Siddhi's binary format.

All numbers are big-endian. A message is the number of events (int32) and the events. An event is its timestamp (int64) and its
attributes: a string is its length in bytes (int32) and UTF-8; int, long, float and double have 4, 8, 4 and 8 bytes; a bool is one
byte, 1 for true; an object is an int32 of 0, since its value is not sent. Null is not part of the format.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from siddhi.errors import MappingFailedError, SiddhiAppCreationError, shown
from siddhi.event import Event
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder, Template
from siddhi.io.sink import SinkListener, SinkMapper
from siddhi.io.source import AttributeMapping, InputEventHandler, SourceMapper
from siddhi.types import AttributeType

__all__ = ["BinarySinkMapper", "BinarySourceMapper"]

_CODES = {
    AttributeType.INT: "i",
    AttributeType.LONG: "q",
    AttributeType.FLOAT: "f",
    AttributeType.DOUBLE: "d",
    AttributeType.BOOL: "?",
    AttributeType.STRING: "i",  # its length
    AttributeType.OBJECT: "i",  # 0
}
_COUNT = struct.Struct(">i")


class BinarySourceMapper(SourceMapper):
    """Maps a message to a chunk of events, which have the timestamps of the message."""

    supported_input_event_classes: ClassVar[tuple[type, ...]] = (bytes, bytearray, memoryview)
    allow_null_in_transport_properties = False

    def init(self, options: OptionHolder, mappings: tuple[AttributeMapping, ...], context: ConnectorContext) -> None:
        for mapping in mappings:
            if mapping.mapping != mapping.name:
                raise SiddhiAppCreationError(
                    f"source mapper 'binary' can't map attribute '{mapping.name}' to '{mapping.mapping}': the format has no names",
                    code="E326",
                    hint="remove @attributes, or map attributes to their own name or to 'trp:...'",
                )
        self._attributes = context.attributes
        types = [type_ for _, type_ in context.attributes]
        self._events_of = context.binary_events
        self._segments = _segments(types)
        self._is_fixed = len(self._segments) == 1 and AttributeType.OBJECT not in types
        self._objects = [position for position, type_ in enumerate(types) if type_ is AttributeType.OBJECT]

    def map(self, payload: Any, handler: InputEventHandler) -> None:
        """Map a message.

        Raises:
            MappingFailedError: the message does not have the format. Of several events, one with a text that is not UTF-8 is
                reported to the handler after the others are sent.
        """
        if not isinstance(payload, (bytes, bytearray, memoryview)):
            raise MappingFailedError(f"expected bytes, got {type(payload).__name__}")
        data = bytes(payload)
        decoded = self._events_of(data)
        if decoded is not None:
            handler.send_events(decoded)
            return
        # What follows finds the errors, and reads the other events of a message with a text that is not UTF-8.
        if len(data) < 4:
            raise MappingFailedError(f"the message has {len(data)} bytes, expected the number of events in the first 4")
        (count,) = _COUNT.unpack_from(data)
        if count < 0:
            raise MappingFailedError(f"the number of events in the message is {count}")
        if self._is_fixed:
            self._check_length(data, count)
        events: list[Event] = []
        failed: list[tuple[MappingFailedError, bytes]] = []
        at = 4
        for number in range(count):
            start = at
            try:
                values, at, bad = self._event(data, at)
            except struct.error:
                raise MappingFailedError(
                    f"the message ends in event {number + 1} of {count}, at byte {len(data)}"
                ) from None
            if bad is None:
                events.append(Event(values[0], tuple(values[1:])))
            else:
                failed.append((bad, _COUNT.pack(1) + data[start:at]))
        if at != len(data):
            raise MappingFailedError(f"the message has {len(data) - at} bytes after its {count} events")
        if failed and count == 1:
            raise failed[0][0]
        handler.send_events(events)
        for error, part in failed:
            handler.fail(error, part)

    def _check_length(self, data: bytes, count: int) -> None:
        """Check the length of a message whose events all have the same length."""
        ((layout, _),) = self._segments
        if len(data) != 4 + count * layout.size:
            raise MappingFailedError(
                f"the message has {len(data)} bytes, expected {4 + count * layout.size} for its {count} events"
            )

    def _event(self, data: bytes, at: int) -> tuple[list[Any], int, MappingFailedError | None]:
        """Return the timestamp and values of an event, the index after it, and the error of a text that is not UTF-8.

        Raises:
            struct.error: the message ends in the event.
            MappingFailedError: the length of a text or object is invalid; the rest of the message can't be read.
        """
        values: list[Any] = []
        bad = None
        for layout, has_text in self._segments:
            values += layout.unpack_from(data, at)
            at += layout.size
            if not has_text:
                continue
            length = values.pop()
            if not 0 <= length <= len(data) - at:
                raise MappingFailedError(
                    f"attribute '{self._attributes[len(values) - 1][0]}': {length} is not the length of a text, at byte {at - 4}"
                )
            try:
                values.append(str(data[at : at + length], "utf-8") if length else None)
            except ValueError as error:
                bad = MappingFailedError(f"attribute '{self._attributes[len(values) - 1][0]}': {error}")
                values.append(None)
            at += length
        for position in self._objects:
            if values[position + 1] != 0:
                raise MappingFailedError(
                    f"attribute '{self._attributes[position][0]}': the length of an object is {values[position + 1]}, expected 0"
                )
            values[position + 1] = None
        return values, at, bad


class BinarySinkMapper(SinkMapper):
    """Maps an event, or the events of a chunk, to one message."""

    output_event_classes: ClassVar[tuple[type, ...]] = (bytes,)

    def init(self, options: OptionHolder, payloads: Mapping[str, Template], context: ConnectorContext) -> None:
        if payloads:
            raise SiddhiAppCreationError("sink mapper 'binary' takes no @payload", code="E326", hint="remove @payload")
        self._attributes = context.attributes
        self._texts = [type_ is AttributeType.STRING for _, type_ in context.attributes]
        self._objects = [type_ is AttributeType.OBJECT for _, type_ in context.attributes]
        self._segments = [
            (layout, len(layout.unpack(bytes(layout.size))), has_text)
            for layout, has_text in _segments([type_ for _, type_ in context.attributes])
        ]

    def map_event(self, event: Event, listener: SinkListener) -> None:
        """Publish the message of an event.

        Raises:
            MappingFailedError: a value is null.
        """
        listener.publish(_COUNT.pack(1) + self._written(event))

    def map_events(self, events: Sequence[Event], listener: SinkListener) -> None:
        """Publish one message of all events.

        Raises:
            MappingFailedError: a value is null; no event is published.
        """
        listener.publish(_COUNT.pack(len(events)) + b"".join(map(self._written, events)))

    def _written(self, event: Event) -> bytes:
        values: list[Any] = [event.timestamp]
        texts: list[bytes] = []
        for (name, _), is_text, is_object, value in zip(
            self._attributes, self._texts, self._objects, event.data, strict=True
        ):
            if is_object:
                values.append(0)
            elif value is None:
                raise MappingFailedError(f"attribute '{name}' is null, which the binary format can't represent")
            elif is_text:
                try:
                    text = value.encode()
                except UnicodeEncodeError as error:
                    raise MappingFailedError(f"attribute '{name}': {shown(value)} is not UTF-8: {error}") from None
                texts.append(text)
                values.append(len(text))
            else:
                values.append(value)
        parts: list[bytes] = []
        written, at = iter(texts), 0
        for layout, size, has_text in self._segments:
            parts.append(layout.pack(*values[at : at + size]))
            at += size
            if has_text:
                parts.append(next(written))
        return b"".join(parts)


def _segments(types: Sequence[AttributeType]) -> list[tuple[struct.Struct, bool]]:
    """Return the layouts of the values between texts, and whether a text follows; its length is the last value."""
    segments, codes = [], ">q"
    for type_ in types:
        codes += _CODES[type_]
        if type_ is AttributeType.STRING:
            segments.append((struct.Struct(codes), True))
            codes = ">"
    if codes != ">":
        segments.append((struct.Struct(codes), False))
    return segments
