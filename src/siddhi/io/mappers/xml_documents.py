"""XML documents: safe parsing, and writing texts.

Document type declarations are refused, so there are no entities to expand and nothing to fetch. The parser keeps the limits of
libxml2 for depth and size.
"""

from __future__ import annotations

import copy
import re
from typing import Any

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.io.mappers.texts import decoded

__all__ = ["NIL", "XSI", "Documents", "alone", "escaped", "is_name", "local_name", "text_of"]

XSI = "http://www.w3.org/2001/XMLSchema-instance"
NIL = f"{{{XSI}}}nil"

_SPACE = re.compile(r"[ \t\r\n\ufeff]*")
_NAME = re.compile(r"[^\W\d][\w.-]*")
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_SPECIAL = re.compile("[&<>\r]")


class Documents:
    """Parses documents with lxml.

    Args:
        needed_by: what needs the package, for the error.

    Raises:
        SiddhiAppCreationError: lxml is not installed.
    """

    def __init__(self, needed_by: str) -> None:
        try:
            from lxml import etree
        except ImportError:
            raise SiddhiAppCreationError(
                f"{needed_by} needs the package lxml", code="E326", hint="pip install 'siddhi[xml]'"
            ) from None
        self.etree: Any = etree
        self.settings = {
            "encoding": "utf-8",
            "resolve_entities": False,
            "load_dtd": False,
            "no_network": True,
            "huge_tree": False,
            "remove_comments": True,
            "remove_pis": True,
        }

    def parse(self, payload: object) -> Any:
        """Return the root element of a document: a text, bytes in UTF-8, or an element of lxml.

        Raises:
            MappingFailedError: it is not well-formed, or has a document type declaration.
        """
        if self.etree.iselement(payload):
            return payload
        text = decoded(payload)
        if has_doctype(text):
            raise MappingFailedError("document type declarations are not allowed in XML payloads")
        try:
            # A parser is not shared: several threads can send payloads.
            return self.etree.fromstring(_with_xsi(text).encode(), self.etree.XMLParser(**self.settings))
        except (self.etree.XMLSyntaxError, UnicodeEncodeError) as error:
            raise MappingFailedError(f"not an XML document: {error}") from None

    def text(self, element: Any) -> str:
        """Return an element as text."""
        return str(self.etree.tostring(element, encoding="unicode", with_tail=False))


def has_doctype(text: str) -> bool:
    """Return whether the prolog of a document has a document type declaration."""
    return "<!DOCTYPE" in text and text.startswith("<!DOCTYPE", _end_of_prolog(text))


def _end_of_prolog(text: str) -> int:
    """Return the index after the XML declaration, comments and instructions at the beginning of a document."""
    at = 0
    while True:
        space = _SPACE.match(text, at)
        assert space is not None  # the pattern accepts an empty text
        at = space.end()
        end = "-->" if text.startswith("<!--", at) else "?>" if text.startswith("<?", at) else None
        if end is None:
            return at
        found = text.find(end, at + len(end))
        if found < 0:
            return len(text)  # not well-formed
        at = found + len(end)


def _with_xsi(text: str) -> str:
    """Return a document with the prefix ``xsi`` declared, which Siddhi's sinks use without a declaration."""
    if "xsi:nil" not in text or "xmlns:xsi" in text:
        return text
    at = _end_of_prolog(text) + 1
    name = _NAME.match(text, at)
    return text if name is None else f'{text[: name.end()]} xmlns:xsi="{XSI}"{text[name.end() :]}'


def alone(event: Any) -> Any:
    """Return a copy of an element inside copies of its ancestors, without their other children."""
    element = copy.deepcopy(event)
    element.tail = None
    for ancestor in event.iterancestors():
        outer = ancestor.makeelement(ancestor.tag, dict(ancestor.attrib), ancestor.nsmap)
        outer.append(element)
        element = outer
    return element


def text_of(element: Any) -> str | None:
    """Return the direct text of an element; None if it is empty and has ``xsi:nil``."""
    text = element.text or ""
    if len(element):
        text += "".join(child.tail or "" for child in element)
    if not text and element.get(NIL) in ("true", "1"):
        return None
    return str(text)


def local_name(element: Any) -> str:
    """Return the name of an element without its namespace; an empty text for comments and instructions."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def is_name(text: str) -> bool:
    """Return whether a text can be the name of an element."""
    return _NAME.fullmatch(text) is not None


def escaped(text: str, attribute: str) -> str:
    """Return a text with escaped markup.

    Raises:
        MappingFailedError: it has a character that XML does not allow.
    """
    if (illegal := _ILLEGAL.search(text)) is not None:
        raise MappingFailedError(
            f"attribute '{attribute}': XML does not allow the character {illegal[0]!r} in {text!r}"
        )
    return text if _SPECIAL.search(text) is None else text.translate(_ESCAPES)
