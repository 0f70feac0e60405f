"""Split the conditions of a state: those on the event alone, those on the partial match, and those that give a key."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from siddhi._frozen import frozen
from siddhi.planner.plan.expressions import (
    Attr,
    Call,
    Comparison,
    EventReference,
    IsNullEvent,
    TypedExpression,
)
from siddhi.planner.plan.patterns import KeyPlan
from siddhi.planner.plan.walk import calls_python, conjuncts, has_aggregate, walk
from siddhi.query_api.expression import CompareOperator

__all__ = ["Conditions", "split_conditions"]


@frozen
class Conditions:
    """The conjuncts of a state's filters; see :class:`SlotPlan`."""

    alone: tuple[TypedExpression, ...] = ()
    others: tuple[TypedExpression, ...] = ()
    keys: tuple[KeyPlan, ...] = ()


def split_conditions(
    filters: Iterable[TypedExpression], own: int, fixed: AbstractSet[int], *, wants_keys: bool
) -> Conditions:
    """Split filters into conditions evaluated once per event and conditions evaluated per partial match.

    Args:
        filters: the filters of one state, in order.
        own: the slot of the state.
        fixed: slots whose event no longer changes while a partial match waits in this state.
        wants_keys: whether equalities can become keys.
    """
    parts = [part for condition in filters for part in conjuncts(condition)]
    if any(calls_python(part) or has_aggregate(part) for part in parts):
        # A Python function can observe order and number of its calls: keep the conditions as written.
        return Conditions(others=tuple(parts))
    alone = tuple(part for part in parts if _slots(part) <= {own} and not _reads_collected(part))
    others = tuple(part for part in parts if not any(part is other for other in alone))
    keys = tuple(key for part in others if (key := _key(part, own, fixed))) if wants_keys else ()
    return Conditions(alone, others, keys)


def _slots(expression: TypedExpression) -> set[int]:
    """Return the slots of pattern events that the expression reads, without table rows."""
    return {
        node.slot
        for node in walk(expression)
        if isinstance(node, (Attr, EventReference, IsNullEvent)) and node.slot >= 0
    }


def _reads_collected(expression: TypedExpression) -> bool:
    return any(isinstance(node, (Attr, IsNullEvent)) and node.index is not None for node in walk(expression))


def _key(conjunct: TypedExpression, own: int, fixed: AbstractSet[int]) -> KeyPlan | None:
    if not isinstance(conjunct, Comparison) or conjunct.operator is not CompareOperator.EQUAL:
        return None
    for side, other in ((conjunct.left, conjunct.right), (conjunct.right, conjunct.left)):
        if not _is_deterministic(side) or not _is_deterministic(other):
            continue
        if _slots(side) == {own} and _slots(other) and _slots(other) <= fixed:
            return KeyPlan(side, other)
    return None


def _is_deterministic(expression: TypedExpression) -> bool:
    """Return whether the value depends only on the events."""
    return not _reads_collected(expression) and all(
        not isinstance(node, Call) or (node.function.deterministic and not node.function.reads_clock)
        for node in walk(expression)
    )
