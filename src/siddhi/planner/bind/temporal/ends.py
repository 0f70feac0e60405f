"""Check the queries that select the ends of lifetimes: their rows can be shown only when they are closed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from siddhi.planner.plan.nodes import StreamPlan
from siddhi.planner.plan.temporal import (
    AntiJoinPlan,
    ClipPlan,
    TemporalModel,
    TemporalPartitionPlan,
    TemporalQueryPlan,
)
from siddhi.planner.problems import creation_error
from siddhi.query_api.span import Node

__all__ = ["check_selected_ends"]


def check_selected_ends(
    streams: Mapping[str, StreamPlan],
    queries: Iterable[TemporalQueryPlan],
    partitions: Iterable[TemporalPartitionPlan] = (),
    released: Collection[str] = (),
) -> None:
    """Check where rows with the ends of their lifetimes go; ``released``: the temporal streams that classical queries read.

    Raises:
        SiddhiAppCreationError: something needs such a row when it starts, and its end is not known then.
    """
    queries = tuple(queries)
    readers: dict[str, str] = dict.fromkeys(released, "a classical query")
    for partition in partitions:
        readers |= {key.stream: f"partition '{partition.name}'" for key in partition.keys}
    for query in queries:
        for input_ in query.inputs:
            readers[input_.source] = f"query '{query.name}'"
            for step in input_.steps:
                if isinstance(step, (ClipPlan, AntiJoinPlan)) and step.other is not None:
                    readers[step.other] = f"query '{query.name}'"
    for query in queries:
        problem = _problem(streams.get(query.target), readers) if query.reads_end else None
        if problem is not None:
            raise creation_error(
                "E326",
                f"query '{query.name}' selects eventEnd(), which is known when a row ends, and {problem}",
                Node(span=query.span),
                "select eventEnd() last, into an interval stream that only callbacks and sinks receive",
            )


def _problem(target: StreamPlan | None, readers: Mapping[str, str]) -> str | None:
    """Return what needs a row of a stream before it ends; None: nothing does."""
    if target is None or target.temporal is None:
        return "an inner stream of a partition needs it when it starts"
    if target.temporal.model is not TemporalModel.INTERVAL:
        return f"stream '{target.id}' of model '{target.temporal.model.value}' shows it when it starts"
    if target.temporal.by_start:
        return f"stream '{target.id}' shows rows in order of start"
    if target.id in readers:
        return f"{readers[target.id]} reads stream '{target.id}', which needs it when it starts"
    if any(sink.lifetimes for sink in target.sinks):
        return f"a sink of stream '{target.id}' passes it to other apps when it starts"
    return None
