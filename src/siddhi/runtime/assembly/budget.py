"""Memory limit of an app's policy → budget of its record pools."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from siddhi._core.record.event import RecordBudget

if TYPE_CHECKING:
    from siddhi.planner.plan.nodes import Plan

__all__ = ["record_budget"]


def record_budget(plan: Plan) -> AbstractContextManager[object]:
    """Return a context in which the pools of an app are made; they share the memory limit of its policy."""
    most = None if plan.policy is None else plan.policy.max_record_bytes
    if most is None:
        return nullcontext()
    return RecordBudget(
        most,
        f"the events in the state of app '{plan.name}' use all {most} bytes that its policy allows "
        "(SandboxPolicy.max_record_bytes): limit its windows, tables and patterns to fewer events",
    )
