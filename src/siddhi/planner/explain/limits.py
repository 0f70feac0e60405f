"""Explain limits."""

from __future__ import annotations

from siddhi.planner.plan.limits import KeyLimitPlan, OnFull

__all__ = ["limit_text", "on_full_text"]


def limit_text(limit: KeyLimitPlan) -> str:
    """Return the limits of keys and values, and what happens at each."""
    keys, values = f"{limit.keys} keys", f"{limit.values} distinct values per group"
    limits = [] if limit.keys is None else [(keys, limit.on_full)]
    if limit.values is not None:
        limits.append((values, limit.values_on_full))
    if len(limits) > 1 and limit.on_full is limit.values_on_full:
        limits = [(f"{keys} and {values}", limit.on_full)]
    text = "; ".join(f"at most {what}, then {on_full_text(on_full)}" for what, on_full in limits)
    if limit.ttl_ms is not None:
        text += f"{'; ' if text else ''}drop keys unused for {limit.ttl_ms} ms"
    return text


def on_full_text(on_full: OnFull) -> str:
    """Return what happens at a limit."""
    return {
        OnFull.ERROR: "fail with an error",
        OnFull.DROP_OLDEST: "drop the oldest",
        OnFull.LOG: "drop the event and log",
    }[on_full]
