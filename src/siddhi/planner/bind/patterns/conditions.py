"""Split the conditions of a state: those on the event alone, and those on the partial match."""

from __future__ import annotations

from collections.abc import Iterable

from siddhi._frozen import frozen
from siddhi.planner.plan.expressions import TypedExpression
from siddhi.planner.plan.walk import calls_python, conjuncts, event_slots, has_aggregate, reads_collected

__all__ = ["Conditions", "split_conditions"]


@frozen
class Conditions:
    """The conjuncts of a state's filters; see :class:`SlotPlan`."""

    alone: tuple[TypedExpression, ...] = ()
    others: tuple[TypedExpression, ...] = ()


def split_conditions(filters: Iterable[TypedExpression], own: int) -> Conditions:
    """Split filters into conditions evaluated once per event and conditions evaluated per partial match.

    Args:
        filters: the filters of one state, in order.
        own: the slot of the state.
    """
    parts = [part for condition in filters for part in conjuncts(condition)]
    if any(calls_python(part) or has_aggregate(part) for part in parts):
        # A Python function can observe order and number of its calls: keep the conditions as written.
        return Conditions(others=tuple(parts))
    alone = tuple(part for part in parts if event_slots(part) <= {own} and not reads_collected(part))
    others = tuple(part for part in parts if not any(part is other for other in alone))
    return Conditions(alone, others)
