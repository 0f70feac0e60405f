"""Where a window need not keep events: the arguments of the aggregators behind it are enough.

A window whose events nobody sees again (only current events are put out, nothing stands between it and the selection)
serves its aggregators alone. Where these are sums, averages and counts that see every event, the engine keeps what they
take away later, or, for batches, adds up as events come. Nobody can tell the difference but by the clock on the wall.
"""

from __future__ import annotations

from siddhi.planner.plan.expressions import Aggregate, Arithmetic, Attr, Call, Const, TypedExpression, Widen
from siddhi.planner.plan.nodes import (
    FilterPlan,
    FusedWindow,
    Plan,
    QueryPlan,
    SelectMode,
    SingleInputPlan,
    SourceKind,
    WindowPlan,
)
from siddhi.planner.plan.rewrite import map_queries, replaced
from siddhi.planner.plan.walk import has_aggregate, walk
from siddhi.query_api.selection import OutputEventType

__all__ = ["fuse_windows"]

_ADDED_UP = frozenset({"sum", "avg", "count"})
_SLIDING = frozenset({"length", "time", "externalTime"})
_TUMBLING = frozenset({"lengthBatch", "timeBatch"})
_MOST_AGGREGATORS = 32


def fuse_windows(plan: Plan) -> Plan:
    """Fill in :attr:`QueryPlan.fused`."""
    return map_queries(plan, lambda query, _: replaced(query, fused=_fused(query)))


def _fused(plan: QueryPlan) -> FusedWindow | None:
    input_, selection = plan.input, plan.selector
    if (
        not isinstance(input_, SingleInputPlan)
        or input_.kind is not SourceKind.STREAM
        or input_.window is None
        or input_.after
        or not all(isinstance(handler, FilterPlan) for handler in input_.before)
        or plan.output.event_type is not OutputEventType.CURRENT
        or plan.rate is not None
        or plan.limit is not None
        or not _adds_up(plan)
    ):
        return None
    native = input_.window.window.native
    if native in _SLIDING and _has_extent(input_.window):
        return (
            FusedWindow.SLIDING if all(_sees_every_event(column.expression) for column in selection.columns) else None
        )
    if native in _TUMBLING and selection.mode is not SelectMode.EACH and _has_extent(input_.window):
        shown = all(isinstance(column.expression, (Attr, Aggregate)) for column in selection.columns)
        return FusedWindow.TUMBLING if shown and selection.having is None else None
    return None


def _adds_up(plan: QueryPlan) -> bool:
    """Every aggregator is one of those that can be added up, of what an event says by itself."""
    selection = plan.selector
    columns = [column.expression for column in selection.columns]
    found = [node for column in columns for node in walk(column) if isinstance(node, Aggregate)]
    aside = [expression for expression in selection.expressions() if expression not in columns]
    return (
        0 < len(found) <= _MOST_AGGREGATORS
        and not any(has_aggregate(expression) for expression in aside)
        and all(node.aggregator.native in _ADDED_UP for node in found)
        and all(_is_of_event(argument) for node in found for argument in node.arguments)
    )


def _is_of_event(argument: TypedExpression) -> bool:
    """The same whenever it is computed: nothing of the clock, of tables, of users' functions or of other events."""
    return all(
        (isinstance(node, Attr) and node.slot == 0)
        or isinstance(node, (Const, Arithmetic, Widen))
        or (
            isinstance(node, Call)
            and node.function.native is not None
            and node.function.deterministic
            and not node.function.reads_clock
            and node.function.native != "eventTimestamp"
        )
        for node in walk(argument)
    )


def _sees_every_event(column: TypedExpression) -> bool:
    """An aggregator in it is evaluated for every event, whatever else stands there."""
    if not has_aggregate(column) or isinstance(column, Aggregate):
        return True
    nodes = [node for node in walk(column) if not isinstance(node, (Arithmetic, Widen, Const))]
    return len([node for node in nodes if isinstance(node, Aggregate)]) == 1 and all(
        isinstance(node, Aggregate) or _is_below(node, column) for node in nodes
    )


def _is_below(node: TypedExpression, column: TypedExpression) -> bool:
    """Whether a node stands inside an aggregator's arguments."""
    return any(
        isinstance(outer, Aggregate) and any(inner is node for argument in outer.arguments for inner in walk(argument))
        for outer in walk(column)
    )


def _has_extent(window: WindowPlan) -> bool:
    """A constant extent above zero, and no events that stream ahead of their batch."""
    values = [argument.value for argument in window.arguments if isinstance(argument, Const)]
    extent = values[0] if values else None
    if window.window.native == "externalTime":
        extent = values[-1] if values else None
    elif any(isinstance(value, bool) for value in values):
        return not any(value is True for value in values) and isinstance(extent, int) and extent > 0
    return isinstance(extent, int) and not isinstance(extent, bool) and extent > 0
