"""Times of inputs for temporal streams, and for streams that correct late events."""

from __future__ import annotations

import click

from siddhi import SiddhiAppRuntime
from siddhi.planner.plan.temporal import TemporalModel

__all__ = ["carries_start", "check_times", "is_temporal"]


def carries_start(runtime: SiddhiAppRuntime, stream: str) -> str | None:
    """Return the attribute that carries the start of the rows of a stream; None: there is none."""
    plan = runtime.plan.streams.get(stream)
    settings = None if plan is None else plan.temporal or plan.correction
    if plan is None or settings is None or settings.start is None:
        return None
    return plan.attributes[settings.start].name


def is_temporal(runtime: SiddhiAppRuntime, stream: str) -> bool:
    """Return whether rows of a stream have lifetimes."""
    plan = runtime.plan.streams.get(stream)
    return plan is not None and plan.temporal is not None


def check_times(runtime: SiddhiAppRuntime, stream: str, timestamp: str | None) -> None:
    """Check that rows of an input have the times that their stream needs.

    Args:
        runtime: the app.
        stream: the stream of the input.
        timestamp: the column of event times; None: there is none.

    Raises:
        click.UsageError: they have not.
    """
    plan = runtime.plan.streams.get(stream)
    if plan is None or (plan.temporal is None and plan.correction is None):
        return
    start = carries_start(runtime, stream)
    if start is not None:
        if timestamp not in (None, start):
            raise click.UsageError(
                f"attribute '{start}' of stream '{stream}' carries the times of its events: "
                f"use --timestamp {start} instead of {timestamp}, or leave it out"
            )
        return
    if plan.temporal is not None and plan.temporal.model is not TemporalModel.POINT and plan.temporal.end is None:
        raise click.UsageError(
            f"stream '{stream}' is temporal, and its rows have no lifetime: declare the attributes that carry it, "
            "as in @temporal(start = 'since', end = 'until')"
        )
    if timestamp is None:
        raise click.UsageError(f"stream '{stream}' needs the times of its events: add --timestamp COLUMN")
