"""The time zone in which the hours, days, months and years of aggregations begin: of the app, else of the system."""

from __future__ import annotations

from collections.abc import Mapping

from siddhi.planner.bind.annotations import only
from siddhi.planner.plan.aggregations import ZONE
from siddhi.planner.problems import creation_error
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.span import Node

__all__ = ["app_zone", "system_zone"]

_HINT = "such as 'Asia/Colombo'"


def app_zone(annotations: tuple[Annotation, ...], at: Node) -> str | None:
    """What ``@app:aggTimeZone('...')`` says; None without it.

    Raises:
        SiddhiAppCreationError: it names no time zone.
    """
    annotation = only(annotations, ZONE)
    if annotation is None:
        return None
    place = annotation if annotation.span is not None else at
    if len(annotation.elements) != 1 or annotation.elements[0].key is not None:
        raise creation_error("E315", "@app:aggTimeZone takes the name of a time zone", place, _HINT)
    name = annotation.elements[0].value
    if not _is_zone(name):
        raise creation_error("E315", f"@app:aggTimeZone names no time zone: '{name}'", place, _HINT)
    return name


def system_zone(properties: Mapping[str, str], at: Node) -> str:
    """What the property ``aggTimeZone`` of the system says; GMT without it.

    Raises:
        SiddhiAppCreationError: it names no time zone.
    """
    name = properties.get(ZONE, "GMT")
    if not _is_zone(name):
        raise creation_error("E325", f"the property {ZONE} names no time zone: '{name}'", at, _HINT)
    return name


def _is_zone(name: str) -> bool:
    if name in ("GMT", "UTC"):
        return True
    # Few apps have another one, and the time zones take their time to load.
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True
