"""Trigger plan → timer that sends into the trigger's stream."""

from __future__ import annotations

from siddhi._core.runtime.context import AppContext
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.stream.trigger import CronTrigger, PeriodicTrigger, StartTrigger, Trigger
from siddhi.planner.bind.cron import parse_cron
from siddhi.planner.plan.nodes import TriggerPlan

__all__ = ["build_trigger"]


def build_trigger(plan: TriggerPlan, context: AppContext, junction: StreamJunction) -> Trigger:
    """Build a trigger.

    Args:
        plan: the trigger.
        context: the app's context.
        junction: junction of the trigger's stream.
    """
    if plan.every_ms is not None:
        return PeriodicTrigger(context, junction, plan.every_ms)
    if plan.cron is not None:
        return CronTrigger(context, junction, plan.cron, parse_cron(plan.cron))
    return StartTrigger(context, junction)
