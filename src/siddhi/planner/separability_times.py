"""What keeps events for a time although they come behind their time.

Batches and output rates put events out later than they came, with their own times. A window of time, or a pattern, that
takes those lets each go behind the ones that came before it, whatever their keys: what it keeps does not separate, unless it
stands in a partition and keeps the events of each key by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from siddhi.planner.elements import AppElement
from siddhi.planner.flow import sources_of
from siddhi.planner.nodes import NamedWindowPlan, PartitionPlan, QueryPlan, WindowPlan
from siddhi.planner.patterns_plan import PatternPlan
from siddhi.query_api.selection import RateKind

__all__ = ["holds_back", "keepers_of_the_late"]

_QUEUES = ("time", "delay", "session")


def holds_back(query: QueryPlan) -> bool:
    """Whether the output rate of a query puts events out later than they came."""
    return query.rate is not None and getattr(query.rate, "kind", None) is not RateKind.FIRST


def keepers_of_the_late(elements: Sequence[AppElement]) -> frozenset[str]:
    """The names of elements that keep for a time, those of all keys together, what comes behind its time."""
    late = _late_streams(elements)
    return frozenset(element.name for element in elements if not late.isdisjoint(_kept(element, elements)))


def _late_streams(elements: Sequence[AppElement]) -> set[str]:
    found: set[str] = set()
    while True:
        more = {
            stream
            for element in elements
            if _holds_events_back(element) or not found.isdisjoint(element.reads)
            for stream in element.writes
        }
        if more <= found:
            return found
        found |= more


def _holds_events_back(element: AppElement) -> bool:
    windows = [element.plan.window] if isinstance(element.plan, NamedWindowPlan) else []
    for query in _queries(element):
        windows += [source.window for source in sources_of(query) if source.window is not None]
    return any(map(_lets_go_late, windows)) or any(map(holds_back, _queries(element)))


def _lets_go_late(window: WindowPlan) -> bool:
    return window.window.batch or window.window.native in (None, "session")


def _queries(element: AppElement) -> Sequence[QueryPlan]:
    if isinstance(element.plan, QueryPlan):
        return (element.plan,)
    return element.plan.queries if isinstance(element.plan, PartitionPlan) else ()


def _kept(element: AppElement, elements: Sequence[AppElement]) -> Iterator[str]:
    """The streams whose events it keeps for a time, those of all keys in one queue."""
    if isinstance(element.plan, NamedWindowPlan):
        if element.plan.window.window.native in _QUEUES:
            fillers = [one for one in elements if one is not element and element.name in one.writes]
            yield from (stream for one in fillers for stream in one.reads)
            yield from (element.name for one in fillers if _holds_events_back(one))
        return
    if not isinstance(element.plan, QueryPlan):
        return
    pattern = element.plan.input
    if isinstance(pattern, PatternPlan) and (pattern.within_ms is not None or pattern.waits):
        yield from pattern.sources
    for source in sources_of(element.plan):
        if source.window is not None and source.window.window.native in _QUEUES:
            yield source.source
