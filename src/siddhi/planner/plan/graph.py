"""The app as a graph: what queries, partitions and aggregations read and write, and whether timers run them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from siddhi.planner.plan.aggregations import AggregationPlan
from siddhi.planner.plan.expressions import Call, InTable, TypedExpression
from siddhi.planner.plan.nodes import (
    Action,
    FilterPlan,
    JoinPlan,
    PartitionPlan,
    QueryPlan,
    SingleInputPlan,
    SourceKind,
)
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.plan.processors import processors_of
from siddhi.planner.plan.walk import walk
from siddhi.query_api.selection import EventRate

__all__ = ["Unit", "aggregation_unit", "expressions_of", "sources_of", "unit_of"]


@dataclass(slots=True)
class Unit:
    """A query, a partition (without its inner streams) or an aggregation."""

    name: str
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)
    """Tables, windows and aggregations whose content it reads."""
    changes: set[str] = field(default_factory=set)
    """Tables, windows and aggregations it writes to."""
    timed: bool = False
    """Timers can run it."""
    reads_clock: bool = False
    """Its output depends on the clock (windows set the time of expired events)."""


def aggregation_unit(plan: AggregationPlan) -> Unit:
    """Return the unit of an aggregation."""
    changes = {plan.id, *plan.tables}
    uses = {
        node.table
        for handler in plan.input.before
        for expression in ((handler.condition,) if isinstance(handler, FilterPlan) else handler.arguments)
        for node in walk(expression)
        if isinstance(node, InTable)
    }
    return Unit(f"aggregation {plan.id}", [plan.input.source], [], uses, changes, timed=True, reads_clock=True)


def unit_of(execution: QueryPlan | PartitionPlan) -> Unit:
    """Return the unit of a query, or of all queries of a partition."""
    unit = Unit(execution.name)
    if isinstance(execution, QueryPlan):
        _add_query(unit, execution)
        return unit
    for query in execution.queries:
        _add_query(unit, query)
    unit.timed = unit.timed or execution.purge is not None
    unit.reads = [label for label in dict.fromkeys(unit.reads) if not label.startswith("#")]
    unit.writes = [label for label in dict.fromkeys(unit.writes) if not label.startswith("#")]
    return unit


def _add_query(unit: Unit, query: QueryPlan) -> None:
    if isinstance(query.input, PatternPlan):
        unit.reads += query.input.sources
        unit.timed = unit.timed or query.input.waits
    for source in sources_of(query):
        if source.kind in (SourceKind.TABLE, SourceKind.AGGREGATION):
            unit.uses.add(source.source)
        else:
            unit.reads.append(source.source)
        if source.kind is SourceKind.WINDOW and isinstance(query.input, JoinPlan):
            unit.uses.add(source.source)
        unit.timed = unit.timed or (source.window is not None and source.window.window.clock_driven)
        unit.reads_clock = unit.reads_clock or source.window is not None
        for processor in processors_of((source,)):
            unit.timed = unit.timed or processor.clock_driven
            unit.reads_clock = True
    unit.timed = unit.timed or (query.rate is not None and not isinstance(query.rate, EventRate))
    for expression in expressions_of(query):
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


def sources_of(query: QueryPlan) -> tuple[SingleInputPlan, ...]:
    """Return the inputs of a query; none for a pattern."""
    if isinstance(query.input, SingleInputPlan):
        return (query.input,)
    if isinstance(query.input, JoinPlan):
        return (query.input.left, query.input.right)
    return ()


def expressions_of(query: QueryPlan) -> Iterator[TypedExpression]:
    """Yield every expression of a query, except arguments of windows and keys of patterns."""
    yield from query.selector.expressions()
    for source in sources_of(query):
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
