"""Bind output rates: check them, and choose the event type of the output."""

from __future__ import annotations

from siddhi.planner.problems import creation_error, located
from siddhi.query_api.query import Query
from siddhi.query_api.selection import EventRate, OutputEventType, SnapshotRate, TimeRate

__all__ = ["is_snapshot", "output_event_type"]


def is_snapshot(query: Query) -> bool:
    """Return whether the output rate is a snapshot."""
    return isinstance(query.rate, SnapshotRate)


def output_event_type(query: Query) -> OutputEventType:
    """Return the event type of the output: as written, else current events; a snapshot uses all events.

    Raises:
        SiddhiAppCreationError: the rate is not positive, or a snapshot does not emit all events.
    """
    _check_extent(query)
    written = query.output.event_type
    if not is_snapshot(query):
        return OutputEventType.CURRENT if written is None else written
    if written is not None and written is not OutputEventType.ALL:
        raise creation_error(
            "E316",
            f"'output snapshot' emits all events and can't be limited to {written.value}",
            located(query.output, query),
            "write 'insert all events into', or remove the event type",
        )
    return OutputEventType.ALL


def _check_extent(query: Query) -> None:
    """Reject a rate that is not positive: it would never emit an event."""
    rate = query.rate
    extent: int | None = None
    if isinstance(rate, EventRate):
        extent = rate.events
    elif isinstance(rate, (TimeRate, SnapshotRate)):
        extent = rate.every_ms
    if rate is not None and extent is not None and extent <= 0:
        unit = "events" if isinstance(rate, EventRate) else "ms"
        location = located(rate, query)
        raise creation_error(
            "E316", f"invalid output rate: every {extent} {unit}", location, "remove it, or write at least 1"
        )
