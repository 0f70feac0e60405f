"""Maps as XML: an element per key, nested for maps, repeated for lists."""

from __future__ import annotations

import re
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape

from siddhi.errors import shown

__all__ = ["from_xml", "to_xml"]

_NAME = re.compile(r"[^\W\d][\w.\-]*\Z")
DEEPEST = 200


class _Reader:
    """Builds nested maps of elements; the text of an element without children is its value."""

    def __init__(self) -> None:
        self.stack: list[tuple[dict[str, Any], list[str]]] = [({}, [])]

    def begin(self, _name: str, _attributes: object) -> None:
        if len(self.stack) > DEEPEST:
            raise ValueError(f"map:createFromXML() got more than {DEEPEST} nested elements")
        self.stack.append(({}, []))

    def text(self, text: str) -> None:
        self.stack[-1][1].append(text)

    def end(self, name: str) -> None:
        children, texts = self.stack.pop()
        value: Any = children or "".join(texts).strip()
        above = self.stack[-1][0]
        if name not in above:
            above[name] = value
        elif isinstance(above[name], list):
            above[name].append(value)
        else:
            above[name] = [above[name], value]

    def refuse(self, *_: object) -> None:
        raise ValueError("map:createFromXML() got a document type: XML with one is not accepted")


def from_xml(text: str | None) -> object:
    """Return the map of the children of the root element; attributes are left out.

    Raises:
        ValueError: the text is null or not XML, or has a document type.
    """
    if text is None:
        raise ValueError("map:createFromXML() got null: expected a text")
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.begin
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.refuse
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise ValueError(f"map:createFromXML() got {shown(text)}, which is not XML: {error}") from None
    (root,) = reader.stack[0][0].values()
    return root if isinstance(root, dict) else reader.stack[0][0]


def to_xml(value: Any, root: Any = None) -> str:
    """Return the XML text of a map, inside a root element if its name is given.

    Raises:
        TypeError: the value is not a map.
        ValueError: a key is not the name of an element.
    """
    if type(value) is not dict:
        raise TypeError(f"map:toXML() got {shown(value)}: expected a map")
    inside = _elements(value, 0)
    return inside if root is None else f"<{_name(root)}>{inside}</{root}>"


def _elements(value: dict[Any, Any], depth: int) -> str:
    if depth > DEEPEST:
        raise ValueError(f"map:toXML() got more than {DEEPEST} nested maps")
    parts = []
    for key, each in value.items():
        for one in each if isinstance(each, list) else [each]:
            content = _elements(one, depth + 1) if isinstance(one, dict) else escape(_text(one))
            parts.append(f"<{_name(key)}>{content}</{key}>")
    return "".join(parts)


def _name(key: Any) -> str:
    if not isinstance(key, str) or not _NAME.match(key):
        raise ValueError(f"map:toXML() got the key {shown(key)}, which is not the name of an XML element")
    return key


def _text(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
