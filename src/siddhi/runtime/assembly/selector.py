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
from siddhi.planner.plan.expressions import OUTPUT_SLOT
from siddhi.planner.plan.nodes import QueryPlan, SelectionOperator, SelectMode
from siddhi.planner.plan.walk import has_aggregate, has_side_effects
from siddhi.query_api.selection import Order, OutputEventType
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.ratelimit import build_limiter

if TYPE_CHECKING:
    from siddhi.runtime.assembly.query import Site

__all__ = ["build_projection", "build_selector"]

_MODES = {SelectMode.EACH: 0, SelectMode.LAST: 1, SelectMode.LAST_PER_GROUP: 2}


def build_selector(
    plan: QueryPlan,
    slots: Mapping[int, Cells],
    output: QueryOutput,
    site: Site,
    *,
    removes: bool,
    kind: type[Selector] = Selector,
) -> Selector:
    """Build the selector of a query.

    Args:
        plan: the query.
        slots: cells of its input events.
        output: output of the query; its pool allocates the output records.
        site: build context of the query.
        removes: whether EXPIRED events can reach the aggregators.
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
    if arranged:
        ordering = None
    arguments = (
        site.context,
        output.pool,
        columns,
        [has_aggregate(column.expression) for column in selection.columns],
        builder.aggregators,
        _group_by(plan, slots, builder, site, GroupBy if limited is None else limited.groups),
        _MODES[selection.mode],
        wanted is not OutputEventType.EXPIRED,
        wanted is not OutputEventType.CURRENT,
        having,
        ordering,
        -1 if selection.limit is None or arranged else selection.limit,
        0 if arranged else selection.offset or 0,
        output,
        plan.selection is SelectionOperator.SELECTOR_AT_CHUNK_END,
    )
    return kind(*arguments) if limited is None else limited.selector(kind, arguments)


def build_projection(
    plan: QueryPlan, slots: Mapping[int, Cells], output: QueryOutput, site: Site, source: EventPool | None
) -> Projection:
    """Build the selection of a query whose operator is a projection.

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


def _group_by(
    plan: QueryPlan,
    slots: Mapping[int, Cells],
    builder: ExpressionBuilder,
    site: Site,
    kind: type[GroupBy],
) -> GroupBy | None:
    group_by = plan.selector.group_by
    if not group_by:
        return None
    cells = [slots[key.slot] for key in group_by]
    return kind(
        [cell.layout for cell in cells],
        [
            key.position if cell.cell_of is None else cell.cell_of[key.position]
            for key, cell in zip(group_by, cells, strict=True)
        ],
        [cell.source if isinstance(cell.source, int) else -1 for cell in cells],
        builder.aggregators,
        site.partitioned,
        plan.stores_groups,
    )
