"""Refuse outputs of type object, for which Spark has no column type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from siddhi.errors import SiddhiAppCreationError, SparkLoweringError
from siddhi.planner.plan.expressions import Attr
from siddhi.planner.plan.nodes import Action, PartitionPlan, Plan, QueryPlan
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.query_api.query import Partition
from siddhi.query_api.span import Span
from siddhi.types import AttributeType

__all__ = ["refuse_objects"]


def refuse_objects(plan: Plan, names: Iterable[str]) -> None:
    """Check that streams and aggregations have no attribute of type object.

    Args:
        plan: plan of the app.
        names: names of streams and aggregations.

    Raises:
        SparkLoweringError: one has.
    """
    found = [error for name in names for error in _objects(plan, name)]
    if found:
        raise SparkLoweringError([error.located(source=plan.app.source, app=plan.app.name) for error in found])


def _objects(plan: Plan, name: str) -> Iterator[SiddhiAppCreationError]:
    is_stream = name in plan.streams
    source = plan.streams[name] if is_stream else plan.aggregations[name]
    for position, attribute in enumerate(source.attributes):
        if attribute.type is not AttributeType.OBJECT:
            continue
        what = f"{'stream' if is_stream else 'aggregation'} '{name}'"
        span, hint = source.span, "select its value as an attribute of another type"
        for query in _fillers(plan, name):
            expression = query.selector.columns[position].expression
            if isinstance(query.input, PatternPlan) and isinstance(expression, Attr):
                hint = "select one event of the state: e[0].price or e[last].price"
            span = _place(plan, query, position)
            break
        yield SiddhiAppCreationError(
            f"attribute '{attribute.name}' of {what} has type object, which can't leave an engine",
            code="E412",
            span=span,
            hint=hint,
        )


def _fillers(plan: Plan, stream: str) -> Iterator[QueryPlan]:
    for execution in plan.executions:
        for query in execution.queries if isinstance(execution, PartitionPlan) else (execution,):
            if query.output.action is Action.INSERT and query.output.target == stream:
                yield query


def _place(plan: Plan, query: QueryPlan, position: int) -> Span | None:
    """Return the place of an output attribute in the text of its query."""
    for execution in plan.app.executions:
        for node in execution.queries if isinstance(execution, Partition) else (execution,):
            if node.span == query.span and position < len(node.selector.attributes):
                return node.selector.attributes[position].span or query.span
    return query.span
