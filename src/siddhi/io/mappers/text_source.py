"""``@map(type = 'text')`` of a source: lines of ``name:value``, or the groups of regular expressions, are mapped to events."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from siddhi.errors import MappingFailedError, SiddhiAppCreationError, shown
from siddhi.io.connector import ConnectorContext
from siddhi.io.mappers.texts import decoded, unescaped
from siddhi.io.options import OptionHolder
from siddhi.io.source import AttributeMapping, InputEventHandler, SourceMapper
from siddhi.types import AttributeType

__all__ = ["DELIMITER", "TextSourceMapper"]

DELIMITER = "~~~~~~~~~~"
"""The default of ``delimiter``: the line between two events of a payload."""

_PATTERN = "regex."
_GROUP = re.compile(r"(.+)\[(\d+)\]")

Row = tuple[object, ...]
Search = Callable[[str], Any]


class TextSourceMapper(SourceMapper):
    """Maps a text to an event; with ``event.grouping.enabled`` its parts between delimiters, each to an event of its own.

    Regular expressions are run by RE2, which takes time in proportion to the text, whatever the expression is.
    """

    supported_input_event_classes: ClassVar[tuple[type, ...]] = (str, bytes, bytearray, memoryview)

    def init(self, options: OptionHolder, mappings: tuple[AttributeMapping, ...], context: ConnectorContext) -> None:
        self._strict = options.flag("fail.on.missing.attribute", default=True)
        self.allow_null_in_transport_properties = not self._strict
        newline = unescaped(options.static("new.line.character", "\n"))
        delimiter = f"{newline}{unescaped(options.static('delimiter', DELIMITER))}{newline}"
        self._delimiter = delimiter if options.flag("event.grouping.enabled", default=False) else None
        self._separator = f",{newline}"
        self._attributes = [
            (name, _reader(name, type_, read, quoted=not mappings))
            for (name, type_), read in zip(context.attributes, context.readers, strict=True)
        ]
        self._searches: list[Search] = []
        self._groups: list[tuple[int, int, int]] = []
        self._undeclared: str | None = None
        self._is_custom = bool(mappings)
        self._usual = None if mappings else _usual_layout(context, self._separator)
        patterns = {
            name[len(_PATTERN) :]: options.static(name) for name in options.names if name.lower().startswith(_PATTERN)
        }
        numbers: dict[str, tuple[int, int]] = {}
        for name, pattern in patterns.items():
            search, n_groups = _compiled(name, pattern)
            numbers[name] = (len(self._searches), n_groups)
            self._searches.append(search)
        for mapping in mappings:
            self._add(mapping, numbers)

    def _add(self, mapping: AttributeMapping, numbers: dict[str, tuple[int, int]]) -> None:
        found = _GROUP.fullmatch(mapping.mapping.strip())
        name, group = (found[1], int(found[2])) if found is not None else (mapping.mapping.strip(), 1)
        if name not in numbers:
            # Siddhi accepts such an app; each of its events fails.
            self._undeclared = (
                f"attribute '{mapping.name}' is mapped to '{mapping.mapping}', but there is no option 'regex.{name}'"
            )
            return
        number, n_groups = numbers[name]
        if group > n_groups:
            raise SiddhiAppCreationError(
                f"attribute '{mapping.name}' is mapped to group {group} of 'regex.{name}', which has {n_groups}",
                code="E326",
            )
        self._groups.append((mapping.position, number, group))

    def map(self, payload: Any, handler: InputEventHandler) -> None:
        """Map a payload.

        Raises:
            MappingFailedError: the payload is not a text, or its only event can't be mapped. Of several events, those that can't
                be mapped are reported to the handler.
        """
        text = decoded(payload)
        row_of = self._matched_row if self._is_custom else self._default_row
        if self._usual is not None:
            parts = [text] if self._delimiter is None else text.split(self._delimiter)
            usual = self._usual(parts)
            if usual is not None:
                for row in usual:
                    handler.send_row(row)
                return
        if self._delimiter is None or self._delimiter not in text:
            handler.send_row(row_of(text))
            return
        for part in text.split(self._delimiter):
            try:
                row = row_of(part)
            except MappingFailedError as error:
                handler.fail(error, part)
            else:
                handler.send_row(row)

    def _default_row(self, text: str) -> Row:
        values: dict[str, str] = {}
        for pair in text.split(self._separator):
            name, _, value = pair.partition(":")
            values.setdefault(name.strip(), value.strip())
        return tuple(read(values[name]) if name in values else self._missing(name) for name, read in self._attributes)

    def _matched_row(self, text: str) -> Row:
        if self._undeclared is not None:
            raise MappingFailedError(self._undeclared)
        matches = [search(text) for search in self._searches]
        row: list[object] = [None] * len(self._attributes)
        for position, number, group in self._groups:
            name, read = self._attributes[position]
            found = None if matches[number] is None else matches[number].group(group)
            row[position] = self._missing(name) if found is None else read(found)
        return tuple(row)

    def _missing(self, name: str) -> object:
        if self._strict:
            raise MappingFailedError(f"the text has no '{name}'")
        return None


def _usual_layout(context: ConnectorContext, separator: str) -> Callable[[list[str]], list[Row] | None]:
    """Return a reader of texts in the default layout that have all attributes in order, and neither quotes in strings nor commas.

    It matches each text with one pattern, and returns None if one does not match or has an error. The result is the same as
    that of the general reader.
    """
    value = {
        AttributeType.STRING: r'"([^"\r\n,]*)"',
        AttributeType.OBJECT: r'"([^"\r\n,]*)"',
        AttributeType.BOOL: "(true|false)",
    }
    match = re.compile(
        re.escape(separator).join(
            f"{re.escape(name)}:{value.get(type_, '([-+0-9.A-Za-z]+)')}" for name, type_ in context.attributes
        )
    ).fullmatch
    rows = context.record_reader(list(range(len(context.attributes))), null=None, lenient=False).rows

    def read(parts: list[str]) -> list[Row] | None:
        found = list(map(match, parts))
        if None in found:
            return None
        try:
            return rows([list(one.groups()) for one in found if one is not None])
        except ValueError:
            return None

    return read


def _compiled(name: str, pattern: str) -> tuple[Search, int]:
    """Compile a pattern; return its search function and its number of groups."""
    try:
        import re2
    except ImportError:
        raise SiddhiAppCreationError(
            f"option 'regex.{name}' needs the package google-re2", code="E326", hint="pip install 'siddhi[text]'"
        ) from None
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0] if error.args else ""
        raise SiddhiAppCreationError(
            f"invalid pattern of 'regex.{name}': {why.decode() if isinstance(why, bytes) else why}",
            code="E326",
            hint="patterns are those of RE2: without back references and look-around",
        ) from None
    return compiled.search, compiled.groups


def _reader(name: str, type_: AttributeType, read: Callable[[str], object], *, quoted: bool) -> Callable[[str], object]:
    """Return the conversion of a text; it raises MappingFailedError.

    Args:
        name: name of the attribute.
        type_: its type.
        read: converts a text to the type.
        quoted: strings stand in quotes, and ``null`` without them is null.
    """
    if type_ in (AttributeType.STRING, AttributeType.OBJECT):
        return _unquoted if quoted else str

    def convert(text: str) -> object:
        if quoted and text == "null":
            return None
        try:
            return read(text.replace(",", ""))
        except ValueError:
            raise MappingFailedError(
                f"attribute '{name}': {shown(text)} is not a value of type {type_.value}"
            ) from None

    return convert


def _unquoted(text: str) -> str | None:
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    return None if text == "null" else text
