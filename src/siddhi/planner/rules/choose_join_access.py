"""Choose how a join searches the other side: a table as in :mod:`~siddhi.planner.rules.choose_table_access`; a window with
a hash index for an equality, with a sorted index for a range, else with a scan."""

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

_INDEXABLE = frozenset(
    {"batch", "externalTime", "externalTimeBatch", "length", "lengthBatch", "time", "timeBatch", "timeLength"}
)
_LENGTHS = {"length": 0, "lengthBatch": 0, "timeLength": 1}
"""Position of the length argument of a window; a window of length 0 buffers no events."""

_MAX_PARTS = 8

_FEW = 64
"""Length of a window up to which a sorted index does not pay off."""


def choose_lookups(plan: Plan) -> Plan:
    """Set :attr:`JoinPlan.lookups`."""

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
    """Return the index lookup that a join condition allows; None: scan.

    Args:
        on: the condition, over slots 0 and 1.
        slot: the slot of the side that is searched.
        window: the window of that side.
        partitioned: whether each key of a partition has its own window.
    """
    if not _is_indexable(window):
        return None
    equality = _equality_lookup(on, slot)
    # The window of one partition key is usually small.
    return _range_lookup(on, slot) if equality is None and not partitioned and not _is_short(window) else equality


def _range_lookup(on: TypedExpression | None, slot: int) -> WindowRangeLookup | None:
    """Return a range lookup by the attribute with most bounds; the whole condition is tested on each event found."""
    by_position: dict[int, list[OrderTest]] = {}
    for part in conjuncts(on):
        test = order_test(part, slot)
        if test is not None and not calls_python(test.value) and not has_aggregate(test.value):
            by_position.setdefault(test.attribute.position, []).append(test)
    tests = max(by_position.values(), key=len, default=[])
    return WindowRangeLookup(tests[0].attribute, tuple(test.bound for test in tests)) if tests else None


def _is_short(window: WindowPlan | None) -> bool:
    if window is None or window.window.builtin not in ("length", "lengthBatch"):
        return False
    length = window.arguments[0]
    return isinstance(length, Const) and int(length.value) <= _FEW


def _is_indexable(window: WindowPlan | None) -> bool:
    """Return whether a window buffers exactly its current events that have not expired, in order, as an index requires."""
    if window is None or window.window.builtin not in _INDEXABLE:
        return False
    position = _LENGTHS.get(window.window.builtin)
    length = None if position is None else window.arguments[position]
    # A window of length 0 buffers no event, so none must be found.
    return not (isinstance(length, Const) and int(length.value) <= 0)


def _equality_lookup(on: TypedExpression | None, slot: int) -> WindowEqualityLookup | None:
    if on is None:
        return None
    key: list[TypedExpression] = []
    probe: list[TypedExpression] = []
    residual: list[TypedExpression] = []
    for condition in conjuncts(on):
        pair = _equality(condition, slot) if len(key) < _MAX_PARTS else None
        if pair is None:
            residual.append(condition)
            continue
        key.append(pair[0])
        probe.append(pair[1])
        if pair[0].type in (AttributeType.FLOAT, AttributeType.DOUBLE):
            # The index treats NaN as equal to NaN, the comparison does not.
            residual.append(condition)
    if not key:
        return None
    remaining = reduce(lambda left, right: And(AttributeType.BOOL, left, right), residual) if residual else None
    return WindowEqualityLookup(tuple(key), tuple(probe), remaining)


def _equality(condition: TypedExpression, slot: int) -> tuple[TypedExpression, TypedExpression] | None:
    """Return key and probe of ``attribute of the slot == attribute of another``; None for any other condition."""
    if not isinstance(condition, Comparison) or condition.operator is not CompareOperator.EQUAL:
        return None
    for key, probe in ((condition.left, condition.right), (condition.right, condition.left)):
        if _slot_of(key) == slot and _slot_of(probe) not in (None, slot):
            return key, probe
    return None


def _slot_of(expression: TypedExpression) -> int | None:
    """Return the slot of an attribute, which may be widened; None for anything else."""
    while isinstance(expression, Widen):
        expression = expression.operand
    return expression.slot if isinstance(expression, Attr) else None
