"""Elements of a document that arrives in several payloads."""

from __future__ import annotations

import copy
import re
from typing import Any

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.io.mappers.texts import decoded
from siddhi.io.mappers.xml_documents import Documents, has_doctype, local_name

__all__ = ["Fragments"]


_MARKUP_END = re.compile("[^>]*>|[^>]+")


class Fragments:
    """Finds the complete elements at a path, such as ``/root/child``; they are removed from memory when found.

    After an error the next payload begins a document, and after the end of a document what follows it. An incomplete document
    is kept as text from the last complete element on, inside the tags that are open there, so that snapshots can have it.

    Args:
        path: names of the elements from the root, separated by ``/``.
        documents: the library.

    Raises:
        SiddhiAppCreationError: the path is not a plain path.
    """

    def __init__(self, path: str, documents: Documents) -> None:
        self._names = path.strip().removeprefix("/").split("/")
        if not all(name and name.replace("-", "").replace(".", "").isidentifier() for name in self._names):
            raise SiddhiAppCreationError(
                f"'enable.streaming.xml.content' needs a plain path in 'enclosing.element', got '{path}'",
                code="E326",
                hint="write the names of the elements from the root, such as '/root/child'",
            )
        self._documents = documents
        self._parser: Any = None
        self._open: list[str] = []
        self._elements: list[Any] = []  # the elements of these names
        self._at = 0
        self._kept: list[str] = []  # what a new parser must read to be in the state of this one

    @property
    def kept(self) -> str:
        """The incomplete document, as a text that is read like its payloads; empty: there is none."""
        return "".join(self._kept)

    def resume(self, kept: str) -> None:
        """Go on after an incomplete document, which was returned by :attr:`kept`; empty: begin a document."""
        self._parser, self._kept = None, []
        self.feed(kept)

    def feed(self, payload: object) -> tuple[list[Any], tuple[MappingFailedError, str] | None]:
        """Return the elements that are complete with this payload, each as a document of its own, and the error after them.

        The error comes with the rest of the payload, and of the document before it, from the last complete element on.

        Raises:
            MappingFailedError: the payload is not a text.
        """
        text = decoded(payload)
        found: list[Any] = []
        at = 0
        while at < len(text):
            if self._parser is None:
                at = len(text) - len(text[at:].lstrip(" \t\r\n\ufeff"))
                if at == len(text):
                    break
                self._parser = self._documents.etree.XMLPullParser(events=("start", "end"), **self._documents.settings)
                self._open, self._elements, self._kept = [], [], []
            try:
                at = self._feed_document(text, at, found)
            except MappingFailedError as error:
                broken = self.kept + text[self._at :]
                self._parser, self._kept = None, []
                return found, (error, broken)
        return found, None

    def _feed_document(self, text: str, at: int, found: list[Any]) -> int:
        """Read a text up to the end of the document, append its complete elements, and return the index after it.

        Raises:
            MappingFailedError: the text is not XML, or has a document type declaration.
        """
        etree = self._documents.etree
        self._at = at  # what is before it is kept, or not needed any more
        if not self._open and has_doctype(self.kept + text[at:]):
            raise MappingFailedError("document type declarations are not allowed in XML payloads")
        # A complete tag is reported when its last character is read: so its place in the text is known.
        for piece in _MARKUP_END.finditer(text, at):
            try:
                self._parser.feed(piece[0].encode())
                is_complete = self._complete(found)
            except (etree.XMLSyntaxError, UnicodeEncodeError) as error:
                raise MappingFailedError(f"not XML: {error}") from None
            if self._parser is None:
                self._kept = []
                return piece.end()
            if is_complete:
                self._kept = list(map(self._tag_of, self._elements))
                self._at = piece.end()
        self._kept.append(text[self._at :])
        return len(text)

    def _tag_of(self, element: Any) -> str:
        """Return the start tag of an element."""
        empty = element.makeelement(element.tag, dict(element.attrib), element.nsmap)
        return self._documents.text(empty).removesuffix("/>") + ">"

    def payload_of(self, element: Any) -> str:
        """Return a document with one element at the path."""
        for name in reversed(self._names[:-1]):
            outer = element.makeelement(name)
            outer.append(element)
            element = outer
        return self._documents.text(element)

    def _complete(self, found: list[Any]) -> bool:
        """Append the elements that are complete; return whether one has ended that is not a part of an element at the path."""
        has_ended = False
        depth = len(self._names)
        for kind, element in self._parser.read_events():
            if kind == "start":
                if not self._open and element.getroottree().docinfo.doctype:
                    raise MappingFailedError("document type declarations are not allowed in XML payloads")
                self._open.append(local_name(element))
                self._elements.append(element)
                continue
            if self._open == self._names:
                event = copy.deepcopy(element)
                event.tail = None
                found.append(event)
            if len(self._open) <= depth or self._open[:depth] != self._names:
                has_ended = True
                parent = element.getparent()
                if parent is not None:
                    for before in list(parent)[: parent.index(element)]:
                        parent.remove(before)
                element.clear(keep_tail=True)
            self._open.pop()
            self._elements.pop()
            if not self._open:
                self._parser = None
                break
        return has_ended
