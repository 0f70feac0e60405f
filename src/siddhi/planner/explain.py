"""Plans as stable text (no ids, no addresses): for people, and for golden files."""

from __future__ import annotations

from siddhi.planner.nodes import Plan


def explain(plan: Plan) -> str:
    """The plan as text, one node a line."""
    return "\n".join(query.name for query in plan.executions)
