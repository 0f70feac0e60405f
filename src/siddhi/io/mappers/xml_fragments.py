"""Elements of a document that arrives in several payloads."""

from __future__ import annotations

import copy
from typing import Any

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.io.mappers.texts import decoded
from siddhi.io.mappers.xml_documents import Documents, has_doctype, local_name

__all__ = ["Fragments"]


class Fragments:
    """Finds the complete elements at a path, such as ``/root/child``; they are removed from memory when found.

    After an error, and after the end of a document, the next payload begins a document.

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

    def feed(self, payload: object) -> tuple[list[Any], MappingFailedError | None]:
        """Return the elements that are complete with this payload, each as a document of its own, and the error after them.

        Raises:
            MappingFailedError: the payload is not a text, or has a document type declaration.
        """
        text = decoded(payload)
        etree = self._documents.etree
        if self._parser is None:
            text = text.lstrip(" \t\r\n\ufeff")
            if not text:
                return [], None
            self._parser = etree.XMLPullParser(events=("start", "end"), **self._documents.settings)
            self._open = []
        try:
            if not self._open and has_doctype(text):
                raise MappingFailedError("document type declarations are not allowed in XML payloads")
            self._parser.feed(text.encode())
            return self._complete(), None
        except (etree.XMLSyntaxError, UnicodeEncodeError) as error:
            found = self._complete()
            self._parser = None
            return found, MappingFailedError(f"not XML: {error}")
        except MappingFailedError:
            self._parser = None
            raise

    def payload_of(self, element: Any) -> str:
        """Return a document with one element at the path."""
        for name in reversed(self._names[:-1]):
            outer = element.makeelement(name)
            outer.append(element)
            element = outer
        return self._documents.text(element)

    def _complete(self) -> list[Any]:
        found = []
        depth = len(self._names)
        for kind, element in self._parser.read_events():
            if kind == "start":
                if not self._open and element.getroottree().docinfo.doctype:
                    raise MappingFailedError("document type declarations are not allowed in XML payloads")
                self._open.append(local_name(element))
                continue
            if self._open == self._names:
                event = copy.deepcopy(element)
                event.tail = None
                found.append(event)
            if len(self._open) <= depth or self._open[:depth] != self._names:
                parent = element.getparent()
                if parent is not None:
                    for before in list(parent)[: parent.index(element)]:
                        parent.remove(before)
                element.clear(keep_tail=True)
            self._open.pop()
            if not self._open:
                self._parser = None
                break
        return found
