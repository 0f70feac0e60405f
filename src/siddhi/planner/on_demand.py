"""Plan an on-demand query."""

from __future__ import annotations

from siddhi.extension.registry import Registry, shared_registry
from siddhi.planner.bind.on_demand import bind_on_demand
from siddhi.planner.plan.nodes import Plan
from siddhi.planner.plan.on_demand import OnDemandPlan
from siddhi.planner.rules import applied_on_demand
from siddhi.query_api.on_demand import OnDemandQuery

__all__ = ["plan_on_demand"]


def plan_on_demand(
    query: OnDemandQuery, plan: Plan, registry: Registry | None = None, *, source: str | None = None
) -> OnDemandPlan:
    """Plan an on-demand query against the tables and windows of a planned app.

    Args:
        registry: the extensions that the query can use; None: those of the process.
        source: the text of the query, for error messages.

    Raises:
        OnDemandQueryCreationError: names or types do not match, or the source can't be queried.
    """
    bound = bind_on_demand(query, plan, shared_registry() if registry is None else registry, source=source)
    return applied_on_demand(bound, plan.tables)
