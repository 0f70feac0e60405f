"""``@map(type = 'json')`` of a sink: events are mapped to JSON texts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from siddhi.errors import MappingFailedError
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
            return lambda value: self._object(value, text_of)
        if type_ in (AttributeType.FLOAT, AttributeType.DOUBLE):
            return lambda value: text_of(value) if math.isfinite(value) else "null"  # type: ignore[arg-type]
        return text_of

    def _object(self, value: object, text_of: Callable[[object], str]) -> str:
        if isinstance(value, Mapping):
            if not value:
                return ""
            members = {str(key): item for key, item in value.items() if item is not None or self._keeps_null}
            return "{" + ",".join(f"{text(key)}:{self._item(item, text_of)}" for key, item in members.items()) + "}"
        return self._item(value, text_of)

    def _item(self, value: object, text_of: Callable[[object], str]) -> str:
        if value is None:
            return "null"
        if isinstance(value, Mapping):
            return self._object(value, text_of) or "{}"
        if isinstance(value, (list, tuple, set, frozenset)):
            return "[" + ",".join(self._item(item, text_of) for item in value) + "]"
        if isinstance(value, (bool, int)):
            return json.dumps(value)
        if isinstance(value, float):
            return repr(value) if math.isfinite(value) else "null"
        return text(value if isinstance(value, str) else text_of(value))


def text(value: object) -> str:
    """Return a text as a JSON string."""
    written = _encode(value)
    return written if written.isascii() else written.translate(_LINE_SEPARATORS)
