"""Find the parts of an app that timers keep busy forever without events: an app with such a part never becomes idle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from siddhi._frozen import frozen
from siddhi.planner.plan.graph import Unit, unit_of
from siddhi.planner.plan.nodes import PartitionPlan, Plan, QueryPlan
from siddhi.planner.plan.patterns import PatternPlan, StateKind, StatePlan
from siddhi.query_api.selection import SnapshotRate
from siddhi.query_api.span import Span

__all__ = ["EndlessPart", "endless_parts", "endless_query"]


@frozen
class EndlessPart:
    """``name`` is that of the trigger, query or partition; ``reason`` is a clause that names it."""

    name: str
    reason: str
    span: Span | None = None


def endless_parts(plan: Plan) -> tuple[EndlessPart, ...]:
    """Return the parts of an app that timers keep busy, in text order; empty: it becomes idle when its input ends."""
    found = [
        EndlessPart(trigger.id, f"trigger '{trigger.id}' fires periodically", trigger.span)
        for trigger in plan.triggers.values()
        if not trigger.at_start
    ]
    timed_windows = {id_ for id_, window in plan.windows.items() if window.window.window.clock_driven}
    units = [(execution, unit_of(execution)) for execution in plan.executions]
    readers: dict[str, list[Unit]] = {}
    for _, unit in units:
        for stream in unit.reads:
            readers.setdefault(stream, []).append(unit)
    for execution, unit in units:
        reason = next((why for why in map(endless_query, _queries(execution)) if why), "")
        purges = isinstance(execution, PartitionPlan) and execution.purge is not None
        if not reason and (_is_timed(execution, unit, purges) or timed_windows & {*unit.reads, *unit.writes}):
            reason = f"'{unit.name}' feeds itself with a delay" if _reaches(unit, readers) else ""
        if reason:
            found.append(EndlessPart(unit.name, reason, execution.span))
    return tuple(found)


def endless_query(query: QueryPlan) -> str:
    """Return why timers keep a query busy forever; empty if they do not."""
    if isinstance(query.rate, SnapshotRate):
        return f"query '{query.name}' emits snapshots periodically"
    if isinstance(query.input, PatternPlan) and any(_group_waits_alone(query.input, s) for s in query.input.states):
        return f"query '{query.name}' waits for an absence repeatedly"
    return ""


def _queries(execution: QueryPlan | PartitionPlan) -> Iterator[QueryPlan]:
    if isinstance(execution, QueryPlan):
        yield execution
    else:
        yield from execution.queries


def _is_timed(execution: QueryPlan | PartitionPlan, unit: Unit, purges: bool) -> bool:
    if not purges:
        return unit.timed
    return any(unit_of(query).timed for query in _queries(execution))


def _group_waits_alone(pattern: PatternPlan, last: StatePlan) -> bool:
    """Return whether timers alone can complete the ``every`` group that a state ends."""
    if last.again is None:
        return False
    group = pattern.states[last.again : pattern.states.index(last) + 1]
    return all(_waits_alone(pattern, state) for state in group)


def _waits_alone(pattern: PatternPlan, state: StatePlan) -> bool:
    waiting = [pattern.slots[slot].for_ms is not None for slot in state.slots]
    if state.kind is StateKind.OR:
        return any(waiting)
    return state.kind in (StateKind.ABSENT, StateKind.AND) and all(waiting)


def _reaches(unit: Unit, readers: Mapping[str, Iterable[Unit]]) -> bool:
    """Return whether the output of a unit reaches its own inputs."""
    seen: set[str] = set()
    pending = list(unit.writes)
    while pending:
        stream = pending.pop()
        if stream in unit.reads:
            return True
        if stream not in seen:
            seen.add(stream)
            pending += [target for reader in readers.get(stream, ()) for target in reader.writes]
    return False
