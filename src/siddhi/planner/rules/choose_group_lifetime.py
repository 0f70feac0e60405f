"""Choose what is known of a group between the first and the last event of it: an id in its events, and whether it ends.

An event of a sliding window passes the selection twice. If the same record returns, the id of its group can be stored in
it, so that its expiry needs no lookup of the key. A query that never removes an event never ends a group; then its rate
limiter keeps the last event of each without notice.
"""

from __future__ import annotations

from siddhi.planner.plan.nodes import Plan, QueryPlan, SelectionOperator, SingleInputPlan, SourceKind
from siddhi.planner.plan.rewrite import map_queries, replaced

__all__ = ["choose_group_lifetime"]

_ENDLESS = (SourceKind.STREAM, SourceKind.INNER, SourceKind.FAULT)


def choose_group_lifetime(plan: Plan) -> Plan:
    """Set :attr:`QueryPlan.stores_groups` and :attr:`QueryPlan.ends_groups`."""
    return map_queries(
        plan, lambda query, _: replaced(query, stores_groups=_stores_groups(query), ends_groups=_ends_groups(query))
    )


def _stores_groups(plan: QueryPlan) -> bool:
    input_ = plan.input
    if not plan.selector.group_by or plan.fused is not None or plan.selection is SelectionOperator.PROJECTION:
        return False
    if not isinstance(input_, SingleInputPlan) or input_.window is None:
        return False
    window = input_.window.window
    return window.takes_away and input_.returns_records and not window.batch


def _ends_groups(plan: QueryPlan) -> bool:
    """Return whether the id of a group can be released: with its last event, or by a limit."""
    if plan.rate is None or not plan.selector.group_by:
        return False
    input_ = plan.input
    return plan.limit is not None or not (
        isinstance(input_, SingleInputPlan) and input_.window is None and input_.kind in _ENDLESS
    )
