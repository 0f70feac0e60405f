"""The planner: an app with names resolved, types inferred, parameters checked. ``explain`` prints its plans."""

from siddhi.planner.app import plan
from siddhi.planner.explain import explain
from siddhi.planner.nodes import Plan

__all__ = ["Plan", "explain", "plan"]
