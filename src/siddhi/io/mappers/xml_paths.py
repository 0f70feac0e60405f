"""Values of XML elements: by XPath, or by the paths of their leaves."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.io.mappers.xml_documents import Documents, is_name, local_name, text_of
from siddhi.types import AttributeType

__all__ = ["XPath", "leaf_rows", "namespaces_of", "value_of"]

logger = logging.getLogger("siddhi")

_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"")
_PREFIX = re.compile(r"([^\W\d][\w.-]*):(?!:)(?=[\w*])")


def namespaces_of(text: str) -> dict[str, str]:
    """Return the namespaces of an option such as ``p=urn:a, q=urn:b`` by prefix; a malformed entry is logged."""
    found = {}
    for entry in text.split(",") if text.strip() else ():
        prefix, equals, uri = (part.strip() for part in entry.partition("="))
        if prefix and equals and uri:
            found[prefix] = uri
        else:
            logger.warning(
                "source mapper 'xml': malformed entry '%s' of 'namespaces'; expected prefix=uri", entry.strip()
            )
    return found


class XPath:
    """A compiled XPath 1.0.

    Args:
        text: the path.
        documents: the library.
        namespaces: namespaces by prefix.

    Attributes:
        child: the name, if the path is only the name of a child element; otherwise None.

    Raises:
        SiddhiAppCreationError: it is not an XPath, or names an unknown prefix, function or variable.
    """

    def __init__(self, text: str, documents: Documents, namespaces: Mapping[str, str]) -> None:
        self.text = text
        self.child = text.strip() if is_name(text.strip()) else None
        etree = documents.etree
        unknown = [prefix for prefix in _PREFIX.findall(_LITERAL.sub("", text)) if prefix not in {*namespaces, "xml"}]
        if unknown:
            raise SiddhiAppCreationError(
                f"unknown prefix '{unknown[0]}' in XPath '{text}'",
                code="E326",
                hint=f"add namespaces = '{unknown[0]}=<uri>'",
            )
        try:
            self._path = etree.XPath(text, namespaces=dict(namespaces), regexp=False)
            self._path(etree.Element("element"))
        except etree.XPathError as error:
            raise SiddhiAppCreationError(f"invalid XPath '{text}': {error}", code="E326") from error
        self._error = etree.XPathError

    def find(self, element: Any) -> Any:
        """Return the nodes of an element as a list, or a text, number or bool.

        Raises:
            MappingFailedError: the XPath can't be evaluated.
        """
        try:
            return self._path(element)
        except self._error as error:
            raise MappingFailedError(f"XPath '{self.text}' failed: {error}") from None


def value_of(
    found: Any, name: str, type_: AttributeType, read: Callable[[str], object], documents: Documents, *, strict: bool
) -> object:
    """Return the value of an attribute for a result of its XPath.

    Args:
        found: a node, or a text, number or bool.
        name: name of the attribute.
        type_: its type.
        read: converts a text to the type; raises ValueError.
        documents: the library.
        strict: whether an unconvertible text is an error; that of an XML attribute always is.

    Raises:
        MappingFailedError: the value does not fit the type.
    """
    text: str | None
    if documents.etree.iselement(found):
        if len(found) and any(isinstance(child.tag, str) for child in found):
            if type_ is not AttributeType.STRING:
                raise MappingFailedError(f"attribute '{name}': element '{local_name(found)}' has child elements")
            return documents.text(found)
        text = text_of(found)
    elif isinstance(found, bool):
        text = "true" if found else "false"
    elif isinstance(found, float):
        text = str(int(found)) if found.is_integer() else str(found).replace("nan", "NaN").replace("inf", "Infinity")
    else:
        text = str(found[1] if isinstance(found, tuple) else found)  # a namespace is (prefix, uri)
    if text is None:
        return None
    try:
        return read(text)
    except ValueError as error:
        if strict or getattr(found, "is_attribute", False):
            raise MappingFailedError(f"attribute '{name}': {error}") from None
        return None


def leaf_rows(
    event: Any,
    attributes: Iterable[tuple[str, AttributeType]],
    paths: Mapping[int, str],
    readers: Iterable[Callable[[str], object]],
    *,
    strict: bool,
) -> list[tuple[object, ...]]:
    """Return a row per innermost branch of an element, with the values of its ancestors.

    Texts of leaves and XML attributes have paths such as ``/stock/price`` and ``/stock/@exchange``, which begin with the
    element itself.

    Raises:
        MappingFailedError: a value is missing or does not fit its type, if ``strict``.
    """
    columns = list(zip(attributes, readers, strict=True))
    rows = []
    for values in _branches(event):
        row: list[object] = [None] * len(columns)
        for position, path in paths.items():
            (name, _), read = columns[position]
            text = values.get(path)
            if text is None:
                if strict:
                    raise MappingFailedError(f"attribute '{name}': the event has no '{path}'")
                continue
            try:
                row[position] = read(text)
            except ValueError as error:
                if strict:
                    raise MappingFailedError(f"attribute '{name}': {error}") from None
        rows.append(tuple(row))
    return rows


def _branches(event: Any) -> list[dict[str, str]]:
    """Return the texts by path of each innermost branch, in the order of the document."""
    found = []
    stack: list[tuple[Any, str, dict[str, str]]] = [(event, "", {})]
    while stack:
        element, path, outer = stack.pop()
        path = f"{path}/{local_name(element)}"
        values = dict(outer)
        for name, value in element.attrib.items():
            values[f"{path}/@{name.rpartition('}')[2]}"] = value
        branches = []
        for child in element:
            name = local_name(child)
            if name and not len(child) and (text := (child.text or "").strip()):
                values[f"{path}/{name}"] = text
            elif name:
                branches.append(child)
        if branches:
            stack += [(child, path, values) for child in reversed(branches)]
        else:
            found.append(values)
    return found
