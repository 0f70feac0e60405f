"""How a join looks the other side up: in a table as :mod:`~siddhi.planner.rules.choose_table_access` says; in a window through
a hash index where the condition asks for equality, through an ordered one where it asks for a range, else by looking at
all events."""

from __future__ import annotations

from functools import reduce

from siddhi.planner.plan.access import JoinLookup, WindowEqualityLookup, WindowLookup, WindowRangeLookup
from siddhi.planner.plan.expressions import And, Attr, Comparison, Const, TypedExpression, Widen
from siddhi.planner.plan.nodes import JoinPlan, Plan, QueryPlan, SourceKind, WindowPlan
from siddhi.planner.plan.rewrite import map_queries, replaced
from siddhi.planner.plan.walk import calls_python, conjuncts, has_aggregate
from siddhi.planner.rules.choose_table_access import OrderTest, access_of, order_test
from siddhi.query_api.expression import CompareOperator
from siddhi.types import AttributeType

__all__ = ["choose_lookups"]

_HOLD_WHAT_CAME_OUT = frozenset(
    {"batch", "externalTime", "externalTimeBatch", "length", "lengthBatch", "time", "timeBatch", "timeLength"}
)
_LENGTHS = {"length": 0, "lengthBatch": 0, "timeLength": 1}
"""Position of the number of events a window holds: of no more than 0 they pass, and are not held."""

_MAX_PARTS = 8

_FEW = 64
"""Events a window may hold for which an ordered index does not pay."""


def choose_lookups(plan: Plan) -> Plan:
    """Fill in :attr:`JoinPlan.lookups`."""

    def chosen(query: QueryPlan, partitioned: bool) -> QueryPlan:
        if not isinstance(query.input, JoinPlan):
            return query
        left, right = (_lookup(plan, query.input, slot, partitioned) for slot in (0, 1))
        return replaced(query, input=replaced(query.input, lookups=(left, right)))

    return map_queries(plan, chosen)


def _lookup(plan: Plan, input_: JoinPlan, slot: int, partitioned: bool) -> JoinLookup | None:
    side = (input_.left, input_.right)[slot]
    if side.kind is SourceKind.TABLE:
        return access_of(plan.tables[side.source], input_.on, slot)
    if not input_.triggers(1 - slot):
        return None
    if side.kind is SourceKind.WINDOW:
        return _window_lookup(input_.on, slot, plan.windows[side.source].window, False)
    return _window_lookup(input_.on, slot, side.window, partitioned)


def _window_lookup(
    on: TypedExpression | None, slot: int, window: WindowPlan | None, partitioned: bool
) -> WindowLookup | None:
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


def _range_lookup(on: TypedExpression | None, slot: int) -> WindowRangeLookup | None:
    """By the attribute with most bounds; the condition is tested as a whole on what is found."""
    by_position: dict[int, list[OrderTest]] = {}
    for part in conjuncts(on):
        test = order_test(part, slot)
        if test is not None and not calls_python(test.value) and not has_aggregate(test.value):
            by_position.setdefault(test.attribute.position, []).append(test)
    tests = max(by_position.values(), key=len, default=[])
    return WindowRangeLookup(tests[0].attribute, tuple(test.bound for test in tests)) if tests else None


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


def _equality_lookup(on: TypedExpression | None, slot: int) -> WindowEqualityLookup | None:
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
    return WindowEqualityLookup(tuple(key), tuple(probe), remaining)


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
