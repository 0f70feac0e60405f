"""Check the classical queries that insert into temporal streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from siddhi._frozen import replace
from siddhi.planner.plan.graph import sources_of
from siddhi.planner.plan.nodes import Action, PartitionPlan, QueryPlan, SourceKind
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.plan.temporal import TemporalModel
from siddhi.planner.problems import creation_error

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["check_classical_inserts", "released_streams"]


def check_classical_inserts(catalog: Catalog, executions: Iterable[QueryPlan | PartitionPlan]) -> None:
    """Mark the temporal streams that classical queries insert into.

    Raises:
        SiddhiAppCreationError: such a stream is not of model 'point', has a source, or gets no CTIs.
    """
    if any(stream.correction is not None for stream in catalog.streams.values()):
        return  # refused with all that an app can't have which corrects late events
    executions = tuple(executions)
    released = released_streams(catalog, executions)
    for query in _queries(executions):
        output = query.output
        target = catalog.streams.get(output.target)
        if output.action is not Action.INSERT or output.kind is not SourceKind.STREAM or target is None:
            continue
        if target.temporal is None or target.temporal.filled:
            continue
        if target.temporal.model is not TemporalModel.POINT:
            raise creation_error(
                "E313",
                f"query '{query.name}' is classical, and temporal stream '{target.id}' is of model "
                f"'{target.temporal.model.value}': its output has no lifetimes",
                query.span,
                f"define '{target.id}' with @temporal(model = 'point')",
            )
        if target.sources:
            raise creation_error(
                "E313",
                f"temporal stream '{target.id}' has a source: no query can insert into it",
                query.span,
                "receive into another stream, and write a second query from it into this one",
            )
        if not released and target.temporal.advance is None:
            raise creation_error(
                "E313",
                f"temporal stream '{target.id}' gets no CTI: it is filled by classical query '{query.name}', and no "
                "classical query of the app reads a temporal stream",
                query.span,
                "declare an input of the query with @temporal(model = 'point'), or add @advance to the definition of "
                f"'{target.id}'",
            )
        catalog.streams[target.id] = replace(target, temporal=replace(target.temporal, filled=True))


def released_streams(catalog: Catalog, executions: Iterable[QueryPlan | PartitionPlan]) -> set[str]:
    """Return the temporal streams that classical queries and aggregations read."""
    found = {
        one.source
        for query in _queries(executions)
        for one in (query.input.slots if isinstance(query.input, PatternPlan) else sources_of(query))
        if one.kind is SourceKind.STREAM
    }
    found |= {aggregation.input.source for aggregation in catalog.aggregations.values()}
    return {stream.id for stream in catalog.streams.values() if stream.temporal is not None and stream.id in found}


def _queries(executions: Iterable[QueryPlan | PartitionPlan]) -> Iterator[QueryPlan]:
    for execution in executions:
        yield from (execution,) if isinstance(execution, QueryPlan) else execution.queries
