"""Planned lookups of a table → accesses that find rows."""

from __future__ import annotations

from collections.abc import Callable

from siddhi._core.expression.executor import Executor
from siddhi._core.table.access import Access, KeyAccess, RangeAccess, SmallestAccess, UnionAccess, ValueAccess
from siddhi._core.table.table import Table
from siddhi.planner.plan.access import AnyLookup, IndexLookup, KeyLookup, RangeLookup, SmallestLookup, TableLookup
from siddhi.planner.plan.expressions import TypedExpression

__all__ = ["build_access"]


def build_access(table: Table, lookup: TableLookup, build: Callable[[TypedExpression], Executor]) -> Access:
    """Build the access of a lookup, with the indexes that it needs.

    Args:
        table: the table to search.
        lookup: the planned lookup.
        build: builds executors of the values that rows are compared with.
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
