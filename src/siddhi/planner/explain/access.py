"""Explain how rows and events are found."""

from __future__ import annotations

from siddhi.planner.plan.access import (
    AnyLookup,
    IndexLookup,
    JoinLookup,
    KeyLookup,
    RangeLookup,
    SmallestLookup,
    TableAccess,
    TableLookup,
    WindowEqualityLookup,
    WindowRangeLookup,
    attribute_of,
)
from siddhi.planner.plan.nodes import TablePlan

__all__ = ["access_text", "lookup_text"]


def access_text(table: TablePlan, access: TableAccess) -> str:
    """Return the text of an access: ``primary key symbol``, ``index v``, ``range of v``, ``scan`` or ``store rdbms``."""
    if table.store is not None:
        return f"store {table.store.store.full_name}"
    return _table_lookup_text(table, access.lookup)


def _table_lookup_text(table: TablePlan, lookup: TableLookup | None) -> str:
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
            return " or ".join(_table_lookup_text(table, part) for part in lookup.parts)
        case SmallestLookup():
            return f"smallest of {', '.join(_table_lookup_text(table, part) for part in lookup.parts)}"


def lookup_text(lookup: JoinLookup | None) -> str:
    """Return how a join searches a window: ``index symbol``, ``range of price`` or ``scan``."""
    match lookup:
        case WindowEqualityLookup():
            return f"index {', '.join(attribute_of(part).name for part in lookup.key)}"
        case WindowRangeLookup():
            return f"range of {lookup.key.name}"
        case _:
            return "scan"
