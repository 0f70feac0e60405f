"""How a join looks the other side up: through a hash index where the condition asks for equality, through an ordered one where
it asks for a range, else by looking through everything. Shared by the engine, which does it, and by explain, which says it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from siddhi._frozen import frozen
from siddhi.planner.plan.expressions import And, Attr, Comparison, Const, TypedExpression, Widen
from siddhi.planner.plan.nodes import JoinPlan, NamedWindowPlan, SourceKind, WindowPlan
from siddhi.planner.plan.walk import calls_python, conjuncts, has_aggregate
from siddhi.planner.rules.choose_table_access import Bound, OrderTest, order_test
from siddhi.query_api.expression import CompareOperator
from siddhi.query_api.input import Trigger
from siddhi.types import AttributeType

__all__ = ["EqualityLookup", "RangeLookup", "attribute_of", "lookup_text", "plan_lookup", "triggers"]

_HOLD_WHAT_CAME_OUT = frozenset(
    {"batch", "externalTime", "externalTimeBatch", "length", "lengthBatch", "time", "timeBatch", "timeLength"}
)
_LENGTHS = {"length": 0, "lengthBatch": 0, "timeLength": 1}
"""Position of the number of events a window holds: of no more than 0 they pass, and are not held."""

_MAX_PARTS = 8


_FEW = 64
"""Events a window may hold for which an ordered index does not pay."""


@frozen
class EqualityLookup:
    """``key`` of the searched event equals ``probe`` of the one that triggers, part by part, and ``rest`` holds."""

    key: tuple[TypedExpression, ...]
    probe: tuple[TypedExpression, ...]
    rest: TypedExpression | None


@frozen
class RangeLookup:
    """``key``, a number of the searched event, lies within all bounds, which do not read that event."""

    key: Attr
    bounds: tuple[Bound, ...]


def plan_lookup(
    on: TypedExpression | None, slot: int, window: WindowPlan | None, partitioned: bool
) -> EqualityLookup | RangeLookup | None:
    """The index look-up a join condition allows; None: every event is looked at.

    Args:
        on: the condition, over slots 0 and 1.
        slot: of the side that is searched.
        window: whose content that is.
        partitioned: it has a content for each key of a partition.
    """
    if not _holds_what_came_out(window):
        return None
    equality = _equality_lookup(on, slot)
    # What a key of a partition holds is little, as a rule.
    return _range_lookup(on, slot) if equality is None and not partitioned and not _holds_few(window) else equality


def _range_lookup(on: TypedExpression | None, slot: int) -> RangeLookup | None:
    """By the attribute with most bounds; the condition is tested as a whole on what is found."""
    by_position: dict[int, list[OrderTest]] = {}
    for part in conjuncts(on):
        test = order_test(part, slot)
        if test is not None and not calls_python(test.value) and not has_aggregate(test.value):
            by_position.setdefault(test.attribute.position, []).append(test)
    tests = max(by_position.values(), key=len, default=[])
    return RangeLookup(tests[0].attribute, tuple(test.bound for test in tests)) if tests else None


def _holds_few(window: WindowPlan | None) -> bool:
    if window is None or window.window.native not in ("length", "lengthBatch"):
        return False
    length = window.arguments[0]
    return isinstance(length, Const) and int(length.value) <= _FEW


def _holds_what_came_out(window: WindowPlan | None) -> bool:
    """Whether a window holds what has come out of it and not yet expired, in that order: then an index can follow it."""
    if window is None or window.window.native not in _HOLD_WHAT_CAME_OUT:
        return False
    position = _LENGTHS.get(window.window.native)
    length = None if position is None else window.arguments[position]
    # Where no event is held, none may be found, not even while it passes.
    return not (isinstance(length, Const) and int(length.value) <= 0)


def _equality_lookup(on: TypedExpression | None, slot: int) -> EqualityLookup | None:
    if on is None:
        return None
    key: list[TypedExpression] = []
    probe: list[TypedExpression] = []
    rest: list[TypedExpression] = []
    for condition in conjuncts(on):
        pair = _equality(condition, slot) if len(key) < _MAX_PARTS else None
        if pair is None:
            rest.append(condition)
            continue
        key.append(pair[0])
        probe.append(pair[1])
        if pair[0].type in (AttributeType.FLOAT, AttributeType.DOUBLE):
            # An index finds NaN by NaN, the comparison does not.
            rest.append(condition)
    if not key:
        return None
    remaining = reduce(lambda left, right: And(AttributeType.BOOL, left, right), rest) if rest else None
    return EqualityLookup(tuple(key), tuple(probe), remaining)


def lookup_text(input_: JoinPlan, slot: int, windows: Mapping[str, NamedWindowPlan], partitioned: bool) -> str | None:
    """``index symbol``, ``range of price`` or ``scan``: how a side is searched; None where it is not, or is not a window's content.

    Args:
        input_: the join.
        slot: of the side.
        windows: named windows by id.
        partitioned: it stands in a partition.
    """
    side = (input_.left, input_.right)[slot]
    if not triggers(input_, 1 - slot):
        return None
    window = windows[side.source].window if side.kind is SourceKind.WINDOW else side.window
    if window is None:
        return None
    lookup = plan_lookup(input_.on, slot, window, partitioned and side.kind is not SourceKind.WINDOW)
    if lookup is None:
        return "scan"
    if isinstance(lookup, RangeLookup):
        return f"range of {lookup.key.name}"
    return f"index {', '.join(attribute_of(part).name for part in lookup.key)}"


def triggers(input_: JoinPlan, slot: int) -> bool:
    """Whether what leaves a side's window looks for matches."""
    side, other = (input_.left, input_.right) if slot == 0 else (input_.right, input_.left)
    if side.kind in (SourceKind.TABLE, SourceKind.AGGREGATION):
        return False
    if slot == 1 and side.kind is SourceKind.WINDOW and side.source == other.source:
        return False  # a named window joined with itself is triggered by its left occurrence only
    return input_.trigger in (Trigger.BOTH, (Trigger.LEFT, Trigger.RIGHT)[slot])


def _equality(condition: TypedExpression, slot: int) -> tuple[TypedExpression, TypedExpression] | None:
    """Key and probe of ``attribute of the slot == attribute of another``; None for any other condition."""
    if not isinstance(condition, Comparison) or condition.operator is not CompareOperator.EQUAL:
        return None
    for key, probe in ((condition.left, condition.right), (condition.right, condition.left)):
        if _slot_of(key) == slot and _slot_of(probe) not in (None, slot):
            return key, probe
    return None


def _slot_of(expression: TypedExpression) -> int | None:
    """The slot of an attribute, widened or not; None for anything else."""
    while isinstance(expression, Widen):
        expression = expression.operand
    return expression.slot if isinstance(expression, Attr) else None


def attribute_of(part: TypedExpression) -> Attr:
    """The attribute behind a part of a key or probe, which may be widened."""
    while isinstance(part, Widen):
        part = part.operand
    assert isinstance(part, Attr)
    return part
