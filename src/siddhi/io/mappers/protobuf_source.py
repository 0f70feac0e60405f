"""``@map(type = 'protobuf')`` of a source: messages of Protocol Buffers are mapped to events."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from siddhi.errors import MappingFailedError
from siddhi.io.connector import ConnectorContext
from siddhi.io.mappers.protobuf_messages import FieldPath, is_map, is_repeated, message_class, path_of
from siddhi.io.options import OptionHolder
from siddhi.io.source import AttributeMapping, InputEventHandler, SourceMapper
from siddhi.types import AttributeType

__all__ = ["ProtobufSourceMapper"]

Read = Callable[[Any], object]


class ProtobufSourceMapper(SourceMapper):
    """Maps a message to an event. The fields are the attributes of the same names, or those that ``@attributes`` gives."""

    supported_input_event_classes: ClassVar[tuple[type, ...]] = (bytes, bytearray, memoryview, Message)
    allow_null_in_transport_properties = False

    def init(self, options: OptionHolder, mappings: tuple[AttributeMapping, ...], context: ConnectorContext) -> None:
        self._class = message_class("source mapper 'protobuf'", options)
        mapped = {mapping.position: mapping.mapping for mapping in mappings}
        paths: list[FieldPath | None] = []
        for position, (name, type_) in enumerate(context.attributes):
            text = mapped.get(position) if mappings else name
            paths.append(None if text is None else path_of(self._class, text, name, type_))
        types = [type_ for _, type_ in context.attributes]
        self._row_of = _row_reader(paths, types)

    def map(self, payload: Any, handler: InputEventHandler) -> None:
        """Map a message.

        Raises:
            MappingFailedError: the payload is not a message of the class, or a number is out of the attribute's range.
        """
        if isinstance(payload, Message):
            if payload.DESCRIPTOR.full_name != self._class.DESCRIPTOR.full_name:
                raise MappingFailedError(
                    f"expected a message {self._class.DESCRIPTOR.full_name}, got {payload.DESCRIPTOR.full_name}"
                )
            message = payload
        elif isinstance(payload, (bytes, bytearray, memoryview)):
            try:
                message = self._class.FromString(bytes(payload))
            except DecodeError as error:
                raise MappingFailedError(f"not a message {self._class.DESCRIPTOR.full_name}: {error}") from None
        else:
            raise MappingFailedError(f"expected bytes or a message, got {type(payload).__name__}")
        handler.send_row(self._row_of(message))


def _row_reader(paths: list[FieldPath | None], types: list[AttributeType]) -> Callable[[Any], tuple[object, ...]]:
    """Return the function that reads the values of a message."""
    readers = [None if path is None else _reader(path, type_) for path, type_ in zip(paths, types, strict=True)]
    if len(paths) > 1 and all(path is not None and reader is None for path, reader in zip(paths, readers, strict=True)):
        return attrgetter(*(path.text for path in paths if path is not None))
    reads: list[Read] = [
        (lambda _: None) if path is None else reader or attrgetter(path.text)
        for path, reader in zip(paths, readers, strict=True)
    ]
    return lambda message: tuple([read(message) for read in reads])


def _reader(path: FieldPath, type_: AttributeType) -> Read | None:
    """Return the function that reads a field of a message; None: the attribute of the Python object is the value."""
    field = path.field
    convert = _converter(path, type_)
    guarded = [outer.name for outer in path.outer]
    if field.has_presence:
        guarded.append(field.name)
    if not guarded:
        # Numbers out of the attribute's range are refused where the row is sent.
        return None if convert is None else lambda message: convert(getattr(message, field.name))
    outer_names, name, has_presence = guarded[: len(path.outer)], field.name, field.has_presence

    def read(message: Any) -> object:
        for outer in outer_names:
            if not message.HasField(outer):
                return None
            message = getattr(message, outer)
        if has_presence and not message.HasField(name):
            return None
        value = getattr(message, name)
        return value if convert is None else convert(value)

    return read


def _converter(path: FieldPath, type_: AttributeType) -> Callable[[Any], object] | None:
    field = path.field
    if is_map(field):
        return dict
    if is_repeated(field):
        return list
    if field.type == FieldDescriptor.TYPE_ENUM and type_ is AttributeType.STRING:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        return lambda number: names.get(number, str(number))
    limit = 2**31 if type_ is AttributeType.INT else 2**63
    unsigned = {FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32} if type_ is AttributeType.INT else set()
    if type_ is AttributeType.LONG:
        unsigned = {FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64}
    if field.type in unsigned:

        def signed(value: int) -> int:
            if value >= limit:
                raise MappingFailedError(f"field '{path.text}': {value} is not in the range of {type_.value}")
            return value

        return signed
    return None
