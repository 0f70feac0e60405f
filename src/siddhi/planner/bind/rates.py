"""Output rates: event types they allow, and the default event type of a query's output."""

from __future__ import annotations

from siddhi.planner.problems import creation_error
from siddhi.query_api.query import Query
from siddhi.query_api.selection import EventRate, OutputEventType, SnapshotRate, TimeRate

__all__ = ["is_snapshot", "output_event_type"]


def is_snapshot(query: Query) -> bool:
    """Whether the query puts out snapshots."""
    return isinstance(query.rate, SnapshotRate)


def output_event_type(query: Query) -> OutputEventType:
    """Which events act on the output: as written, else current events; a snapshot takes all events.

    Raises:
        SiddhiAppCreationError: a rate of nothing, or a snapshot that does not put out all events.
    """
    _check_extent(query)
    written = query.output.event_type
    if not is_snapshot(query):
        return OutputEventType.CURRENT if written is None else written
    if written is not None and written is not OutputEventType.ALL:
        raise creation_error(
            "E316",
            f"'output snapshot' puts out all events, it cannot be limited to {written.value}",
            query.output if query.output.span is not None else query,
            "write 'insert all events into', or leave the event type out",
        )
    return OutputEventType.ALL


def _check_extent(query: Query) -> None:
    """A limit that waits for nothing would never put anything out."""
    rate = query.rate
    extent: int | None = None
    if isinstance(rate, EventRate):
        extent = rate.events
    elif isinstance(rate, (TimeRate, SnapshotRate)):
        extent = rate.every_ms
    if rate is not None and extent is not None and extent <= 0:
        unit = "events" if isinstance(rate, EventRate) else "ms"
        place = rate if rate.span is not None else query
        raise creation_error(
            "E316", f"an output rate of every {extent} {unit}", place, "leave it out, or write at least 1"
        )
