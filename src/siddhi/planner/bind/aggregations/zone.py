"""The time zone of the buckets of aggregations: that of the app, else that of the system."""

from __future__ import annotations

from collections.abc import Mapping

from siddhi.planner.bind.annotations import only
from siddhi.planner.plan.aggregations import ZONE
from siddhi.planner.problems import creation_error, located
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.span import Node

__all__ = ["app_zone", "system_zone"]

_HINT = "write a name such as 'Asia/Colombo'"


def app_zone(annotations: tuple[Annotation, ...], at: Node) -> str | None:
    """Return the time zone of ``@app:aggTimeZone('...')``, or None without it.

    Raises:
        SiddhiAppCreationError: the time zone is unknown.
    """
    annotation = only(annotations, ZONE)
    if annotation is None:
        return None
    location = located(annotation, at)
    if len(annotation.elements) != 1 or annotation.elements[0].key is not None:
        raise creation_error("E315", "@app:aggTimeZone requires the name of a time zone", location, _HINT)
    name = annotation.elements[0].value
    if not _is_zone(name):
        raise creation_error("E315", f"unknown time zone '{name}' in @app:aggTimeZone", location, _HINT)
    return name


def system_zone(properties: Mapping[str, str], at: Node) -> str:
    """Return the time zone of the system property ``aggTimeZone``, or GMT without it.

    Raises:
        SiddhiAppCreationError: the time zone is unknown.
    """
    name = properties.get(ZONE, "GMT")
    if not _is_zone(name):
        raise creation_error("E325", f"unknown time zone '{name}' in the property {ZONE}", at, _HINT)
    return name


def _is_zone(name: str) -> bool:
    if name in ("GMT", "UTC"):
        return True
    # Imported here: time zones are slow to load, and few apps set one.
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True
