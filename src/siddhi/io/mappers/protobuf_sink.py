"""``@map(type = 'protobuf')`` of a sink: events are mapped to messages of Protocol Buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import EncodeError, Message

from siddhi.errors import MappingFailedError, SiddhiAppCreationError, shown
from siddhi.event import Event
from siddhi.io.connector import ConnectorContext
from siddhi.io.mappers.protobuf_messages import FieldPath, is_map, is_repeated, message_class, path_of
from siddhi.io.options import OptionHolder, Template
from siddhi.io.sink import SinkListener, SinkMapper

__all__ = ["ProtobufSinkMapper"]

Set = Callable[[Any, Any], None]
"""Sets the field of a message to a value, which is not null."""


class ProtobufSinkMapper(SinkMapper):
    """Maps an event to a message. The fields are the attributes of the same names, or those of ``@payload``."""

    output_event_classes: ClassVar[tuple[type, ...]] = (bytes,)

    def init(self, options: OptionHolder, payloads: Mapping[str, Template], context: ConnectorContext) -> None:
        self._class = message_class("sink mapper 'protobuf'", options)
        self._fields: list[tuple[str, Callable[[Event], Any], Set]] = []
        if not payloads:
            for position, (name, type_) in enumerate(context.attributes):
                self._add(path_of(self._class, name, name, type_), _value_at(position))
        for key, template in payloads.items():
            self._add_template(key, template, context)

    def _add_template(self, key: str, template: Template, context: ConnectorContext) -> None:
        if not key:
            raise SiddhiAppCreationError(
                "sink mapper 'protobuf' needs the name of a field in @payload",
                code="E326",
                hint="write @payload(<field> = '<attribute>', ...)",
            )
        if template.is_value and isinstance(position := template.parts[0], int):
            name, type_ = context.attributes[position]
            self._add(path_of(self._class, key, name, type_), _value_at(position))
        else:
            self._add(path_of(self._class, key, key, None), template.render)

    def _add(self, path: FieldPath, value_of: Callable[[Event], Any]) -> None:
        texts = [outer.name for outer in path.outer]
        set_ = _setter(path)

        def set_inside(message: Any, value: Any) -> None:
            for name in texts:
                message = getattr(message, name)
            set_(message, value)

        self._fields.append((path.text, value_of, set_inside if texts else set_))

    def map_event(self, event: Event, listener: SinkListener) -> None:
        """Publish the message of an event.

        Raises:
            MappingFailedError: a value does not fit its field.
        """
        message = self._class()
        for text, value_of, set_ in self._fields:
            value = value_of(event)
            if value is None:
                continue  # the field stays unset
            try:
                set_(message, value)
            except (TypeError, ValueError, AttributeError, KeyError, RecursionError) as error:
                raise MappingFailedError(f"field '{text}': {shown(value)} does not fit: {error}") from error
        try:
            payload = message.SerializeToString(deterministic=True)
        except (EncodeError, ValueError) as error:
            raise MappingFailedError(f"the message can't be written: {error}") from error
        listener.publish(payload)


def _value_at(position: int) -> Callable[[Event], Any]:
    return lambda event: event.data[position]


def _setter(path: FieldPath) -> Set:
    field = path.field
    name = field.name
    if is_map(field):
        return lambda message, value: _fill_map(getattr(message, name), field, value)
    if is_repeated(field):
        return lambda message, value: _fill_list(getattr(message, name), field, value)
    if field.message_type is not None:
        return lambda message, value: _fill(getattr(message, name), value)
    if field.type == FieldDescriptor.TYPE_ENUM:
        return lambda message, value: setattr(message, name, _number(field, value))
    return lambda message, value: setattr(message, name, value)


def _fill(message: Any, value: Any) -> None:
    """Copy a message, or the values of a dict by names of fields, into a message."""
    if isinstance(value, Message):
        if value.DESCRIPTOR.full_name != message.DESCRIPTOR.full_name:
            raise TypeError(f"expected a message {message.DESCRIPTOR.full_name}, got {value.DESCRIPTOR.full_name}")
        message.SetInParent()
        if isinstance(value, type(message)):
            message.MergeFrom(value)
        else:  # the class of another descriptor pool
            message.MergeFromString(value.SerializeToString())
        return
    if not isinstance(value, Mapping):
        raise TypeError(f"expected a message {message.DESCRIPTOR.full_name} or a dict")
    message.SetInParent()
    fields = message.DESCRIPTOR.fields_by_name
    for key, item in value.items():
        if key not in fields:
            raise ValueError(f"message {message.DESCRIPTOR.full_name} has no field {shown(key)}")
        if item is not None:
            _setter(FieldPath((), fields[key], key))(message, item)


def _fill_list(items: Any, field: Any, value: Any) -> None:
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise TypeError("expected a list")
    if field.message_type is not None:
        for item in value:
            _fill(items.add(), item)
    elif field.type == FieldDescriptor.TYPE_ENUM:
        items.extend([_number(field, item) for item in value])
    else:
        items.extend(value)


def _fill_map(entries: Any, field: Any, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise TypeError("expected a dict")
    values = field.message_type.fields_by_name["value"]
    for key, item in value.items():
        if values.message_type is not None:
            _fill(entries[key], item)
        else:
            entries[key] = _number(values, item) if values.type == FieldDescriptor.TYPE_ENUM else item


def _number(field: Any, value: Any) -> int:
    """Return the number of an enum's value: its name, its number, or the number as text."""
    if not isinstance(value, str):
        return int(value)
    known = field.enum_type.values_by_name.get(value)
    return int(value) if known is None else int(known.number)
