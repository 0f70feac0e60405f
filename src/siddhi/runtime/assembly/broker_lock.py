"""One lock for apps that send to each other through the in-memory broker."""

from __future__ import annotations

from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.lock import AppLock
from siddhi.planner.plan.nodes import Plan

__all__ = ["share_broker_lock"]

_BROKER_LOCK = AppLock()


def share_broker_lock(plan: Plan, context: AppContext) -> None:
    """Let apps that both publish to the in-memory broker and subscribe to it share one lock.

    With separate locks, two such apps that send to each other from two threads would deadlock.
    """
    if plan.is_on_both_sides_of_broker():
        context.share_lock(_BROKER_LOCK)
