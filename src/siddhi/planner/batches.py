"""Where a batch may run query by query, and where it must go row by row, for which reason.

Query by query means that each query takes the whole batch before the next one starts. That gives what rows sent one at a
time give as long as no two queries that the batch reaches share anything but the stream they read: no table or window
that one writes and another uses, no stream that two of them feed, no query with two inputs in reach. Under playback rows
move the clock: then no query in reach may look at it unless it is the only one, and what timers start in between must
not meet what the batch reaches. A partition counts as one query: it takes rows in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from siddhi.planner.aggregations_plan import AggregationPlan
from siddhi.planner.catalog import Catalog
from siddhi.planner.expressions import Call, InTable, TypedExpression
from siddhi.planner.liveness import selection_expressions
from siddhi.planner.nodes import (
    Action,
    BatchPlan,
    FilterPlan,
    JoinPlan,
    PartitionPlan,
    QueryPlan,
    SingleInputPlan,
    SourceKind,
)
from siddhi.planner.patterns_plan import PatternPlan
from siddhi.planner.walk import walk
from siddhi.query_api.selection import EventRate

__all__ = ["plan_batches"]


@dataclass(slots=True)
class _Unit:
    """A query or partition as the batch sees it."""

    name: str
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)
    """Tables, windows and aggregations whose content it looks at."""
    changes: set[str] = field(default_factory=set)
    """Tables, windows and aggregations it writes to."""
    timed: bool = False
    """Timers may start it."""
    reads_clock: bool = False
    """What it puts out depends on the clock (windows stamp what expires)."""


def plan_batches(
    catalog: Catalog, executions: Sequence[QueryPlan | PartitionPlan], playback: bool
) -> tuple[BatchPlan, ...]:
    """One :class:`BatchPlan` per stream that rows can be sent to.

    Args:
        playback: rows move the clock, so that timers may be due between two of them.
    """
    units = [_aggregation_unit(aggregation) for aggregation in catalog.aggregations.values()]
    units += [_unit(execution) for execution in executions]
    readers: dict[str, list[_Unit]] = {}
    for unit in units:
        for label in unit.reads:
            readers.setdefault(label, []).append(unit)
    timers: list[_Unit] = []
    if playback:
        timed_windows = [name for name, window in catalog.windows.items() if window.window.window.clock_driven]
        timed_units = [unit for unit in units if unit.timed]
        timers = _reach([*catalog.triggers, *timed_windows], readers, timed_units)
    plans: list[BatchPlan] = []
    clean: set[str] = set()
    for label in catalog.streams:
        if label.startswith(("!", "anonymous-")):
            continue
        reason = ""
        if label not in clean:
            reached = _reach([label], readers)
            reason = (
                _leading_outside(catalog, label, reached)
                or (_moving_clock(reached) if playback else "")
                or _meeting(label, reached, timers)
            )
            if not reason:
                # What is downstream of a stream without obstacle has none either.
                clean.update(target for unit in reached for target in unit.writes)
        plans.append(BatchPlan(label, not reason, reason))
    return tuple(plans)


def _leading_outside(catalog: Catalog, label: str, reached: list[_Unit]) -> str:
    """Where events leave the app: what takes them may send into any stream before the next row comes."""
    for name in dict.fromkeys([label, *(target for unit in reached for target in unit.writes)]):
        if name in catalog.streams and catalog.streams[name].sinks:
            return f"stream '{name}' has a sink"
    return ""


def _moving_clock(reached: list[_Unit]) -> str:
    """Why a clock that the rows move is in the way; empty where it is not."""
    clocked = [unit.name for unit in reached if unit.timed or unit.reads_clock]
    if len(reached) < 2 or not clocked:
        return ""
    return f"rows move the clock, which {', '.join(clocked)} read, and {len(reached)} queries are in reach"


def _meeting(label: str, reached: list[_Unit], timers: list[_Unit]) -> str:
    """Where two of the queries that the batch reaches, or that timers start in between, meet; empty for nowhere."""
    if not reached:
        return ""
    known = {id(unit) for unit in reached}
    reached = [*reached, *(unit for unit in timers if id(unit) not in known)]
    fed: dict[str, str] = {}
    for unit in reached:
        for target in dict.fromkeys(unit.writes):
            if target in fed:
                return f"{fed[target]} and {unit.name} both write to '{target}'"
            if target == label:
                return f"{unit.name} writes to '{target}' too"
            fed[target] = unit.name
    for unit in reached:
        if len(unit.reads) > 1:
            inputs = [read for read in unit.reads if read == label or read in fed]
            if len(inputs) > 1:
                names = list(dict.fromkeys(inputs))
                return f"{unit.name} reads {' and '.join(map(repr, names))}{' twice' if len(names) == 1 else ''}"
    return _shared_content(reached)


def _shared_content(reached: list[_Unit]) -> str:
    """A table or window that is written and read in one pass."""
    writers: dict[str, str] = {}
    for unit in reached:
        for name in sorted(unit.changes):
            if name in writers:
                return f"{writers[name]} and {unit.name} both write to '{name}'"
            writers[name] = unit.name
    for unit in reached:
        for name in sorted(unit.uses):
            if name in writers:
                return f"{writers[name]} writes '{name}', which {unit.name} reads"
    return ""


def _reach(labels: Iterable[str], readers: dict[str, list[_Unit]], started: Iterable[_Unit] = ()) -> list[_Unit]:
    """Every unit that events of these streams may reach, and these units, in order of discovery."""
    reached: dict[int, _Unit] = {}
    pending = list(labels)
    for unit in started:
        reached[id(unit)] = unit
        pending += unit.writes
    while pending:
        for unit in readers.get(pending.pop(), ()):
            if id(unit) not in reached:
                reached[id(unit)] = unit
                pending += unit.writes
    return list(reached.values())


def _aggregation_unit(plan: AggregationPlan) -> _Unit:
    changes = {plan.id, *plan.tables}
    uses = {
        node.table
        for handler in plan.input.before
        for expression in ((handler.condition,) if isinstance(handler, FilterPlan) else handler.arguments)
        for node in walk(expression)
        if isinstance(node, InTable)
    }
    return _Unit(f"aggregation {plan.id}", [plan.input.source], [], uses, changes, timed=True, reads_clock=True)


def _unit(execution: QueryPlan | PartitionPlan) -> _Unit:
    unit = _Unit(execution.name)
    if isinstance(execution, QueryPlan):
        _add_query(unit, execution)
        return unit
    for query in execution.queries:
        _add_query(unit, query)
    unit.timed = unit.timed or execution.purge is not None
    unit.reads = [label for label in dict.fromkeys(unit.reads) if not label.startswith("#")]
    unit.writes = [label for label in dict.fromkeys(unit.writes) if not label.startswith("#")]
    return unit


def _add_query(unit: _Unit, query: QueryPlan) -> None:
    if isinstance(query.input, PatternPlan):
        unit.reads += query.input.sources
        unit.timed = unit.timed or query.input.waits
    for source in _sources(query):
        if source.kind in (SourceKind.TABLE, SourceKind.AGGREGATION):
            unit.uses.add(source.source)
        else:
            unit.reads.append(source.source)
        if source.kind is SourceKind.WINDOW and isinstance(query.input, JoinPlan):
            unit.uses.add(source.source)
        unit.timed = unit.timed or (source.window is not None and source.window.window.clock_driven)
        unit.reads_clock = unit.reads_clock or source.window is not None
    unit.timed = unit.timed or (query.rate is not None and not isinstance(query.rate, EventRate))
    for expression in _expressions(query):
        for node in walk(expression):
            if isinstance(node, InTable):
                unit.uses.add(node.table)
            elif isinstance(node, Call):
                unit.reads_clock = unit.reads_clock or node.function.reads_clock
    output = query.output
    if output.kind in (SourceKind.TABLE, SourceKind.WINDOW):
        unit.changes.add(output.target)
    if output.action is Action.INSERT and output.kind is not SourceKind.TABLE:
        unit.writes.append(output.target)


def _sources(query: QueryPlan) -> tuple[SingleInputPlan, ...]:
    if isinstance(query.input, SingleInputPlan):
        return (query.input,)
    if isinstance(query.input, JoinPlan):
        return (query.input.left, query.input.right)
    return ()


def _expressions(query: QueryPlan) -> Iterator[TypedExpression]:
    yield from selection_expressions(query.selector)
    for source in _sources(query):
        for handler in (*source.before, *source.after):
            if isinstance(handler, FilterPlan):
                yield handler.condition
            else:
                yield from handler.arguments
    if isinstance(query.input, JoinPlan) and query.input.on is not None:
        yield query.input.on
    if isinstance(query.input, PatternPlan):
        for slot in query.input.slots:
            yield from (*slot.alone, *slot.conditions)
    if query.output.condition is not None:
        yield query.output.condition
    for assignment in query.output.set or ():
        yield assignment.value
