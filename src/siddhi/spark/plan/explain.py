"""Describe a layout as text."""

from __future__ import annotations

from collections.abc import Iterator

from siddhi.planner.plan.nodes import Plan
from siddhi.spark.plan.fragments import CatalystStage, EngineFragment, Layout

__all__ = ["explain_layout"]


def explain_layout(plan: Plan, layout: Layout, shards: int) -> str:
    """Return the steps in the order of the data flow, each with its reason."""
    mode = "streaming" if layout.streaming else "batch"
    lines = [f"app {plan.app.name or 'without name'} on Spark, {mode}"]
    if plan.playback is None:
        lines.append("  system time is event time")
    elif plan.playback.idle_time_ms is not None:
        lines.append(
            "  @app:playback(idle.time) has no effect: event time advances with rows only (see max_idle of a binding)"
        )
    lines += [
        f"  @async of {stream.id} has no effect: Spark schedules the shards"
        for stream in plan.streams.values()
        if stream.async_settings is not None
    ]
    lines += [f"  table {table}: read-only, sent to all workers" for table in layout.read_only]
    if layout.streaming and layout.fragments and layout.catalyst_stages:
        lines.append(f"  outputs of Catalyst stages wait for the watermark like all rows, on {shards} shards")
    number = 0
    for step in layout.steps:
        if isinstance(step, CatalystStage):
            lines += _stage_lines(step)
        else:
            number += 1
            lines += _fragment_lines(step, number, shards)
    return "\n".join(lines)


def _stage_lines(step: CatalystStage) -> Iterator[str]:
    yield f"Catalyst stage {step.element.name}: {step.form.kind.value}"
    yield f"  from {', '.join(step.element.reads)} into {', '.join(step.element.writes) or step.element.name}"
    if step.form.float_sums:
        yield "  sums of floating-point numbers depend on the order of rows (to 1e-9); exact_floats=True avoids this"


def _fragment_lines(fragment: EngineFragment, number: int, shards: int) -> Iterator[str]:
    if fragment.stateless:
        where = "any shard, row by row"
    elif fragment.key is None:
        where = f"one shard: {fragment.reason}"
    else:
        where = f"{shards} shards"
    yield f"engine fragment {number} on {where}"
    for stream in fragment.inputs:
        keys = None if fragment.key is None else fragment.key.streams[stream]
        if fragment.key is None:
            yield f"  from {stream}"
        elif keys is None:
            yield f"  from {stream}, to every shard"
        elif not keys:
            yield f"  from {stream}, to any shard"
        else:
            yield f"  from {stream} by {', '.join(key.text for key in keys)}"
    for element in fragment.elements:
        into = f" into {', '.join(element.writes)}" if element.writes else ""
        yield f"  {element.kind.value} {element.name}{into}: {fragment.why.get(element.name, '')}"
        yield from (f"    {note}" for note in element.notes)
