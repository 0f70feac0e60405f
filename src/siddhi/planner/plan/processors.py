"""Stream processors: stream functions with state across events, which can use timers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from siddhi.extension.metadata import StreamProcessorMetadata
from siddhi.planner.plan.nodes import SingleInputPlan, StreamFunctionPlan

__all__ = ["processors_of"]


def processors_of(sources: Iterable[SingleInputPlan]) -> Iterator[StreamProcessorMetadata]:
    """Yield the stream processors of some sources, without plain stream functions, which have no state."""
    for source in sources:
        for handler in (*source.before, *source.after):
            if isinstance(handler, StreamFunctionPlan) and isinstance(handler.function, StreamProcessorMetadata):
                yield handler.function
