"""``@map(type = 'xml')`` of a sink: events are mapped to XML documents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.event import Event
from siddhi.io.connector import ConnectorContext
from siddhi.io.mappers.templates import only_template
from siddhi.io.mappers.texts import checked
from siddhi.io.mappers.xml_documents import XSI, Documents, escaped, is_name
from siddhi.io.options import OptionHolder, Template
from siddhi.io.sink import SinkListener, SinkMapper

__all__ = ["XmlSinkMapper"]

_TAG = re.compile(r"<([^\s<>/]+)(\s[^<>]*)?>")


class XmlSinkMapper(SinkMapper):
    """Maps events to ``<events><event><name>value</name></event></events>``, or fills the template of ``@payload``."""

    output_event_classes: ClassVar[tuple[type, ...]] = (str,)

    def init(self, options: OptionHolder, payloads: Mapping[str, Template], context: ConnectorContext) -> None:
        self._template = only_template("xml", payloads)
        enclosing = options.static("enclosing.element", "<events>" if self._template is None else "").strip()
        tag = _TAG.fullmatch(enclosing)
        if enclosing and tag is None:
            raise SiddhiAppCreationError(
                f"invalid option 'enclosing.element' of sink mapper 'xml': '{enclosing}'",
                code="E326",
                hint="write an opening tag such as '<portfolio>'",
            )
        self._open = self._open_with_nil = enclosing
        self._close = ""
        if tag is not None:
            self._close = f"</{tag[1]}>"
            if "xmlns:xsi" not in enclosing:
                self._open_with_nil = f'<{tag[1]} xmlns:xsi="{XSI}"{tag[2] or ""}>'
        validates = options.flag("validate.xml", default=False)
        self._documents = Documents("option 'validate.xml'") if validates and self._template is not None else None
        self._columns = [(name, text_of) for (name, _), text_of in zip(context.attributes, context.texts, strict=True)]
        for name, _ in self._columns:
            if self._template is None and not is_name(name):
                raise SiddhiAppCreationError(
                    f"attribute '{name}' can't be the name of an XML element", code="E326", hint="add @payload('...')"
                )

    def map_event(self, event: Event, listener: SinkListener) -> None:
        """Publish a document with one event.

        Raises:
            MappingFailedError: a text has a character that XML does not allow, or the payload of a template is not a
                document, which ``validate.xml`` checks.
        """
        self.map_events([event], listener)

    def map_events(self, events: Sequence[Event], listener: SinkListener) -> None:
        """Publish a document with the events of a chunk."""
        if self._template is not None:
            payload = f"{self._open}{''.join(str(self._template.render(event)) for event in events)}{self._close}"
            if self._documents is not None:
                try:
                    self._documents.parse(payload)
                except MappingFailedError as error:
                    raise MappingFailedError(f"{error}: {payload}") from None
        else:
            has_null = any(value is None for event in events for value in event.data)
            opening = self._open_with_nil if has_null else self._open
            payload = f"{opening}{''.join(map(self._text_of, events))}{self._close}"
        listener.publish(checked(payload))

    def _text_of(self, event: Event) -> str:
        members = [
            f'<{name} xsi:nil="true"/>' if value is None else f"<{name}>{escaped(text_of(value), name)}</{name}>"
            for (name, text_of), value in zip(self._columns, event.data, strict=True)
        ]
        return f"<event>{''.join(members)}</event>"
