"""Choose how a condition over a table finds rows: by primary key, index, range or scan.

The condition is split into its conjuncts. Row-free predicates are tested once per event; one conjunct, or several that
form the primary key, determine the lookup; the residual predicates are tested on every row found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from siddhi._frozen import frozen, replace
from siddhi.planner.plan.access import (
    AnyLookup,
    Bound,
    IndexLookup,
    KeyLookup,
    RangeLookup,
    SmallestLookup,
    TableAccess,
    TableLookup,
)
from siddhi.planner.plan.expressions import TABLE_SLOT, Attr, Comparison, InTable, Or, TypedExpression, Widen
from siddhi.planner.plan.nodes import OutputPlan, Plan, TablePlan
from siddhi.planner.plan.on_demand import OnDemandPlan
from siddhi.planner.plan.rewrite import map_expressions, map_output, map_queries, map_selector, replaced
from siddhi.planner.plan.walk import children, conjuncts, disjuncts, substitute, walk
from siddhi.query_api.expression import CompareOperator
from siddhi.types import AttributeType

__all__ = ["OrderTest", "access_of", "choose_accesses", "choose_on_demand_access", "order_test"]

_FLIPPED = {
    CompareOperator.LESS: CompareOperator.GREATER,
    CompareOperator.LESS_EQUAL: CompareOperator.GREATER_EQUAL,
    CompareOperator.GREATER: CompareOperator.LESS,
    CompareOperator.GREATER_EQUAL: CompareOperator.LESS_EQUAL,
}
_LOW = (CompareOperator.GREATER, CompareOperator.GREATER_EQUAL)
_INCLUSIVE = (CompareOperator.LESS_EQUAL, CompareOperator.GREATER_EQUAL)
# Comparison in the wider type and lookup in the narrower type agree only if the wider type represents every value of the
# narrower one exactly: double does not represent every long, nor float every int.
_EXACTLY_WIDER = {
    AttributeType.INT: (AttributeType.LONG, AttributeType.DOUBLE),
    AttributeType.FLOAT: (AttributeType.DOUBLE,),
}


@frozen
class OrderTest:
    """``attribute <operator> value``, where the value does not read the row."""

    part: TypedExpression
    attribute: Attr
    operator: CompareOperator
    value: TypedExpression

    @property
    def position(self) -> int:
        return self.attribute.position

    @property
    def bound(self) -> Bound:
        return Bound(self.value, self.operator in _LOW, self.operator in _INCLUSIVE)


def choose_accesses(plan: Plan) -> Plan:
    """Set :attr:`InTable.access` and :attr:`OutputPlan.access`.

    :func:`~siddhi.planner.rules.choose_join_access.choose_lookups` handles joins with tables.
    """
    if not plan.tables:
        return plan
    plan = map_expressions(plan, partial(_with_accesses, plan.tables))
    return map_queries(plan, lambda query, _: replaced(query, output=_output_access(plan.tables, query.output)))


def choose_on_demand_access(plan: OnDemandPlan, tables: Mapping[str, TablePlan]) -> OnDemandPlan:
    """Do the same for an on-demand query, and set :attr:`OnDemandPlan.access`.

    Args:
        tables: the tables of the app.
    """
    change = partial(_with_accesses, tables)
    table = None if plan.store is None else tables.get(plan.store)
    condition = None if plan.condition is None else change(plan.condition)
    return replaced(
        plan,
        condition=condition,
        selector=map_selector(plan.selector, change),
        output=None if plan.output is None else _output_access(tables, map_output(plan.output, change)),
        access=None if table is None else access_of(table, condition),
    )


def _with_accesses(tables: Mapping[str, TablePlan], expression: TypedExpression) -> TypedExpression:
    """Return the expression with the access of every ``in`` set."""
    if not any(isinstance(node, InTable) for node in walk(expression)):
        return expression

    def chosen(node: TypedExpression) -> TypedExpression | None:
        if not isinstance(node, InTable):
            return None
        condition = _with_accesses(tables, node.condition)
        return replace(node, condition=condition, access=access_of(tables[node.table], condition))

    return substitute(expression, chosen)


def _output_access(tables: Mapping[str, TablePlan], output: OutputPlan) -> OutputPlan:
    if output.condition is None:
        return output
    return replaced(output, access=access_of(tables[output.target], output.condition))


def access_of(table: TablePlan, condition: TypedExpression | None, row_slot: int = TABLE_SLOT) -> TableAccess:
    """Choose how rows in memory are found; for a store, the rows of its cache.

    Args:
        condition: None: every row matches.
        row_slot: the slot of the row in the condition.
    """
    table = table.in_memory()
    row_free: list[TypedExpression] = []
    parts: list[TypedExpression] = []
    for part in conjuncts(condition):
        (parts if _reads_row(part, row_slot) else row_free).append(part)
    lookup, exact = _choose(table, parts, row_slot)
    is_exact = [any(part is other for other in exact) for part in parts]
    return TableAccess(
        lookup,
        tuple(row_free),
        tuple(parts),
        tuple([part for part, known in zip(parts, is_exact, strict=True) if known]),
        tuple([part for part, known in zip(parts, is_exact, strict=True) if not known]),
    )


def _choose(
    table: TablePlan, parts: Sequence[TypedExpression], row_slot: int
) -> tuple[TableLookup | None, tuple[TypedExpression, ...]]:
    """Return the best lookup for a conjunction, and the conjuncts that hold for every row it finds."""
    tests = [test for part in parts if (test := _test(part, row_slot)) is not None]
    equal = {test.position: test for test in reversed(tests) if test.operator is CompareOperator.EQUAL}
    key = table.primary_key
    if key and all(position in equal for position in key):
        return KeyLookup(tuple(equal[position].value for position in key)), tuple(equal[p].part for p in key)
    indexed = [test for position, test in sorted(equal.items()) if position in table.indexes]
    lookups = tuple(IndexLookup(test.position, test.value) for test in indexed)
    if len(lookups) == 1:
        return lookups[0], (indexed[0].part,)
    if lookups:
        return SmallestLookup(lookups), ()
    bounds = _most_bounded(table, tests)
    if bounds:
        return RangeLookup(bounds[0].position, tuple(test.bound for test in bounds)), tuple(
            test.part for test in bounds
        )
    return _any_of(table, parts, row_slot), ()


def _most_bounded(table: TablePlan, tests: Sequence[OrderTest]) -> list[OrderTest]:
    """Return the order tests of the attribute with most of them, among sorted attributes."""
    by_position: dict[int, list[OrderTest]] = {}
    for test in tests:
        if test.operator in _FLIPPED and (test.position in table.indexes or table.primary_key == (test.position,)):
            by_position.setdefault(test.position, []).append(test)
    return max(by_position.values(), key=len, default=[])


def _any_of(table: TablePlan, parts: Sequence[TypedExpression], row_slot: int) -> AnyLookup | None:
    """Return the lookup of an ``or`` of which every operand has a lookup."""
    for part in parts:
        if isinstance(part, Or):
            sides = [_choose(table, conjuncts(side), row_slot)[0] for side in disjuncts(part)]
            found = tuple(side for side in sides if side is not None)
            if len(found) == len(sides):
                return AnyLookup(found)
    return None


def order_test(part: TypedExpression, row_slot: int) -> OrderTest | None:
    """Return the order test (``<``, ``<=``, ``>``, ``>=``) of a row attribute; None for any other condition."""
    test = _test(part, row_slot)
    return test if test is not None and test.operator in _FLIPPED else None


def _test(part: TypedExpression, row_slot: int) -> OrderTest | None:
    if not isinstance(part, Comparison) or part.operator is CompareOperator.NOT_EQUAL:
        return None
    for row, value, operator in (
        (part.left, part.right, part.operator),
        (part.right, part.left, _FLIPPED.get(part.operator, part.operator)),
    ):
        attribute = row.operand if isinstance(row, Widen) else row
        if (
            isinstance(attribute, Attr)
            and attribute.slot == row_slot
            and not _reads_row(value, row_slot)
            and (part.operand_type is attribute.type or part.operand_type in _EXACTLY_WIDER.get(attribute.type, ()))
        ):
            return OrderTest(part, attribute, operator, value)
    return None


def _reads_row(expression: TypedExpression, row_slot: int) -> bool:
    """Return whether an expression reads the row. Inside ``in``, TABLE_SLOT is the row of the other table."""
    pending = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, Attr) and node.slot == row_slot:
            return True
        if not (isinstance(node, InTable) and row_slot == TABLE_SLOT):
            pending += children(node)
    return False
