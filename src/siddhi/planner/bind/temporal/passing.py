"""Find the sources and sinks by which temporal streams pass lifetimes between apps."""

from __future__ import annotations

from siddhi._frozen import replace
from siddhi.planner.plan.connectors import SinkPlan, SourcePlan
from siddhi.planner.plan.temporal import TemporalModel, TemporalStreamPlan

__all__ = ["passing_lifetimes"]


def passing_lifetimes(
    stream: TemporalStreamPlan, sources: tuple[SourcePlan, ...], sinks: tuple[SinkPlan, ...]
) -> tuple[TemporalStreamPlan, tuple[SourcePlan, ...], tuple[SinkPlan, ...]]:
    """Return a temporal stream and its connectors, with those marked that pass lifetimes.

    These are connectors of the in-memory broker; other mappers, and topics with attributes, have rows only.
    """
    sources = tuple(
        replace(source, lifetimes=source.source.builtin == "inMemory" and source.mapper.builtin == "passThrough")
        for source in sources
    )
    edges = stream.model is not TemporalModel.POINT and any(source.lifetimes for source in sources)
    return replace(stream, edges=edges), sources, tuple(replace(sink, lifetimes=_passes(sink)) for sink in sinks)


def _passes(sink: SinkPlan) -> bool:
    if sink.sink.builtin != "inMemory" or sink.mapper.builtin != "passThrough" or sink.distribution is not None:
        return False
    templates = (template for option in sink.options for template in option.templates)
    return all(isinstance(part, str) for template in templates for part in template.parts)
