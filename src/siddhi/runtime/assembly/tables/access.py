"""Lookups into a table, as planned → accesses that find rows."""

from __future__ import annotations

from collections.abc import Callable

from siddhi._core.expression.executor import Executor
from siddhi._core.table.access import Access, KeyAccess, RangeAccess, SmallestAccess, UnionAccess, ValueAccess
from siddhi._core.table.table import Table
from siddhi.planner.plan.access import AnyLookup, IndexLookup, KeyLookup, RangeLookup, SmallestLookup, TableLookup
from siddhi.planner.plan.expressions import TypedExpression

__all__ = ["build_access"]


def build_access(table: Table, lookup: TableLookup, build: Callable[[TypedExpression], Executor]) -> Access:
    """The access of a lookup; indexes that it needs are made.

    Args:
        table: it is searched.
        lookup: as planned.
        build: makes executors of what rows are compared with.
    """
    match lookup:
        case KeyLookup():
            return KeyAccess(table, tuple(build(value) for value in lookup.values))
        case IndexLookup():
            return ValueAccess(table, lookup.position, build(lookup.value))
        case RangeLookup():
            bounds = tuple((build(bound.value), bound.is_low, bound.inclusive) for bound in lookup.bounds)
            return RangeAccess(table, lookup.position, bounds)
        case AnyLookup():
            return UnionAccess(table, tuple(build_access(table, part, build) for part in lookup.parts))
        case SmallestLookup():
            return SmallestAccess(table, tuple(build_access(table, part, build) for part in lookup.parts))
