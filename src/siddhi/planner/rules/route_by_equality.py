"""Route events by equality: a predicate index finds the queries whose first filter is an equality with a literal.

Of a hundred queries that begin with ``symbol == '...'``, an event concerns one: the junction looks it up instead of
offering the event to all. The results are unchanged: an equality with a literal can't fail, and a query ignores an event
that its first filter rejects.
"""

from __future__ import annotations

from collections import Counter

from siddhi.planner.plan.access import EqualityGuard
from siddhi.planner.plan.expressions import And, Attr, Comparison, Const, TypedExpression
from siddhi.planner.plan.nodes import (
    FilterPlan,
    JoinPlan,
    Plan,
    PredicateIndex,
    QueryPlan,
    SingleInputPlan,
    SourceKind,
)
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.plan.rewrite import map_queries, replaced
from siddhi.query_api.expression import CompareOperator
from siddhi.types import AttributeType

__all__ = ["FEWEST_GUARDS", "route_events"]

FEWEST_GUARDS = 8
"""Minimum number of guards on one attribute; with fewer, testing each guard costs less than a lookup."""

_KEYS = (AttributeType.STRING, AttributeType.INT, AttributeType.LONG, AttributeType.BOOL)


def route_events(plan: Plan) -> Plan:
    """Set :attr:`StreamPlan.predicate_index`, and :attr:`SingleInputPlan.guard` of the queries in the index.

    Queries in partitions have no guard: they receive the events of a key, not those of the stream.
    """
    guards: dict[str, Counter[int]] = {}
    for execution in plan.executions:
        if isinstance(execution, QueryPlan) and (guard := _guard(execution.input)) is not None:
            guards.setdefault(guard[0], Counter())[guard[1].position] += 1
    most = {stream: counter.most_common(1)[0] for stream, counter in guards.items()}
    indexes = {stream: PredicateIndex(*found) for stream, found in most.items() if found[1] >= FEWEST_GUARDS}
    if not indexes:
        return plan

    def guarded(query: QueryPlan, partitioned: bool) -> QueryPlan:
        found = None if partitioned else _guard(query.input)
        if found is None or found[0] not in indexes or indexes[found[0]].position != found[1].position:
            return query
        return replaced(query, input=replaced(query.input, guard=found[1]))

    return replaced(
        map_queries(plan, guarded),
        streams={id_: replaced(stream, predicate_index=indexes.get(id_)) for id_, stream in plan.streams.items()},
    )


def _guard(input_: SingleInputPlan | JoinPlan | PatternPlan) -> tuple[str, EqualityGuard] | None:
    """Return the stream and the equality guard of a query; None: it has no guard."""
    if not isinstance(input_, SingleInputPlan) or input_.kind is not SourceKind.STREAM:
        return None
    handlers = input_.before
    if not handlers or not isinstance(handlers[0], FilterPlan):
        return None
    condition: TypedExpression = handlers[0].condition
    while isinstance(condition, And):
        condition = condition.left
    if not isinstance(condition, Comparison) or condition.operator is not CompareOperator.EQUAL:
        return None
    for attribute, literal in ((condition.left, condition.right), (condition.right, condition.left)):
        if (
            isinstance(attribute, Attr)
            and isinstance(literal, Const)
            and attribute.slot == 0
            and attribute.index is None
            and attribute.type in _KEYS
            and not isinstance(literal.value, float)
        ):
            return input_.source, EqualityGuard(attribute.position, literal.value)
    return None
