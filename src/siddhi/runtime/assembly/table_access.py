"""A condition over a table → how its rows are found: primary key, index, range, or a look at every row.

The condition is taken apart at its ``and``s. Parts that do not read the row are tested once; one part, or several that make
up the primary key, pick the access; what is left is tested on every row found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from siddhi._core.executor import Executor
from siddhi._core.table import Table
from siddhi._core.table_access import (
    Access,
    KeyAccess,
    RangeAccess,
    SmallestAccess,
    UnionAccess,
    ValueAccess,
    can_probe,
)
from siddhi.planner.expressions import (
    TABLE_SLOT,
    And,
    Attr,
    Comparison,
    InTable,
    Or,
    TypedExpression,
    Widen,
)
from siddhi.planner.nodes import TablePlan
from siddhi.planner.walk import children
from siddhi.query_api.expression import CompareOperator
from siddhi.runtime.assembly.types import type_code

__all__ = ["AccessPlanner", "ChosenAccess", "conjuncts", "reads_row"]

_FLIPPED = {
    CompareOperator.LESS: CompareOperator.GREATER,
    CompareOperator.LESS_EQUAL: CompareOperator.GREATER_EQUAL,
    CompareOperator.GREATER: CompareOperator.LESS,
    CompareOperator.GREATER_EQUAL: CompareOperator.LESS_EQUAL,
}
_LOW = (CompareOperator.GREATER, CompareOperator.GREATER_EQUAL)
_INCLUSIVE = (CompareOperator.LESS_EQUAL, CompareOperator.GREATER_EQUAL)


@dataclass(frozen=True, slots=True)
class ChosenAccess:
    """An access, the parts of the condition that it answers for, and for a primary key the values compared with it."""

    access: Access
    answers: tuple[TypedExpression, ...] = ()
    key: dict[int, TypedExpression] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Test:
    """``attribute at position <operator> value``, where the value does not read the row."""

    part: TypedExpression
    position: int
    operator: CompareOperator
    value: TypedExpression


@dataclass(slots=True)
class AccessPlanner:
    """Chooses accesses into one table.

    Attributes:
        table: the rows.
        plan: its keys and indexes.
        row_slot: the slot by which the condition calls the row.
        build: makes executors of what the row is compared with.
    """

    table: Table
    plan: TablePlan
    row_slot: int
    build: Callable[[TypedExpression], Executor]

    def choose(self, parts: Sequence[TypedExpression]) -> ChosenAccess | None:
        """The best access for parts that must all hold; None: look at every row."""
        tests = [test for part in parts if (test := self._test(part)) is not None]
        equal = {test.position: test for test in reversed(tests) if test.operator is CompareOperator.EQUAL}
        key = self.plan.primary_key
        if key and all(position in equal for position in key):
            return ChosenAccess(
                KeyAccess(self.table, tuple(self.build(equal[position].value) for position in key)),
                tuple(equal[position].part for position in key),
                {position: equal[position].value for position in key},
            )
        indexed = [test for position, test in sorted(equal.items()) if position in self.plan.indexes]
        if indexed:
            accesses = [ValueAccess(self.table, test.position, self.build(test.value)) for test in indexed]
            if len(accesses) == 1:
                return ChosenAccess(accesses[0], (indexed[0].part,))
            return ChosenAccess(SmallestAccess(self.table, tuple(accesses)))
        return self._range(tests) or self._union(parts)

    def _range(self, tests: Sequence[_Test]) -> ChosenAccess | None:
        """The range of the attribute with the most bounds."""
        by_position: dict[int, list[_Test]] = {}
        for test in tests:
            if test.operator in _FLIPPED and self._has_order(test.position):
                by_position.setdefault(test.position, []).append(test)
        if not by_position:
            return None
        position, bounds = max(by_position.items(), key=lambda item: len(item[1]))
        access = RangeAccess(
            self.table,
            position,
            tuple((self.build(test.value), test.operator in _LOW, test.operator in _INCLUSIVE) for test in bounds),
        )
        return ChosenAccess(access, tuple(test.part for test in bounds))

    def _union(self, parts: Sequence[TypedExpression]) -> ChosenAccess | None:
        """Where a part is an ``or`` and every side of it has an access of its own."""
        for part in parts:
            if not isinstance(part, Or):
                continue
            sides = [self.choose(conjuncts(side)) for side in _disjuncts(part)]
            if all(side is not None for side in sides):
                return ChosenAccess(UnionAccess(self.table, tuple(side.access for side in sides if side is not None)))
        return None

    def _has_order(self, position: int) -> bool:
        return position in self.plan.indexes or self.plan.primary_key == (position,)

    def _test(self, part: TypedExpression) -> _Test | None:
        if not isinstance(part, Comparison) or part.operator is CompareOperator.NOT_EQUAL:
            return None
        for row, value, operator in (
            (part.left, part.right, part.operator),
            (part.right, part.left, _FLIPPED.get(part.operator, part.operator)),
        ):
            attribute = row.operand if isinstance(row, Widen) else row
            if (
                isinstance(attribute, Attr)
                and attribute.slot == self.row_slot
                and not reads_row(value, self.row_slot)
                and can_probe(type_code(attribute.type), type_code(part.operand_type))
            ):
                return _Test(part, attribute.position, operator, value)
        return None


def conjuncts(condition: TypedExpression | None) -> list[TypedExpression]:
    """The parts that must all hold."""
    if isinstance(condition, And):
        return [*conjuncts(condition.left), *conjuncts(condition.right)]
    return [] if condition is None else [condition]


def reads_row(expression: TypedExpression, row_slot: int) -> bool:
    """Whether an expression reads the row. Inside ``in``, TABLE_SLOT is the row of that other table."""
    if isinstance(expression, Attr):
        return expression.slot == row_slot
    if isinstance(expression, InTable) and row_slot == TABLE_SLOT:
        return False
    return any(reads_row(child, row_slot) for child in children(expression))


def _disjuncts(condition: TypedExpression) -> list[TypedExpression]:
    if isinstance(condition, Or):
        return [*_disjuncts(condition.left), *_disjuncts(condition.right)]
    return [condition]
