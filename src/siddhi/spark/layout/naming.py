"""What messages call an app, which need not have a name: its plan then has one that is made up."""

from __future__ import annotations

from siddhi.planner import Plan

__all__ = ["app_called"]


def app_called(plan: Plan) -> str:
    """``app 'Alerts'``."""
    return f"app '{plan.app.name}'" if plan.app.name is not None else "the app without name"
