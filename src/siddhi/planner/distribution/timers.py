"""Find elements that queue the events of all keys together and show it when late or timed events arrive.

Batches, output rates and stream processors may emit events later than they came, with their original times. A time window, or a
pattern, removes such an event after those that came before it, whatever their keys. Its state can't be partitioned, except
inside a partition, where each key has its own queue.

Events emitted by a timer arrive while other timers are due at the same time. A time window then removes all due events of all
keys before its own timer fires. A batch takes the event as the last of a period if a timer is pending, even for another key, and
otherwise as the first of the next one. Events from outside come after all timers of their time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from siddhi.planner.plan.elements import AppElement, ElementKind
from siddhi.planner.plan.graph import sources_of
from siddhi.planner.plan.nodes import (
    JoinPlan,
    NamedWindowPlan,
    PartitionPlan,
    QueryPlan,
    SingleInputPlan,
    SourceKind,
    WindowPlan,
)
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.plan.processors import processors_of
from siddhi.query_api.selection import EventRate, OutputEventType, RateKind

__all__ = ["holds_back", "late_event_keepers", "woken_by_timers"]

_QUEUES = ("time", "delay", "session")
_PASS_AT_ONCE = ("time", "session", "timeLength")
"""Windows driven by the clock whose timers emit only what expires."""
_WOKEN = ("time", "delay", "timeBatch")


def holds_back(query: QueryPlan) -> bool:
    """Return whether the output rate of a query emits events later than they came."""
    return query.rate is not None and getattr(query.rate, "kind", None) is not RateKind.FIRST


def late_event_keepers(elements: Sequence[AppElement]) -> frozenset[str]:
    """Return the names of elements that queue late events of all keys together."""
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
    if any(map(_lets_go_late, windows)) or any(map(holds_back, _queries(element))):
        return True
    return any(any(processors_of(sources_of(query))) for query in _queries(element))


def _lets_go_late(window: WindowPlan) -> bool:
    return window.window.batch or window.window.builtin in (None, "session")


def _queries(element: AppElement) -> Sequence[QueryPlan]:
    if isinstance(element.plan, QueryPlan):
        return (element.plan,)
    return element.plan.queries if isinstance(element.plan, PartitionPlan) else ()


def _kept(element: AppElement, elements: Sequence[AppElement]) -> Iterator[str]:
    """Yield the streams whose events an element queues for all keys together."""
    if isinstance(element.plan, NamedWindowPlan):
        if element.plan.window.window.builtin in _QUEUES:
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
        if source.window is not None and source.window.window.builtin in _QUEUES:
            yield source.source


# --- timers


def woken_by_timers(elements: Sequence[AppElement]) -> frozenset[str]:
    """Return the names of elements whose common queue shows when events come from timers."""
    windows = {element.name: element.plan for element in elements if isinstance(element.plan, NamedWindowPlan)}
    timed = _timed_streams(elements, windows)
    return frozenset(
        element.name
        for element in elements
        if (isinstance(element.plan, QueryPlan) and _shows_who_wakes(element.plan, timed))
        or (
            (element.name in windows and windows[element.name].window.window.builtin in _WOKEN)
            and any(
                _puts_out_by_timer(one, windows) or not timed.isdisjoint(one.reads)
                for one in elements
                if one is not element and element.name in one.writes
            )
        )
    )


def _shows_who_wakes(query: QueryPlan, timed: Collection[str]) -> bool:
    current = query.output.event_type is OutputEventType.CURRENT
    if isinstance(query.input, JoinPlan):
        sides = [side for side in sources_of(query) if side.window is not None and side.source in timed]
        return len(sides) == 2 or (bool(sides) and not current)
    if not isinstance(query.input, SingleInputPlan) or query.input.window is None or query.input.source not in timed:
        return False
    builtin = query.input.window.window.builtin
    return builtin in ("delay", "timeBatch") or (builtin == "time" and not current)


def _timed_streams(elements: Sequence[AppElement], windows: Mapping[str, NamedWindowPlan]) -> set[str]:
    """Return the streams with events that timers emit, directly or through other elements."""
    found: set[str] = set()
    while True:
        more = {
            stream
            for element in elements
            if element.name not in windows
            and (_puts_out_by_timer(element, windows) or not found.isdisjoint(element.reads))
            for stream in element.writes
        }
        if more <= found:
            return found
        found |= more


def _puts_out_by_timer(element: AppElement, windows: Mapping[str, NamedWindowPlan]) -> bool:
    return element.kind is ElementKind.TRIGGER or any(_query_puts_out(query, windows) for query in _queries(element))


def _query_puts_out(query: QueryPlan, windows: Mapping[str, NamedWindowPlan]) -> bool:
    if isinstance(query.input, PatternPlan) and query.input.waits:
        return True
    if holds_back(query) and not isinstance(query.rate, EventRate):
        return True
    for source in sources_of(query):
        window, shown = source.window, query.output.event_type
        if source.kind is SourceKind.WINDOW:
            kept = windows[source.source]
            window = kept.window
            shown = kept.output if kept.output is OutputEventType.EXPIRED else shown
        if window is not None and _lets_go_by_timer(window, shown):
            return True
    return any(processor.clock_driven for processor in processors_of(sources_of(query)))


def _lets_go_by_timer(window: WindowPlan, shown: OutputEventType) -> bool:
    if not window.window.clock_driven and window.window.builtin is not None:
        return False
    return shown is not OutputEventType.CURRENT or window.window.builtin not in _PASS_AT_ONCE
