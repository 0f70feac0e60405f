"""Explain aggregations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from siddhi.planner.explain.limits import on_full_text
from siddhi.planner.plan.aggregations import AggregationPlan, AggregationReadPlan, OutputKind
from siddhi.planner.plan.text import expression_text, kept_lines
from siddhi.planner.problems import schema_text

__all__ = ["aggregation_lines", "reading_text"]

_STEP = "  "


def aggregation_lines(plan: AggregationPlan) -> Iterator[str]:
    """Yield the base values per bucket, the outputs computed from them, and the retention."""
    by = "" if plan.by is None else f" by {plan.by.name}"
    every = ", ".join(duration.value for duration in plan.durations)
    yield f"aggregation {plan.id} {schema_text(plan.attributes)} from {plan.input.source}{by} every {every} in {plan.zone}"
    if plan.group_by:
        yield f"{_STEP}group by {', '.join(attr.name for attr in plan.group_by)}"
    yield from (f"{_STEP}{line}" for line in kept_lines(plan))
    for output in plan.outputs:
        if output.expression is not None:
            yield f"{_STEP}{output.attribute.name} {output.attribute.type} = {expression_text(output.expression, {})}"
            continue
        stored = plan.stored[output.position].name
        how = {
            OutputKind.STORED: stored,
            OutputKind.MEAN: f"{stored} / {plan.stored[output.count].name}",
            OutputKind.SIZE: f"size of {stored}",
            OutputKind.SPREAD: f"standard deviation from {stored} and the next two",
        }[output.kind]
        yield f"{_STEP}{output.attribute.name} {output.attribute.type} = {how}"
    if plan.purge is not None:
        kept = ", ".join(
            f"{duration.value} {'forever' if retention is None else f'{retention} ms'}"
            for duration, retention in zip(plan.durations, plan.purge.retention_ms, strict=True)
        )
        yield f"{_STEP}purge every {plan.purge.interval_ms} ms, keeps {kept}"
    if plan.limit is not None:
        yield f"{_STEP}at most {plan.limit.keys} groups in buckets, then {on_full_text(plan.limit.on_full)}"


def reading_text(plan: AggregationReadPlan, labels: Mapping[int, str]) -> str:
    """Return ``within ... per ...``."""
    within = ", ".join(expression_text(end, labels) for end in plan.within)
    return f"within {within} per {expression_text(plan.per, labels)}"
