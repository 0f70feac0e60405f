"""The planner: an app with names resolved, types inferred, parameters checked. ``explain`` prints its plans."""

from siddhi.planner.app import plan
from siddhi.planner.explain import explain
from siddhi.planner.nodes import Plan
from siddhi.planner.on_demand import OnDemandPlan, plan_on_demand

__all__ = ["OnDemandPlan", "Plan", "explain", "plan", "plan_on_demand"]
