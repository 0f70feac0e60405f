"""Choose the equalities by which an index finds the partial matches of a pattern that an event can continue."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from siddhi._frozen import replace
from siddhi.planner.plan.expressions import Call, Comparison, TypedExpression
from siddhi.planner.plan.nodes import Plan
from siddhi.planner.plan.patterns import KeyPlan, PatternPlan, SlotPlan
from siddhi.planner.plan.rewrite import map_queries, replaced
from siddhi.planner.plan.walk import calls_python, event_slots, has_aggregate, reads_collected, walk
from siddhi.query_api.expression import CompareOperator

__all__ = ["choose_match_keys"]


def choose_match_keys(plan: Plan) -> Plan:
    """Set :attr:`SlotPlan.keys`."""
    return map_queries(
        plan,
        lambda query, _: (
            replaced(query, input=_with_keys(query.input)) if isinstance(query.input, PatternPlan) else query
        ),
    )


def _with_keys(pattern: PatternPlan) -> PatternPlan:
    if pattern.is_sequence:  # a state of a sequence has at most one partial match: an index has no use
        return pattern
    slots = list(pattern.slots)
    fixed: set[int] = set()  # slots whose event no longer changes while a partial match waits in the state
    for state in pattern.states:
        for number in state.slots:
            slots[number] = _slot_with_keys(slots[number], number, fixed)
        fixed |= {number for number in state.slots if not slots[number].counting}
    return replaced(pattern, slots=tuple(slots))


def _slot_with_keys(slot: SlotPlan, own: int, fixed: AbstractSet[int]) -> SlotPlan:
    # A Python function can observe order and number of its calls: every condition is evaluated on every partial match.
    observed = any(calls_python(part) or has_aggregate(part) for part in slot.conditions)
    keys = () if observed else tuple([key for part in slot.conditions if (key := _key(part, own, fixed))])
    return slot if _are_same(keys, slot.keys) else replace(slot, keys=keys)


def _are_same(keys: Sequence[KeyPlan], others: Sequence[KeyPlan]) -> bool:
    return len(keys) == len(others) and all(
        key.own is other.own and key.earlier is other.earlier for key, other in zip(keys, others, strict=True)
    )


def _key(conjunct: TypedExpression, own: int, fixed: AbstractSet[int]) -> KeyPlan | None:
    if not isinstance(conjunct, Comparison) or conjunct.operator is not CompareOperator.EQUAL:
        return None
    for side, other in ((conjunct.left, conjunct.right), (conjunct.right, conjunct.left)):
        if not _is_deterministic(side) or not _is_deterministic(other):
            continue
        earlier = event_slots(other)
        if event_slots(side) == {own} and earlier and earlier <= fixed:
            return KeyPlan(side, other)
    return None


def _is_deterministic(expression: TypedExpression) -> bool:
    """Return whether the value depends only on the events."""
    return not reads_collected(expression) and all(
        not isinstance(node, Call) or (node.function.deterministic and not node.function.reads_clock)
        for node in walk(expression)
    )
