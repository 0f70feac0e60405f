"""What the policy of an app lets its records take → the budget of its pools."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from siddhi._core.record.event import RecordBudget

if TYPE_CHECKING:
    from siddhi.planner.plan.nodes import Plan

__all__ = ["record_budget"]


def record_budget(plan: Plan) -> AbstractContextManager[object]:
    """Inside of it the pools of an app are made, which share what its policy allows."""
    most = None if plan.policy is None else plan.policy.max_record_bytes
    if most is None:
        return nullcontext()
    return RecordBudget(
        most,
        f"the events that app '{plan.name}' holds take all {most} bytes that its policy allows "
        "(SandboxPolicy.max_record_bytes): let windows, tables and patterns hold fewer",
    )
