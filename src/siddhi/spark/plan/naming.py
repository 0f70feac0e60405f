"""Names in messages, and names of streams that engine fragments add to the app."""

from __future__ import annotations

from siddhi.planner.plan.nodes import Plan

__all__ = ["INPUT_STREAM", "TRACE", "app_called"]

INPUT_STREAM = "SparkRows"
"""Input stream of a fragment that several streams share."""
TRACE = "SparkMarked"
"""Prefix of the streams that trace outputs to their input rows."""


def app_called(plan: Plan) -> str:
    """Return ``app 'Alerts'``; the plan of an app without name has a generated one."""
    return f"app '{plan.app.name}'" if plan.app.name is not None else "the app without name"
