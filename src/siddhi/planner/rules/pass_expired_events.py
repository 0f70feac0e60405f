"""Choose which expired events a query passes on, and whether their time is written into them.

An expired event costs as much as a current one. It is passed on if the query emits it, or if the aggregators have to
subtract it; in a join it looks for matches under the same conditions.
"""

from __future__ import annotations

from siddhi.extension.metadata import StreamProcessorMetadata
from siddhi.planner.plan.expressions import Call, ScriptCall, TypedExpression
from siddhi.planner.plan.nodes import (
    FilterPlan,
    JoinPlan,
    Plan,
    QueryPlan,
    SingleInputPlan,
    SourceKind,
    StreamFunctionPlan,
)
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.plan.rewrite import map_queries, replaced
from siddhi.planner.plan.walk import has_side_effects, walk
from siddhi.query_api.selection import OutputEventType

__all__ = ["pass_expired_events"]


def pass_expired_events(plan: Plan) -> Plan:
    """Set ``passes_expired``, ``stamps_expired`` and ``returns_records`` of :class:`SingleInputPlan`."""
    return map_queries(plan, lambda query, _: replaced(query, input=_input(query)))


def _input(plan: QueryPlan) -> SingleInputPlan | JoinPlan | PatternPlan:
    input_ = plan.input
    if isinstance(input_, SingleInputPlan):
        return _single(plan, input_)
    if isinstance(input_, JoinPlan):
        return replaced(input_, left=_side(plan, input_.left), right=_side(plan, input_.right))
    return input_


def _single(plan: QueryPlan, input_: SingleInputPlan) -> SingleInputPlan:
    window = None if input_.window is None else input_.window.window
    emitted = plan.output.event_type is not OutputEventType.CURRENT
    return replaced(
        input_,
        passes_expired=(input_.kind is SourceKind.WINDOW or (window is not None and window.expires))
        and _is_affected(plan, input_),
        stamps_expired=window is not None and (emitted or _reads_expiry(plan, input_)),
        # A stream processor emits records of its own.
        returns_records=window is not None
        and window.expires_passed
        and not any(
            isinstance(handler, StreamFunctionPlan) and isinstance(handler.function, StreamProcessorMetadata)
            for handler in input_.after
        ),
    )


def _side(plan: QueryPlan, side: SingleInputPlan) -> SingleInputPlan:
    passes = _is_affected(plan, side)
    return replaced(side, passes_expired=passes, stamps_expired=passes and side.window is not None)


def _is_affected(plan: QueryPlan, source: SingleInputPlan) -> bool:
    """Return whether expired events, or in a join their pairs, are emitted or removed from the aggregates."""
    if plan.output.event_type is not OutputEventType.CURRENT:
        return True
    selection = plan.selector
    # A named window publishes expired events, whatever the query emits.
    removed = source.kind is SourceKind.WINDOW or (source.window is not None and source.window.window.takes_away)
    return removed and (selection.has_aggregates or bool(selection.group_by) or has_side_effects(selection))


def _reads_expiry(plan: QueryPlan, input_: SingleInputPlan) -> bool:
    """Return whether an expression after the window can read when an event expired."""
    if any(not isinstance(handler, FilterPlan) for handler in input_.after):
        return True
    conditions = [handler.condition for handler in input_.after if isinstance(handler, FilterPlan)]
    return any(_reads_time(expression) for expression in [*plan.selector.expressions(), *conditions])


def _reads_time(expression: TypedExpression) -> bool:
    """Return whether an expression may read an event's timestamp."""
    return any(
        isinstance(node, ScriptCall) or (isinstance(node, Call) and node.function.builtin == "eventTimestamp")
        for node in walk(expression)
    )
