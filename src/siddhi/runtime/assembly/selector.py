"""Selection of a query → selector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from siddhi._core.aggregate.group import GroupBy
from siddhi._core.aggregate.sum import SumAggregator
from siddhi._core.join.join import JoinSelector
from siddhi._core.query.order import ChunkOrder
from siddhi._core.query.output import QueryOutput
from siddhi._core.query.projection import Projection
from siddhi._core.query.selector import Selector
from siddhi._core.record.event import EventPool
from siddhi.planner.plan.expressions import OUTPUT_SLOT, Aggregate
from siddhi.planner.plan.nodes import QueryPlan, SelectMode, SelectorPlan
from siddhi.planner.plan.walk import calls_python, has_aggregate, walk
from siddhi.query_api.selection import Order, OutputEventType
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.ratelimit import build_limiter

if TYPE_CHECKING:
    from siddhi.runtime.assembly.query import Site

__all__ = ["build_projection", "build_selector", "has_side_effects", "is_projection"]

_MODES = {SelectMode.EACH: 0, SelectMode.LAST: 1, SelectMode.LAST_PER_GROUP: 2}


def build_selector(
    plan: QueryPlan,
    slots: Mapping[int, Cells],
    output: QueryOutput,
    site: Site,
    *,
    removes: bool,
    remembers: bool,
    at_chunk_end: bool = False,
    kind: type[Selector] = Selector,
) -> Selector:
    """Build the selector of a query.

    Args:
        plan: the query.
        slots: cells of its input events.
        output: output of the query; its pool allocates the output records.
        site: build context of the query.
        removes: whether EXPIRED events can reach the aggregators.
        remembers: whether events pass the selector again when they expire, each at most once.
        at_chunk_end: whether a window keeps the events of a chunk until the chunk ends.
        kind: class of the selector.
    """
    selection = plan.selector
    builder = site.builder({**slots, OUTPUT_SLOT: Cells(output.pool.layout, source="output")}, removes=removes)
    columns = builder.build_all([column.expression for column in selection.columns])
    having = None if selection.having is None else builder.build(selection.having)
    ordering = None
    if selection.order_by:
        keys = builder.build_all([order.key for order in selection.order_by])
        ordering = ChunkOrder(
            site.context,
            keys,
            tuple(order.order is Order.DESC for order in selection.order_by),
            issubclass(kind, JoinSelector) and any(order.key.slot != OUTPUT_SLOT for order in selection.order_by),
        )
    if issubclass(kind, JoinSelector):
        for aggregator in builder.aggregators:
            if isinstance(aggregator, SumAggregator):
                aggregator.keep_remainder()
    wanted = plan.output.event_type
    limited = None if plan.rate is None else build_limiter(plan, output, site, ordering)
    arranged = limited is not None and limited.arranges
    # A key dropped within a chunk takes its aggregates with it, so its row can't be selected when the chunk ends.
    limits_keys = plan.limit is not None and (plan.limit.keys is not None or plan.limit.ttl_ms is not None)
    if arranged:
        ordering = None
    arguments = (
        site.context,
        output.pool,
        columns,
        [has_aggregate(column.expression) for column in selection.columns],
        builder.aggregators,
        _group_by(selection, slots, builder, site, remembers, GroupBy if limited is None else limited.groups),
        _MODES[selection.mode],
        wanted is not OutputEventType.EXPIRED,
        wanted is not OutputEventType.CURRENT,
        having,
        ordering,
        -1 if selection.limit is None or arranged else selection.limit,
        0 if arranged else selection.offset or 0,
        output,
        at_chunk_end and limited is None and not limits_keys and _selects_at_end(plan),
    )
    return kind(*arguments) if limited is None else limited.selector(kind, arguments)


def is_projection(plan: QueryPlan) -> bool:
    """Return whether the selection is stateless and passes current events on one by one."""
    selection = plan.selector
    return (
        selection.mode is SelectMode.EACH
        and not selection.has_aggregates
        and selection.having is None
        and not selection.order_by
        and selection.limit is None
        and not selection.offset
        and plan.output.event_type is OutputEventType.CURRENT
        and plan.rate is None
    )


def build_projection(
    plan: QueryPlan, slots: Mapping[int, Cells], output: QueryOutput, site: Site, source: EventPool | None
) -> Projection:
    """Build the selection of a query for which :func:`is_projection` holds.

    Args:
        plan: the query.
        slots: cells of its input events.
        output: output of the query; its pool allocates the output records.
        site: build context of the query.
        source: pool of the stream's records if the selection reads them directly; else None.
    """
    builder = site.builder(slots)
    columns = builder.build_all([column.expression for column in plan.selector.columns])
    pure = not has_side_effects(plan.selector)
    return Projection(site.context, output.pool, columns, source, output, pure)


_READABLE = frozenset({"sum", "avg", "count", "distinctCount", "unionSet"})
"""Aggregators whose value can be read without an event."""


def _selects_at_end(plan: QueryPlan) -> bool:
    """Return whether the output can be computed at the end of the chunk, from the last event of each group alone."""
    selection = plan.selector
    return (
        selection.mode is not SelectMode.EACH
        and selection.having is None
        and plan.output.event_type is OutputEventType.CURRENT
        and not has_side_effects(selection)
        and all(
            node.aggregator.native in _READABLE
            for expression in selection.expressions()
            for node in walk(expression)
            if isinstance(node, Aggregate)
        )
    )


def _group_by(
    selection: SelectorPlan,
    slots: Mapping[int, Cells],
    builder: ExpressionBuilder,
    site: Site,
    remembers: bool,
    kind: type[GroupBy],
) -> GroupBy | None:
    if not selection.group_by:
        return None
    cells = [slots[key.slot] for key in selection.group_by]
    return kind(
        [cell.layout for cell in cells],
        [
            key.position if cell.cell_of is None else cell.cell_of[key.position]
            for key, cell in zip(selection.group_by, cells, strict=True)
        ],
        [cell.source if isinstance(cell.source, int) else -1 for cell in cells],
        builder.aggregators,
        site.partitioned,
        remembers,
    )


def has_side_effects(selection: SelectorPlan) -> bool:
    """Return whether the selection calls Python, so that it must be evaluated even without receivers."""
    return any(calls_python(expression) for expression in selection.expressions())
