"""The physical choices, one rule per module: a function from plan to plan that sets fields of the nodes.

The runtime and ``explain`` only read these fields; they make no such choice.
"""

from __future__ import annotations

from collections.abc import Callable

from siddhi.planner.plan.nodes import Plan
from siddhi.planner.rules.batch_safety import check_batches
from siddhi.planner.rules.choose_join_access import choose_lookups
from siddhi.planner.rules.choose_match_keys import choose_match_keys
from siddhi.planner.rules.choose_table_access import choose_accesses, choose_on_demand_access
from siddhi.planner.rules.column_pruning import prune_columns
from siddhi.planner.rules.fuse_window_aggregate import fuse_windows
from siddhi.planner.rules.route_by_equality import route_events

__all__ = ["RULES", "applied", "choose_on_demand_access"]

RULES: tuple[Callable[[Plan], Plan], ...] = (
    choose_accesses,  # first: it rewrites expressions that other rules store
    choose_lookups,
    choose_match_keys,
    prune_columns,
    fuse_windows,
    route_events,
    check_batches,
)
"""The rules in the order of their application."""


def applied(plan: Plan) -> Plan:
    """Apply all rules to the plan."""
    for rule in RULES:
        plan = rule(plan)
    return plan
