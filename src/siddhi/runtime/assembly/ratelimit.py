"""Output rate of a query → rate limiter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from siddhi._core.aggregate.group import GroupBy
from siddhi._core.join.join import JoinSelector, LimitedJoinSelector
from siddhi._core.query.order import ChunkOrder
from siddhi._core.query.output import QueryOutput
from siddhi._core.query.ratelimit import (
    AllEveryEvents,
    AllEveryTime,
    FirstEveryEvents,
    FirstEveryTime,
    LastEveryEvents,
    LastEveryTime,
    LimitedGroups,
    LimitedSelector,
    Limiter,
)
from siddhi._core.query.ratelimit_snapshot import Picture, SnapshotLimiter
from siddhi._core.query.selector import Selector
from siddhi._frozen import frozen
from siddhi.planner.plan.expressions import OUTPUT_SLOT, Call, ScriptCall, TypedExpression
from siddhi.planner.plan.nodes import JoinPlan, QueryPlan, SingleInputPlan
from siddhi.planner.plan.walk import has_aggregate, walk
from siddhi.query_api.selection import EventRate, OutputRate, RateKind, SnapshotRate, TimeRate

if TYPE_CHECKING:
    from siddhi.runtime.assembly.query import Site

__all__ = ["BuiltLimiter", "build_limiter"]


@frozen
class BuiltLimiter:
    """A rate limiter and its requirements for the selection in front of it.

    Attributes:
        limiter: the limiter, which is set in the output.
        groups: the class of group by to use.
        arranges: whether the limiter applies order by, limit and offset.
    """

    limiter: Limiter
    groups: type[GroupBy]
    arranges: bool

    def selector(self, kind: type[Selector], arguments: tuple[Any, ...]) -> Selector:
        """Make the selector in front of the limiter, from a selector class and its arguments."""
        groups = next((argument for argument in arguments if isinstance(argument, LimitedGroups)), None)
        if groups is not None:
            groups.set_limiter(self.limiter)
        limited = LimitedJoinSelector if issubclass(kind, JoinSelector) else LimitedSelector
        return limited(arguments, self.limiter)


def build_limiter(plan: QueryPlan, output: QueryOutput, site: Site, ordering: ChunkOrder | None) -> BuiltLimiter:
    """Build the rate limiter of a query that has one, and set it in the output.

    Args:
        plan: the query.
        output: its output.
        site: its build context.
        ordering: its order by; a snapshot rate orders its snapshots by it.
    """
    rate = plan.rate
    if rate is None:
        raise TypeError("the query has no output rate")
    # Keys of a join's order by may be attributes of its sources, which are gone when a snapshot is emitted.
    arranges = isinstance(rate, SnapshotRate) and all(order.key.slot == OUTPUT_SLOT for order in plan.selector.order_by)
    limiter: Limiter
    if isinstance(rate, SnapshotRate):
        limiter, grouped = _snapshot(plan, rate, output, site, ordering if arranges else None, arranges)
    else:
        grouped = bool(plan.selector.group_by)
        limiter = _counting(rate, output, site, grouped)
    output.set_limiter(limiter)
    site.starting.append(limiter)
    return BuiltLimiter(limiter, LimitedGroups if grouped and plan.ends_groups else GroupBy, arranges)


def _counting(rate: OutputRate, output: QueryOutput, site: Site, grouped: bool) -> Limiter:
    context, pool = site.context, output.pool
    if isinstance(rate, EventRate):
        if rate.kind is RateKind.ALL:
            return AllEveryEvents(context, pool, rate.events)
        kind = FirstEveryEvents if rate.kind is RateKind.FIRST else LastEveryEvents
        return kind(context, pool, rate.events, grouped)
    if not isinstance(rate, TimeRate):
        raise TypeError(f"{type(rate).__name__} is not an output rate")
    if rate.kind is RateKind.ALL:
        return AllEveryTime(context, pool, rate.every_ms)
    if rate.kind is RateKind.FIRST:
        return FirstEveryTime(context, pool, rate.every_ms, grouped)
    return LastEveryTime(context, pool, rate.every_ms, grouped)


def _snapshot(
    plan: QueryPlan, rate: SnapshotRate, output: QueryOutput, site: Site, ordering: ChunkOrder | None, arranges: bool
) -> tuple[SnapshotLimiter, bool]:
    """Build the limiter of a snapshot rate; return it and whether it distinguishes groups."""
    selection = plan.selector
    windowed = isinstance(plan.input, JoinPlan) or (
        isinstance(plan.input, SingleInputPlan) and plan.input.window is not None
    )
    columns = [column.expression for column in selection.columns]
    aggregated = [i for i, column in enumerate(columns) if has_aggregate(column)]
    picture = Picture.LATEST
    if windowed:
        picture = Picture.AGGREGATES if len(aggregated) == len(columns) else Picture.ROWS
    grouped = bool(selection.group_by) and (not windowed or bool(aggregated))
    compared = [i for i, column in enumerate(columns) if i not in aggregated and _is_repeatable(column)]
    limiter = SnapshotLimiter(
        site.context,
        output.pool,
        rate.every_ms,
        grouped,
        int(picture),
        compared,
        aggregated,
        ordering,
        -1 if selection.limit is None or not arranges else selection.limit,
        (selection.offset or 0) if arranges else 0,
    )
    return limiter, grouped


def _is_repeatable(expression: TypedExpression) -> bool:
    """Return whether an expression has the same value for an event whenever it is evaluated."""
    return not any(
        isinstance(node, ScriptCall)
        or (isinstance(node, Call) and (node.function.builtin is None or not node.function.deterministic))
        for node in walk(expression)
    )
