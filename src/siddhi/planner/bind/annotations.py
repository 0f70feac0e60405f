"""Read annotations and their elements."""

from __future__ import annotations

from siddhi.errors import SiddhiParserError
from siddhi.planner.problems import creation_error, duplicate_annotation, located
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.app import SiddhiApp
from siddhi.query_api.span import Node
from siddhi.query_compiler import parse_time

__all__ = ["boolean", "duration_ms", "only", "positive", "required", "shown"]


_MOST_DIGITS = 18  # of a long; Python rejects thousands of digits


def only(annotations: tuple[Annotation, ...], name: str) -> Annotation | None:
    """Return the annotation of this name (any case), or None.

    Raises:
        DuplicateAnnotationError: the annotation, or one of its elements, is duplicated.
    """
    lowered = name.lower()
    found = [annotation for annotation in annotations if annotation.name.lower() == lowered]
    if not found:
        return None
    if len(found) > 1:
        raise duplicate_annotation(f"annotation @{found[1].name}", found[1])
    annotation = found[0]
    keys: set[str] = set()
    for element in annotation.elements:
        if element.key is not None:
            if element.key.lower() in keys:
                raise duplicate_annotation(f"element '{element.key}' of @{annotation.name}", element)
            keys.add(element.key.lower())
    return annotation


def shown(annotation: Annotation, at: Node) -> str:
    """Return the name of an annotation for messages; ``at`` is the annotated node."""
    return f"@app:{annotation.name}" if isinstance(at, SiddhiApp) else f"@{annotation.name}"


def required(annotation: Annotation, key: str, at: Node) -> str:
    """Return the value of an element.

    Raises:
        SiddhiAppCreationError: the element is missing.
    """
    value = annotation.element(key)
    if value is None:
        raise creation_error("E315", f"{shown(annotation, at)} requires the element '{key}'", located(annotation, at))
    return value


def boolean(annotation: Annotation, key: str, value: str, at: Node) -> bool:
    """Return the value of an element that is 'true' or 'false' in any case.

    Raises:
        SiddhiAppCreationError: the value is invalid.
    """
    lowered = value.strip().lower()
    if lowered not in ("true", "false"):
        raise creation_error(
            "E315",
            f"'{key}' of {shown(annotation, at)} must be 'true' or 'false', not '{value}'",
            located(annotation, at),
        )
    return lowered == "true"


def positive(annotation: Annotation, key: str, value: str, at: Node) -> int:
    """Return the value of an element that is a positive integer.

    Raises:
        SiddhiAppCreationError: the value is invalid.
    """
    text = value.strip()
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0
    if number <= 0:
        raise creation_error(
            "E315",
            f"'{key}' of {shown(annotation, at)} must be a positive number, not '{value}'",
            located(annotation, at),
        )
    return number


def duration_ms(annotation: Annotation, key: str, value: str, at: Node) -> int:
    """Return the value of an element, such as ``10 sec`` or ``1 hour 30 min``, in milliseconds.

    Raises:
        SiddhiAppCreationError: the value is invalid.
    """
    try:
        total = parse_time(value)
    except SiddhiParserError:
        total = 0
    if total <= 0:
        raise creation_error(
            "E315",
            f"invalid duration '{value}' for '{key}' of {shown(annotation, at)}",
            located(annotation, at),
            "write a duration such as '10 sec' or '1 hour 30 min'",
        )
    return total
