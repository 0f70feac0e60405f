"""Annotations: ``@name(key='value', 'value', @nested(...))``."""

from __future__ import annotations

from siddhi._frozen import frozen
from siddhi.query_api.span import Node

__all__ = ["Annotation", "Element", "find_annotation"]


@frozen
class Element(Node):
    """``key='value'``; the key is None for a bare value. Values are always strings."""

    key: str | None
    value: str


@frozen
class Annotation(Node):
    """An annotation with its elements and nested annotations. Names and keys are case-insensitive."""

    name: str
    elements: tuple[Element, ...] = ()
    annotations: tuple[Annotation, ...] = ()

    def element(self, key: str) -> str | None:
        """Return the value of the element with this key (any case), or None."""
        lowered = key.lower()
        for element in self.elements:
            if element.key is not None and element.key.lower() == lowered:
                return element.value
        return None

    def values(self) -> tuple[str, ...]:
        """Return the values of the elements without a key, in order."""
        return tuple(element.value for element in self.elements if element.key is None)


def find_annotation(annotations: tuple[Annotation, ...], name: str) -> Annotation | None:
    """Return the first annotation of this name (any case), or None."""
    lowered = name.lower()
    for annotation in annotations:
        if annotation.name.lower() == lowered:
            return annotation
    return None
