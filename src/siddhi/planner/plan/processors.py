"""Stream processors: stream functions that keep what they like from event to event, and may be woken by the clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from siddhi.extension.metadata import StreamProcessorMetadata
from siddhi.planner.plan.nodes import SingleInputPlan, StreamFunctionPlan

__all__ = ["processors_of"]


def processors_of(sources: Iterable[SingleInputPlan]) -> Iterator[StreamProcessorMetadata]:
    """Those that stand behind some sources; plain stream functions, which know one event at a time, are none."""
    for source in sources:
        for handler in (*source.before, *source.after):
            if isinstance(handler, StreamFunctionPlan) and isinstance(handler.function, StreamProcessorMetadata):
                yield handler.function
