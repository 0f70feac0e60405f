"""Fuse a window with its aggregation: one operator that keeps the arguments of the aggregators instead of events.

This applies to a window whose events only its aggregators read: the query emits only current events, and there is no
handler between window and selection. If the aggregators are sums, averages and counts of every event, the engine keeps
only the values to subtract later or, for batches, the running totals. The results are unchanged.
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

_ADDITIVE = frozenset({"sum", "avg", "count"})
_SLIDING = frozenset({"length", "time", "externalTime"})
_TUMBLING = frozenset({"lengthBatch", "timeBatch"})
_MOST_AGGREGATORS = 32


def fuse_windows(plan: Plan) -> Plan:
    """Set :attr:`QueryPlan.fused`."""
    # A fused operator keeps no records, so a limit on the memory of records would not count it.
    limited = plan.policy is not None and plan.policy.max_record_bytes is not None
    return map_queries(plan, lambda query, _: replaced(query, fused=None if limited else _fused(query)))


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
        or not _is_additive(plan)
    ):
        return None
    builtin = input_.window.window.builtin
    if builtin in _SLIDING and _has_extent(input_.window):
        return (
            FusedWindow.SLIDING if all(_sees_every_event(column.expression) for column in selection.columns) else None
        )
    if builtin in _TUMBLING and selection.mode is not SelectMode.EACH and _has_extent(input_.window):
        shown = all(isinstance(column.expression, (Attr, Aggregate)) for column in selection.columns)
        return FusedWindow.TUMBLING if shown and selection.having is None else None
    return None


def _is_additive(plan: QueryPlan) -> bool:
    """Return whether every aggregator is additive, over arguments that depend only on the event."""
    selection = plan.selector
    columns = [column.expression for column in selection.columns]
    found = [node for column in columns for node in walk(column) if isinstance(node, Aggregate)]
    other_expressions = [expression for expression in selection.expressions() if expression not in columns]
    return (
        0 < len(found) <= _MOST_AGGREGATORS
        and not any(has_aggregate(expression) for expression in other_expressions)
        and all(node.aggregator.builtin in _ADDITIVE for node in found)
        and all(_depends_only_on_event(argument) for node in found for argument in node.arguments)
    )


def _depends_only_on_event(argument: TypedExpression) -> bool:
    """Return whether an argument depends only on the event: not on clock, tables, Python functions or other events."""
    return all(
        (isinstance(node, Attr) and node.slot == 0)
        or isinstance(node, (Const, Arithmetic, Widen))
        or (
            isinstance(node, Call)
            and node.function.builtin is not None
            and node.function.deterministic
            and not node.function.reads_clock
            and node.function.builtin != "eventTimestamp"
        )
        for node in walk(argument)
    )


def _sees_every_event(column: TypedExpression) -> bool:
    """Return whether the aggregator in a column is evaluated for every event."""
    if not has_aggregate(column) or isinstance(column, Aggregate):
        return True
    nodes = [node for node in walk(column) if not isinstance(node, (Arithmetic, Widen, Const))]
    return len([node for node in nodes if isinstance(node, Aggregate)]) == 1 and all(
        isinstance(node, Aggregate) or _is_below(node, column) for node in nodes
    )


def _is_below(node: TypedExpression, column: TypedExpression) -> bool:
    """Return whether a node is inside the arguments of an aggregator."""
    return any(
        isinstance(outer, Aggregate) and any(inner is node for argument in outer.arguments for inner in walk(argument))
        for outer in walk(column)
    )


def _has_extent(window: WindowPlan) -> bool:
    """Return whether the window has a constant positive extent and does not emit events before their batch is complete."""
    values = [argument.value for argument in window.arguments if isinstance(argument, Const)]
    extent = values[0] if values else None
    if window.window.builtin == "externalTime":
        extent = values[-1] if values else None
    elif any(isinstance(value, bool) for value in values):
        return not any(value is True for value in values) and isinstance(extent, int) and extent > 0
    return isinstance(extent, int) and not isinstance(extent, bool) and extent > 0
