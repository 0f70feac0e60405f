"""Print annotations as SiddhiQL."""

from __future__ import annotations

import re

from siddhi.query_api import Annotation, Element
from siddhi.query_compiler.print.expressions import PLAIN_NAME, name_text, string_text

__all__ = ["annotation_text", "element_text"]

PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*([.:-][A-Za-z_][A-Za-z0-9_]*)*\Z")


def annotation_text(annotation: Annotation, prefix: str = "") -> str:
    """Return ``@name(...)``; ``prefix`` is ``app:`` for app annotations."""
    # No keyword can follow @, so none needs quotes.
    name = annotation.name if PLAIN_NAME.match(annotation.name) else name_text(annotation.name)
    parts = [*map(element_text, annotation.elements), *map(annotation_text, annotation.annotations)]
    return f"@{prefix}{name}({', '.join(parts)})" if parts else f"@{prefix}{name}"


def element_text(element: Element) -> str:
    """Return ``key='value'`` or ``'value'``; a key that does not consist of names is quoted."""
    value = string_text(element.value)
    if element.key is None:
        return value
    key = element.key if PLAIN_KEY.match(element.key) else string_text(element.key)
    return f"{key}={value}"
