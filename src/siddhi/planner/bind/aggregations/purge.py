"""Bind ``@purge`` of an aggregation: how long each of its tables keeps its rows."""

from __future__ import annotations

from siddhi.planner.bind.annotations import boolean, duration_ms, only
from siddhi.planner.plan.aggregations import AggregationPurgePlan
from siddhi.planner.plan.time import duration_named
from siddhi.planner.problems import creation_error, located
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.definition import AggregationDefinition, Duration

__all__ = ["plan_purge"]

_MINUTE = 60_000
_DAY = 1440 * _MINUTE
_DEFAULT_INTERVAL_MS = 15 * _MINUTE
_DEFAULT_MS: dict[Duration, int | None] = {
    Duration.SECONDS: 2 * _MINUTE,
    Duration.MINUTES: _DAY,
    Duration.HOURS: 30 * _DAY,
    Duration.DAYS: 366 * _DAY,
    Duration.MONTHS: None,
    Duration.YEARS: None,
}
_MINIMUM_MS = {
    Duration.SECONDS: 2 * _MINUTE,
    Duration.MINUTES: 120 * _MINUTE,
    Duration.HOURS: 25 * 60 * _MINUTE,
    Duration.DAYS: 32 * _DAY,
    Duration.MONTHS: 13 * 30 * _DAY,
    Duration.YEARS: 0,
}


def plan_purge(definition: AggregationDefinition, durations: tuple[Duration, ...]) -> AggregationPurgePlan | None:
    """Return the purge plan of an aggregation; None: rows are never deleted.

    Args:
        durations: the durations of the aggregation.

    Raises:
        SiddhiAppError: the annotation is invalid, or a retention period is too short.
    """
    retention: dict[Duration, int | None] = {duration: _DEFAULT_MS[duration] for duration in durations}
    interval_ms = _DEFAULT_INTERVAL_MS
    annotation = only(definition.annotations, "purge")
    if annotation is not None:
        enable = annotation.element("enable")
        if enable is not None and not boolean(annotation, "enable", enable, definition):
            return None
        interval = annotation.element("interval")
        if interval is not None:
            interval_ms = duration_ms(annotation, "interval", interval, definition)
        period = only(annotation.annotations, "retentionPeriod")
        if period is not None:
            retention |= _periods(period, definition, durations)
    return AggregationPurgePlan(interval_ms, tuple(retention[duration] for duration in durations))


def _periods(
    period: Annotation, definition: AggregationDefinition, durations: tuple[Duration, ...]
) -> dict[Duration, int | None]:
    found: dict[Duration, int | None] = {}
    location = located(period, definition)
    for element in period.elements:
        key = element.key or ""
        try:
            duration = duration_named(key)
        except ValueError:
            raise creation_error(
                "E325",
                f"unknown duration '{key}' in @{period.name}",
                location,
                f"the aggregation has {', '.join(duration.value for duration in durations)}",
            ) from None
        if duration not in durations:
            raise creation_error(
                "E325",
                f"aggregation '{definition.id}' has no duration '{key}', which @{period.name} names",
                location,
                f"it has {', '.join(duration.value for duration in durations)}",
            )
        if element.value.strip().lower() == "all":
            found[duration] = None
            continue
        retention_ms = duration_ms(period, key, element.value, definition)
        if retention_ms < _MINIMUM_MS[duration]:
            raise creation_error(
                "E325",
                f"retention period '{element.value}' of '{key}' in @{period.name} is too short: "
                f"the minimum is {_MINIMUM_MS[duration] // _MINUTE} minutes",
                location,
                "coarser durations are aggregated from these rows",
            )
        found[duration] = retention_ms
    return found
