"""The physical choices, one rule per module: a function from plan to plan that sets fields of the nodes.

The runtime and ``explain`` only read these fields; they make no such choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from siddhi.planner.plan.nodes import Plan, TablePlan
from siddhi.planner.plan.on_demand import OnDemandPlan
from siddhi.planner.rules.batch_safety import check_batches
from siddhi.planner.rules.choose_group_lifetime import choose_group_lifetime
from siddhi.planner.rules.choose_join_access import choose_lookups
from siddhi.planner.rules.choose_match_delivery import choose_match_delivery
from siddhi.planner.rules.choose_match_keys import choose_match_keys
from siddhi.planner.rules.choose_selection import choose_on_demand_selection, choose_selections
from siddhi.planner.rules.choose_table_access import choose_accesses, choose_on_demand_access
from siddhi.planner.rules.choose_table_change import choose_on_demand_change, choose_table_changes
from siddhi.planner.rules.column_pruning import prune_columns
from siddhi.planner.rules.file_queries import file_queries
from siddhi.planner.rules.fuse_window_aggregate import fuse_windows
from siddhi.planner.rules.pass_expired_events import pass_expired_events

__all__ = ["RULES", "applied", "applied_alone", "applied_on_demand"]

RULES: tuple[Callable[[Plan], Plan], ...] = (
    choose_accesses,  # first: it rewrites expressions that other rules store
    choose_table_changes,  # reads the accesses
    choose_lookups,
    choose_match_keys,
    prune_columns,
    pass_expired_events,
    fuse_windows,
    choose_selections,  # after it: a fused selection has no operator of its own
    choose_group_lifetime,  # these two read the operator of the selection
    choose_match_delivery,
    file_queries,
    check_batches,
)
"""The rules in the order of their application."""


_OF_ALL = (file_queries, check_batches)
"""The rules that look at several queries at once."""


def applied_alone(plan: Plan) -> Plan:
    """Apply the rules to each query of the plan, without those that look at several queries at once."""
    for rule in RULES:
        if rule not in _OF_ALL:
            plan = rule(plan)
    return plan


def applied_on_demand(plan: OnDemandPlan, tables: Mapping[str, TablePlan]) -> OnDemandPlan:
    """Apply the rules of an on-demand query, to an app with these tables."""
    return choose_on_demand_selection(choose_on_demand_change(choose_on_demand_access(plan, tables), tables))


def applied(plan: Plan) -> Plan:
    """Apply all rules to the plan."""
    for rule in RULES:
        plan = rule(plan)
    return plan
