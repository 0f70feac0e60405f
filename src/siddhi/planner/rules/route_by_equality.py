"""What a query asks of an event before anything else, where that is one value of one attribute.

Of a hundred queries that begin with ``symbol == '...'``, an event concerns one: the junction looks it up instead of
asking them all. That changes nothing that can be seen: an equality with a literal can't fail, and a query does nothing
with an event that its first filter refuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from siddhi.planner.plan.expressions import And, Attr, Comparison, Const, TypedExpression
from siddhi.planner.plan.nodes import FilterPlan, HandlerPlan, QueryPlan, SingleInputPlan, SourceKind
from siddhi.query_api.expression import CompareOperator
from siddhi.types import AttributeType

__all__ = ["FEWEST_ASKING", "asked_for", "dispatched"]

FEWEST_ASKING = 8
"""Queries that must ask for values of one attribute; below, asking each costs less than a look-up."""

_KEYS = (AttributeType.STRING, AttributeType.INT, AttributeType.LONG, AttributeType.BOOL)


def asked_for(handlers: Sequence[HandlerPlan]) -> tuple[int, bool | int | str] | None:
    """(position of the attribute, value) that an event must have to pass the first of these handlers; None: unknown."""
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
            return attribute.position, literal.value
    return None


def dispatched(queries: Iterable[QueryPlan]) -> dict[str, tuple[str, int]]:
    """Streams whose events are looked up: stream -> (attribute, how many queries ask for one of its values)."""
    asking: dict[str, Counter[str]] = {}
    for query in queries:
        input_ = query.input
        if isinstance(input_, SingleInputPlan) and input_.kind is SourceKind.STREAM:
            ask = asked_for(input_.before)
            if ask is not None:
                asking.setdefault(input_.source, Counter())[input_.attributes[ask[0]].name] += 1
    most = {stream: counter.most_common(1)[0] for stream, counter in asking.items()}
    return {stream: found for stream, found in most.items() if found[1] >= FEWEST_ASKING}
