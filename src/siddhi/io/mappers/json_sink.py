"""``@map(type = 'json')`` of a sink: events are mapped to JSON texts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from enum import Enum
from typing import Any, ClassVar

from siddhi._arrays import means_null, python_value
from siddhi.errors import MappingFailedError, shown
from siddhi.event import Event
from siddhi.io.connector import ConnectorContext
from siddhi.io.mappers.templates import only_template, with_null
from siddhi.io.mappers.texts import checked
from siddhi.io.options import OptionHolder, Template
from siddhi.io.sink import SinkListener, SinkMapper
from siddhi.types import AttributeType

__all__ = ["JsonSinkMapper"]

_UNDEFINED = "undefined"
_LINE_SEPARATORS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029"})
_encode = json.JSONEncoder(ensure_ascii=False).encode


class JsonSinkMapper(SinkMapper):
    """Maps an event to ``{"event":{"name":value}}``, or fills the template of ``@payload``."""

    output_event_classes: ClassVar[tuple[type, ...]] = (str,)

    def init(self, options: OptionHolder, payloads: Mapping[str, Template], context: ConnectorContext) -> None:
        self._grouped = options.flag("event.grouping.enabled", default=True)
        self._keeps_null = options.flag("enable.null.attribute.value", default=False)
        self._null = "null" if self._keeps_null else f'"{_UNDEFINED}"'
        keys = [key for key in options.static("enclosing.element", "").strip().split(".") if key not in ("", "$")]
        self._prefix = "".join(f"{{{text(key)}:" for key in keys)
        self._suffix = "}" * len(keys)
        template = only_template("json", payloads)
        self._template = (
            None if template is None else with_null(template, "null" if self._keeps_null else _UNDEFINED, context)
        )
        validates = options.flag("validate.json", default=False)
        self._checked = None if template is None or not validates else with_null(template, "null", context)
        self._members = [
            (f"{text(name)}:", self._writer(type_, texts))
            for (name, type_), texts in zip(context.attributes, context.texts, strict=True)
        ]

    def map_event(self, event: Event, listener: SinkListener) -> None:
        """Publish the text of an event.

        Raises:
            MappingFailedError: the text is not JSON, which ``validate.json`` checks, or can't be written as UTF-8.
        """
        self._check([event])
        listener.publish(checked(f"{self._prefix}{self._text_of(event)}{self._suffix}"))

    def map_events(self, events: Sequence[Event], listener: SinkListener) -> None:
        """Publish a list of the events' texts, or each text by itself if ``event.grouping.enabled`` is false."""
        if not self._grouped:
            for event in events:
                self.map_event(event, listener)
            return
        self._check(events)
        separator = "," if self._template is None else ",\n"
        joined = separator.join(map(self._text_of, events))
        listener.publish(checked(f"{self._prefix}[{joined}]{self._suffix}"))

    def _text_of(self, event: Event) -> str:
        if self._template is not None:
            return str(self._template.render(event))
        members = []
        for (key, write), value in zip(self._members, event.data, strict=True):
            written = self._null if value is None else write(value)
            if written:
                members.append(key + written)
        return '{"event":{' + ",".join(members) + "}}"

    def _check(self, events: Sequence[Event]) -> None:
        if self._checked is None:
            return
        for event in events:
            payload = f"{self._prefix}{self._checked.render(event)}{self._suffix}"
            try:
                json.loads(payload)
            except ValueError as error:
                raise MappingFailedError(f"the payload is not JSON: {error}: {payload}") from None

    def _writer(self, type_: AttributeType, text_of: Callable[[object], str]) -> Callable[[object], str]:
        """Return the function that writes values of a type as JSON; an empty text leaves the key out."""
        if type_ is AttributeType.STRING:
            return text
        if type_ is AttributeType.OBJECT:
            return _ObjectWriter(text_of, keeps_null=self._keeps_null).write
        if type_ in (AttributeType.FLOAT, AttributeType.DOUBLE):
            return lambda value: text_of(value) if math.isfinite(value) else "null"  # type: ignore[arg-type]
        return text_of


class _ObjectWriter:
    """Writes the values of an object attribute as JSON.

    Args:
        text_of: writes the text of a value that JSON has no form for, such as a date.
        keeps_null: whether null is written inside objects, instead of leaving its key out.
    """

    def __init__(self, text_of: Callable[[object], str], *, keeps_null: bool) -> None:
        self._text_of = text_of
        self._keeps_null = keeps_null

    def write(self, value: object) -> str:
        """Return a value as JSON; an empty text for an empty object.

        Raises:
            MappingFailedError: the value, or one inside it, has neither a form in JSON nor a text of its own.
        """
        if isinstance(value, Mapping) and not value:
            return ""
        try:
            return self._item(value)
        except RecursionError:
            raise MappingFailedError(
                "an object that contains itself, or is nested too deeply, has no JSON form"
            ) from None

    def _item(self, value: Any) -> str:
        value = python_value(value)
        if value is None or means_null(value):
            return "null"
        if isinstance(value, str):
            return text(value)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return int.__repr__(value)
        if isinstance(value, float):
            return float.__repr__(value) if math.isfinite(value) else "null"
        if isinstance(value, Mapping):
            members = {
                self._key(key): item
                for key, item in value.items()
                if self._keeps_null or not (item is None or means_null(item))
            }
            return "{" + ",".join([f"{text(key)}:{self._item(item)}" for key, item in members.items()]) + "}"
        if isinstance(value, (bytes, bytearray, memoryview)):
            raise MappingFailedError(f"{shown(value)} has no JSON form: decode it to a text")
        if isinstance(value, (Sequence, AbstractSet)):
            return "[" + ",".join(map(self._item, value)) + "]"
        if isinstance(value, Enum):
            return self._item(value.value)
        if isinstance(value, Decimal):
            return str(value) if value.is_finite() else "null"
        if not _has_text(value):
            raise MappingFailedError(
                f"a {type(value).__name__} has no JSON form: use a text, number, bool, list or dict"
            )
        return text(self._text_of(value))

    def _key(self, key: Any) -> str:
        """Return the text of a key; keys of numbers and bools are their JSON."""
        key = python_value(key)
        if isinstance(key, Enum) and not isinstance(key, str):
            return self._key(key.value)
        if isinstance(key, str):
            return str.__str__(key)
        if key is None or isinstance(key, (bool, int, float, Decimal)):
            return self._item(key)
        if isinstance(key, (bytes, tuple, frozenset)) or not _has_text(key):
            raise MappingFailedError(f"{shown(key)} can't be the key of a JSON object: use a text")
        return self._text_of(key)


def _has_text(value: object) -> bool:
    """Return whether the class of a value, or one that it derives from, has a text of its own."""
    return any("__str__" in vars(class_) for class_ in type(value).__mro__ if class_ is not object)


def text(value: object) -> str:
    """Return a text as a JSON string."""
    written = _encode(value)
    return written if written.isascii() else written.translate(_LINE_SEPARATORS)
