"""Names: what messages call an app, and what islands call the streams that they add to it."""

from __future__ import annotations

from siddhi.planner.plan.nodes import Plan

__all__ = ["INPUT_STREAM", "TRACE", "app_called"]

INPUT_STREAM = "SparkRows"
"""The stream through which rows of several streams come into an island."""
TRACE = "SparkMarked"
"""How streams begin that tell of which rows others come."""


def app_called(plan: Plan) -> str:
    """``app 'Alerts'``; an app need not have a name, and its plan then has one that is made up."""
    return f"app '{plan.app.name}'" if plan.app.name is not None else "the app without name"
