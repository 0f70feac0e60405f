"""How a condition over a table finds rows: by primary key, by index, by a range, or by looking at every row. Shared by
the engine, which does it, and by explain, which says it.

The condition is taken apart at its ``and``s. Parts that do not read the row are tested once; one part, or several that
make up the primary key, choose the lookup; what is left is tested on every row found.
"""

from __future__ import annotations

from collections.abc import Sequence

from siddhi._frozen import frozen
from siddhi.planner.plan.expressions import TABLE_SLOT, Attr, Comparison, InTable, Or, TypedExpression, Widen
from siddhi.planner.plan.nodes import TablePlan
from siddhi.planner.plan.walk import children, conjuncts, disjuncts
from siddhi.query_api.expression import CompareOperator
from siddhi.types import AttributeType

__all__ = [
    "AnyLookup",
    "Bound",
    "IndexLookup",
    "KeyLookup",
    "OrderTest",
    "RangeLookup",
    "SmallestLookup",
    "TableAccess",
    "TableLookup",
    "access_text",
    "order_test",
    "plan_table_access",
]

_FLIPPED = {
    CompareOperator.LESS: CompareOperator.GREATER,
    CompareOperator.LESS_EQUAL: CompareOperator.GREATER_EQUAL,
    CompareOperator.GREATER: CompareOperator.LESS,
    CompareOperator.GREATER_EQUAL: CompareOperator.LESS_EQUAL,
}
_LOW = (CompareOperator.GREATER, CompareOperator.GREATER_EQUAL)
_INCLUSIVE = (CompareOperator.LESS_EQUAL, CompareOperator.GREATER_EQUAL)
# Comparing in the wider type and looking up in the narrower one give the same only where the wider one holds every value
# of the narrower one exactly: long does not go into double, nor int into float.
_EXACTLY_WIDER = {
    AttributeType.INT: (AttributeType.LONG, AttributeType.DOUBLE),
    AttributeType.FLOAT: (AttributeType.DOUBLE,),
}


@frozen
class KeyLookup:
    """The row whose primary key has these values, in the order of the key's attributes."""

    values: tuple[TypedExpression, ...]


@frozen
class IndexLookup:
    """The rows whose attribute has a value."""

    position: int
    value: TypedExpression


@frozen
class Bound:
    value: TypedExpression
    is_low: bool
    inclusive: bool


@frozen
class RangeLookup:
    """The rows whose attribute lies within all bounds. Where that is most of the table, every row is looked at."""

    position: int
    bounds: tuple[Bound, ...]


@frozen
class AnyLookup:
    """What any of them finds."""

    parts: tuple[TableLookup, ...]


@frozen
class SmallestLookup:
    """Each of them finds enough: the one that finds least is taken, anew for every event."""

    parts: tuple[IndexLookup, ...]


TableLookup = KeyLookup | IndexLookup | RangeLookup | AnyLookup | SmallestLookup


@frozen
class TableAccess:
    """A condition over a table, taken apart.

    Attributes:
        lookup: what finds candidates; None: every row is one.
        gates: parts that do not read the row.
        rest: parts tested on every candidate.
        whole: all parts that read the row.
    """

    lookup: TableLookup | None
    gates: tuple[TypedExpression, ...]
    rest: tuple[TypedExpression, ...]
    whole: tuple[TypedExpression, ...]


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


def plan_table_access(table: TablePlan, condition: TypedExpression | None, row_slot: int = TABLE_SLOT) -> TableAccess:
    """Choose how rows are found.

    Args:
        condition: None: every row matches.
        row_slot: the slot by which it calls the row.
    """
    gates: list[TypedExpression] = []
    parts: list[TypedExpression] = []
    for part in conjuncts(condition):
        (parts if _reads_row(part, row_slot) else gates).append(part)
    lookup, answered = _choose(table, parts, row_slot)
    rest = tuple(part for part in parts if not any(part is other for other in answered))
    return TableAccess(lookup, tuple(gates), rest, tuple(parts))


def access_text(table: TablePlan, lookup: TableLookup | None) -> str:
    """``primary key symbol``, ``index v``, ``range of v``, ``scan``."""
    match lookup:
        case None:
            return "scan"
        case KeyLookup():
            return f"primary key {', '.join(table.attributes[position].name for position in table.primary_key)}"
        case IndexLookup():
            return f"index {table.attributes[lookup.position].name}"
        case RangeLookup():
            return f"range of {table.attributes[lookup.position].name}"
        case AnyLookup():
            return " or ".join(access_text(table, part) for part in lookup.parts)
        case SmallestLookup():
            return f"smallest of {', '.join(access_text(table, part) for part in lookup.parts)}"


def _choose(
    table: TablePlan, parts: Sequence[TypedExpression], row_slot: int
) -> tuple[TableLookup | None, tuple[TypedExpression, ...]]:
    """The best lookup for parts that must all hold, and the parts it answers for."""
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
    """The order tests of the attribute that has most of them, among those kept in order."""
    by_position: dict[int, list[OrderTest]] = {}
    for test in tests:
        if test.operator in _FLIPPED and (test.position in table.indexes or table.primary_key == (test.position,)):
            by_position.setdefault(test.position, []).append(test)
    return max(by_position.values(), key=len, default=[])


def _any_of(table: TablePlan, parts: Sequence[TypedExpression], row_slot: int) -> AnyLookup | None:
    """Where a part is an ``or`` and every side of it has a lookup of its own."""
    for part in parts:
        if isinstance(part, Or):
            sides = [_choose(table, conjuncts(side), row_slot)[0] for side in disjuncts(part)]
            found = tuple(side for side in sides if side is not None)
            if len(found) == len(sides):
                return AnyLookup(found)
    return None


def order_test(part: TypedExpression, row_slot: int) -> OrderTest | None:
    """The test of an order (``<``, ``<=``, ``>``, ``>=``) of a number of the row; None for any other condition."""
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
    """Whether an expression reads the row. Inside ``in``, TABLE_SLOT is the row of that other table."""
    pending = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, Attr) and node.slot == row_slot:
            return True
        if not (isinstance(node, InTable) and row_slot == TABLE_SLOT):
            pending += children(node)
    return False
