"""Reading annotations: each at most once, with the elements it must have."""

from __future__ import annotations

from siddhi.errors import SiddhiParserError
from siddhi.planner.problems import creation_error, duplicate_annotation
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.app import SiddhiApp
from siddhi.query_api.span import Node
from siddhi.query_compiler import parse_time

__all__ = ["boolean", "duration_ms", "only", "positive", "required", "shown"]


_MOST_DIGITS = 18  # of a long; Python refuses to read thousands


def only(annotations: tuple[Annotation, ...], name: str) -> Annotation | None:
    """The annotation of this name (any case), or None.

    Raises:
        DuplicateAnnotationError: there are two, or one of its elements comes twice.
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
    """The name of an annotation as messages show it; ``at``: what it stands on."""
    return f"@app:{annotation.name}" if isinstance(at, SiddhiApp) else f"@{annotation.name}"


def required(annotation: Annotation, key: str, at: Node) -> str:
    """The element's value.

    Raises:
        SiddhiAppCreationError: the annotation lacks it.
    """
    value = annotation.element(key)
    if value is None:
        raise creation_error("E315", f"{shown(annotation, at)} lacks the element '{key}'", _place(annotation, at))
    return value


def boolean(annotation: Annotation, key: str, value: str, at: Node) -> bool:
    """The element's value, 'true' or 'false' in any case.

    Raises:
        SiddhiAppCreationError: it is something else.
    """
    lowered = value.strip().lower()
    if lowered not in ("true", "false"):
        raise creation_error(
            "E315",
            f"'{key}' of {shown(annotation, at)} must be 'true' or 'false', not '{value}'",
            _place(annotation, at),
        )
    return lowered == "true"


def positive(annotation: Annotation, key: str, value: str, at: Node) -> int:
    """The element's value, a whole number above zero.

    Raises:
        SiddhiAppCreationError: it is something else.
    """
    text = value.strip()
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0
    if number <= 0:
        raise creation_error(
            "E315",
            f"'{key}' of {shown(annotation, at)} must be a positive number, not '{value}'",
            _place(annotation, at),
        )
    return number


def duration_ms(annotation: Annotation, key: str, value: str, at: Node) -> int:
    """The element's value in milliseconds, written as ``10 sec`` or ``1 hour 30 min``.

    Raises:
        SiddhiAppCreationError: it is something else.
    """
    try:
        total = parse_time(value)
    except SiddhiParserError:
        total = 0
    if total <= 0:
        raise creation_error(
            "E315",
            f"'{key}' of {shown(annotation, at)} is not a duration: '{value}'",
            _place(annotation, at),
            "write it as '10 sec' or '1 hour 30 min'",
        )
    return total


def _place(annotation: Annotation, at: Node) -> Node:
    return annotation if annotation.span is not None else at
