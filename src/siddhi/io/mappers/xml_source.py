"""``@map(type = 'xml')`` of a source: XML documents are mapped to events."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.io.connector import ConnectorContext
from siddhi.io.mappers.texts import decoded
from siddhi.io.mappers.xml_documents import Documents, alone, is_name, local_name, text_of
from siddhi.io.mappers.xml_fragments import Fragments
from siddhi.io.mappers.xml_paths import XPath, leaf_rows, namespaces_of, value_of
from siddhi.io.options import OptionHolder
from siddhi.io.source import AttributeMapping, InputEventHandler, SourceMapper

__all__ = ["XmlSourceMapper"]

logger = logging.getLogger("siddhi")

Row = tuple[object, ...]

_MISSING: Any = object()
_ONE = re.compile(r"<\?siddhi-event ([0-9]{1,9})\?>")
"""Precedes a stored document of which one event, by its number, is to be mapped."""
_DOWNWARD = re.compile(r"/?[\w:.-]+(/[\w:.-]+)*")
"""An enclosing element that is found again if nothing but it and its ancestors is left."""
_UPWARD = re.compile(r"\.\.|::|(?:^|[\[(,|=<>+*\s-])\s*/")
"""A path of a value that may look at other elements than the event's own."""
_MOST_NOTED = 20
_CUSTOM = (
    "namespaces",
    "enclosing.element",
    "enclosing.element.as.event",
    "enable.streaming.xml.content",
    "extract.leaf.node.data",
)


class XmlSourceMapper(SourceMapper):
    """Maps the elements ``event`` of ``events`` to a chunk of events.

    With ``@attributes`` each value is found by an XPath from the element of the event, which ``enclosing.element`` selects.
    """

    def init(self, options: OptionHolder, mappings: tuple[AttributeMapping, ...], context: ConnectorContext) -> None:
        self._documents = Documents("source mapper 'xml'")
        self._strict = options.flag("fail.on.missing.attribute", default=True)
        self.allow_null_in_transport_properties = not self._strict
        self._columns = list(zip(context.attributes, context.readers, strict=True))
        self._positions = {name: position for position, (name, _) in enumerate(context.attributes)}
        self._noted: set[str] = set()
        self._usual = None if mappings else _usual_layout(context)
        self._fragments: Fragments | None = None
        self._stores_alone = True
        self._map: Callable[[Any], tuple[list[Any], Callable[[Any], Sequence[Row]]]] = self._default
        if mappings:
            self._init_custom(options, mappings)
        elif any(name in options for name in _CUSTOM):
            logger.warning("source mapper 'xml': %s have no effect without @attributes", ", ".join(_CUSTOM))

    def _init_custom(self, options: OptionHolder, mappings: tuple[AttributeMapping, ...]) -> None:
        namespaces = namespaces_of(options.static("namespaces", ""))
        enclosing = options.static("enclosing.element", "").strip()
        self._as_event = options.flag("enclosing.element.as.event", default=False)
        streams = options.flag("enable.streaming.xml.content", default=False)
        if streams and not enclosing:
            raise SiddhiAppCreationError(
                "'enable.streaming.xml.content' of source mapper 'xml' needs 'enclosing.element'",
                code="E326",
                hint="write enclosing.element = '/root/child'",
            )
        self._fragments = Fragments(enclosing, self._documents) if streams else None
        self._enclosing = XPath(enclosing, self._documents, namespaces) if enclosing and not streams else None
        self._map = self._custom
        self._stores_alone = _DOWNWARD.fullmatch(enclosing) is not None and not any(
            _UPWARD.search(mapping.mapping) for mapping in mappings
        )
        if options.flag("extract.leaf.node.data", default=False):
            paths = {mapping.position: mapping.mapping.strip() for mapping in mappings}
            attributes, readers = zip(*self._columns, strict=True)
            self._rows_of = lambda event: leaf_rows(event, attributes, paths, readers, strict=self._strict)
        else:
            found = [(mapping.position, XPath(mapping.mapping, self._documents, namespaces)) for mapping in mappings]
            names = {path.child for _, path in found if path.child is not None}
            self._rows_of = lambda event: [self._custom_row(event, found, names)]

    def map(self, payload: Any, handler: InputEventHandler) -> None:
        """Map a payload.

        Raises:
            MappingFailedError: the payload is not XML or has no events, or its only event can't be mapped. Of several
                events, those that can't be mapped are reported to the handler after the others are sent.
        """
        if self._usual is not None and (usual := self._usual(payload)) is not None:
            handler.send_rows(usual)
            return
        broken = root = None
        if self._fragments is None:
            events, rows_of, root = self._found(payload)
        else:
            (events, broken), rows_of = self._fragments.feed(payload), self._rows_of
        rows: list[Row] = []
        failed = []
        for number, event in enumerate(events):
            try:
                rows += rows_of(event)
            except MappingFailedError as error:
                if len(events) == 1 and self._fragments is None:
                    raise
                failed.append((error, event, number))
        handler.send_rows(rows)
        for cause, event, number in failed:
            if self._fragments is not None:
                part = self._fragments.payload_of(event)
            elif self._stores_alone:
                part = self._documents.text(alone(event))
            else:
                part = f"<?siddhi-event {number}?>{self._documents.text(root)}"
            handler.fail(cause, part)
        if broken is not None:
            handler.fail(*broken)

    def snapshot(self) -> object:
        return None if self._fragments is None else {"document": self._fragments.kept}

    def restore(self, state: Any) -> None:
        if self._fragments is not None:
            self._fragments.resume(state["document"])

    def _found(self, payload: Any) -> tuple[list[Any], Callable[[Any], Sequence[Row]], Any]:
        """Return the events of a document, the function that gives their rows, and the root."""
        one = _ONE.match(payload) if isinstance(payload, str) else None
        root = self._documents.parse(payload if one is None else payload[one.end() :])
        events, rows_of = self._map(root)
        if one is None:
            return events, rows_of, root
        number = int(one[1])
        if number >= len(events):
            raise MappingFailedError(f"the document has {len(events)} events, expected one with the number {number}")
        return [events[number]], rows_of, root

    def _default(self, root: Any) -> tuple[list[Any], Callable[[Any], Sequence[Row]]]:
        if local_name(root) != "events":
            raise MappingFailedError(f"expected the element 'events', got '{local_name(root)}'")
        return [child for child in root if child.tag == "event"], self._default_rows

    def _default_rows(self, event: Any) -> list[Row]:
        row = [_MISSING] * len(self._columns)
        for child in event:
            position = self._positions.get(child.tag)
            if position is None:
                position = self._positions.get(local_name(child))
            if position is None:
                self._note_unknown(local_name(child))
                continue
            text = text_of(child)
            try:
                row[position] = None if text is None else self._columns[position][1](text)
            except ValueError as error:
                raise MappingFailedError(f"attribute '{local_name(child)}': {error}") from None
        if _MISSING in row:
            if self._strict:
                raise MappingFailedError(f"the event has no '{self._columns[row.index(_MISSING)][0][0]}'")
            row = [None if value is _MISSING else value for value in row]
        return [tuple(row)]

    def _note_unknown(self, name: str) -> None:
        if name and name not in self._noted and len(self._noted) < _MOST_NOTED:
            self._noted.add(name)
            logger.warning("source mapper 'xml': element '%s' is ignored: the stream has no such attribute", name)

    def _custom(self, root: Any) -> tuple[list[Any], Callable[[Any], Sequence[Row]]]:
        if self._enclosing is None:
            return [root], self._rows_of
        found = self._enclosing.find(root)
        selected = [one for one in found if local_name(one)] if isinstance(found, list) and _are_elements(found) else []
        if not selected:
            raise MappingFailedError(f"the document has no element '{self._enclosing.text}'")
        if not self._as_event:
            selected = [child for one in selected for child in one if local_name(child)]
        return selected, self._rows_of

    def _custom_row(self, event: Any, paths: list[tuple[int, XPath]], names: set[str]) -> Row:
        row: list[object] = [None] * len(self._columns)
        children: dict[str, list[Any]] = {}
        for child in event if names else ():
            if child.tag in names:
                children.setdefault(child.tag, [child])
        for position, path in paths:
            (name, type_), read = self._columns[position]
            found = children.get(path.child, []) if path.child is not None else path.find(event)
            if isinstance(found, list):
                if found:
                    found = found[0]
                elif self._is_leaf_named(event, path.text):
                    found = event
                elif self._strict:
                    raise MappingFailedError(f"attribute '{name}': the event has no '{path.text}'")
                else:
                    continue
            row[position] = value_of(found, name, type_, read, self._documents, strict=self._strict)
        return tuple(row)

    def _is_leaf_named(self, event: Any, name: str) -> bool:
        return (
            self._enclosing is not None
            and self._as_event
            and len(event) == 0
            and local_name(event).lower() == name.strip().lower()
        )


def _are_elements(found: list[Any]) -> bool:
    return bool(found) and hasattr(found[0], "tag")


def _usual_layout(context: ConnectorContext) -> Callable[[object], list[Row] | None] | None:
    """Return a reader of documents in the default layout that have all attributes in order, and neither markup nor entities.

    It splits the text by one pattern, and returns None for every other payload, including those with an error. The result is
    the same as that of the parser. None: an attribute's name is not plain.
    """
    names = [name for name, _ in context.attributes]
    if not all(name.isascii() and is_name(name) for name in names):
        return None
    space, text = "[ \t\n]*", "([^<&>\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]*)"
    cells = "".join(f"<{name}>{text}</{name}>{space}" for name in map(re.escape, names))
    split = re.compile(f"<event>{space}{cells}</event>{space}").split
    begin = re.compile(rf'(?:<\?xml version="1.0"(?: encoding="(?:UTF|utf)-8")?\?>)?{space}<events>{space}').fullmatch
    end = re.compile(f"</events>{space}").fullmatch
    width, step = len(names), len(names) + 1
    rows = context.record_reader(list(range(width)), null=None, lenient=False).rows

    def read(payload: object) -> list[Row] | None:
        if not isinstance(payload, (str, bytes, bytearray, memoryview)):
            return None
        parts = split(decoded(payload))
        if len(parts) == 1 or begin(parts[0]) is None or end(parts[-1]) is None or any(parts[step:-1:step]):
            return None
        try:
            return rows([parts[at : at + width] for at in range(1, len(parts) - 1, step)])
        except ValueError:
            return None

    return read
