"""What a query asks of an event before anything else, where that is one value of one attribute.

Of a hundred queries that begin with ``symbol == '...'``, an event concerns one: the junction looks it up instead of
asking them all. That changes nothing that can be seen: an equality with a literal can't fail, and a query does nothing
with an event that its first filter refuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from siddhi.planner.plan.access import EqualityGuard
from siddhi.planner.plan.expressions import And, Attr, Comparison, Const, TypedExpression
from siddhi.planner.plan.nodes import (
    FilterPlan,
    HandlerPlan,
    Plan,
    PredicateIndex,
    QueryPlan,
    SingleInputPlan,
    SourceKind,
)
from siddhi.planner.plan.rewrite import map_queries, replaced
from siddhi.query_api.expression import CompareOperator
from siddhi.types import AttributeType

__all__ = ["FEWEST_GUARDS", "route_events"]

FEWEST_GUARDS = 8
"""Queries whose guards must read one attribute; below, testing each guard costs less than a look-up."""

_KEYS = (AttributeType.STRING, AttributeType.INT, AttributeType.LONG, AttributeType.BOOL)


def route_events(plan: Plan) -> Plan:
    """Fill in :attr:`SingleInputPlan.guard` of queries over streams, and :attr:`StreamPlan.predicate_index`.

    Queries in partitions have no guard: they take the events of a key, not those of the stream.
    """
    guards: dict[str, Counter[int]] = {}

    def guarded(query: QueryPlan, partitioned: bool) -> QueryPlan:
        input_ = query.input
        if partitioned or not isinstance(input_, SingleInputPlan) or input_.kind is not SourceKind.STREAM:
            return query
        guard = _guard(input_.before)
        if guard is None:
            return query
        guards.setdefault(input_.source, Counter())[guard.position] += 1
        return replaced(query, input=replaced(input_, guard=guard))

    plan = map_queries(plan, guarded)
    most = {stream: counter.most_common(1)[0] for stream, counter in guards.items()}
    indexes = {stream: PredicateIndex(*found) for stream, found in most.items() if found[1] >= FEWEST_GUARDS}
    if not indexes:
        return plan
    return replaced(
        plan,
        streams={id_: replaced(stream, predicate_index=indexes.get(id_)) for id_, stream in plan.streams.items()},
    )


def _guard(handlers: Sequence[HandlerPlan]) -> EqualityGuard | None:
    """What an event must have to pass the first of these handlers; None: unknown."""
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
            return EqualityGuard(attribute.position, literal.value)
    return None
