"""Distribution of written tables: by a column, if every access looks up one value of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from siddhi.planner.distribution.keys import (
    KEY_TYPES,
    UNSPECIFIED,
    Distribution,
    KeyPart,
    StreamAttribute,
    combine,
    plain_part,
    single_partition,
)
from siddhi.planner.distribution.queries import attribute_equalities, locator, selected_locator
from siddhi.planner.plan.elements import AppElement
from siddhi.planner.plan.expressions import OUTPUT_SLOT, TABLE_SLOT, Attr, InTable
from siddhi.planner.plan.graph import expressions_of
from siddhi.planner.plan.nodes import Action, JoinPlan, PartitionPlan, Plan, QueryPlan, SourceKind
from siddhi.planner.plan.walk import walk

__all__ = ["table_distributions"]

Access = Mapping[int, KeyPart]
"""One access to a table: the columns that it looks up or writes, with the key that holds the value."""


def table_distributions(plan: Plan, elements: Iterable[AppElement]) -> dict[str, Distribution]:
    """Return the distribution of each element's use of written tables, by the element's name."""
    accesses: dict[str, dict[str, list[Access]]] = {}
    for element in elements:
        for table, access in _accesses(element):
            accesses.setdefault(table, {}).setdefault(element.name, []).append(access)
    written = {name for element in elements for name in element.changes if name in plan.tables}
    found: dict[str, Distribution] = {}
    for table in sorted(written):
        users = accesses.get(table, {})
        if plan.tables[table].limit is not None:
            counted = single_partition(f"'@limit' counts the rows of table '{table}' together")
            found |= {name: combine(found.get(name, UNSPECIFIED), counted) for name in users}
            continue
        # One column for all: keys of two elements are one key only if they are values of the same column. A primary key is
        # unique over all keys, unless each of its values belongs to one of them.
        unique = plan.tables[table].primary_key
        columns = [
            column for column in unique or range(len(plan.tables[table].attributes)) if _by_column(users, column)
        ][:1]
        for name, uses in users.items():
            distribution = (
                UNSPECIFIED
                if columns
                else single_partition(
                    f"table '{table}' is written, and not every access looks up one value of the same column"
                    + (" of its primary key" if unique else "")
                )
            )
            for use in uses:
                if columns:
                    distribution = combine(distribution, Distribution(tuple(use[column] for column in columns)))
            found[name] = combine(found.get(name, UNSPECIFIED), distribution)
    return found


def _by_column(users: Mapping[str, list[Access]], column: int) -> bool:
    return all(column in use for uses in users.values() for use in uses)


def _accesses(element: AppElement) -> Iterator[tuple[str, Access]]:
    if isinstance(element.plan, QueryPlan):
        yield from _query_accesses(element.plan)
    elif isinstance(element.plan, PartitionPlan):
        for query in element.plan.queries:
            yield from _query_accesses(query)
    else:
        # Conditions of an aggregation's filters.
        for table in element.uses:
            yield table, {}


def _query_accesses(query: QueryPlan) -> Iterator[tuple[str, Access]]:
    locate, selected = locator(query), selected_locator(query)

    def part_of(attribute: Attr, locate: Callable[[Attr], StreamAttribute | None] = locate) -> KeyPart | None:
        located = locate(attribute)
        return None if located is None or attribute.type not in KEY_TYPES else plain_part((located,), attribute.type)

    for expression in expressions_of(query):
        for node in walk(expression):
            if isinstance(node, InTable):
                yield node.table, _found_by(attribute_equalities(node.condition), TABLE_SLOT, part_of)
    if isinstance(query.input, JoinPlan):
        for slot, side in enumerate((query.input.left, query.input.right)):
            if side.kind is SourceKind.TABLE:
                yield side.source, _found_by(attribute_equalities(query.input.on), slot, part_of)
    output = query.output
    if output.kind is not SourceKind.TABLE:
        return
    columns = [
        part_of(column.expression, selected) if isinstance(column.expression, Attr) else None
        for column in query.selector.columns
    ]
    if output.action is Action.INSERT:
        yield output.target, {column: part for column, part in enumerate(columns) if part is not None}
        return
    equal = {
        (own.position, value.position)
        for pair in attribute_equalities(output.condition)
        for own, value in (pair, pair[::-1])
        if own.slot == TABLE_SLOT and value.slot == OUTPUT_SLOT
    }
    changed = {
        assignment.position
        for assignment in output.set or ()
        if not isinstance(assignment.value, Attr) or (assignment.position, assignment.value.position) not in equal
    }
    inserts = output.action is Action.UPDATE_OR_INSERT
    by_output = {own: columns[value] for own, value in equal if own not in changed and (not inserts or own == value)}
    yield output.target, {column: part for column, part in by_output.items() if part is not None}


def _found_by(pairs: Iterable[tuple[Attr, Attr]], slot: int, part_of: object) -> Access:
    assert callable(part_of)
    found: dict[int, KeyPart] = {}
    for pair in pairs:
        for own, value in (pair, pair[::-1]):
            part = part_of(value) if own.slot == slot and value.slot != slot else None
            if part is not None:
                found.setdefault(own.position, part)
    return found
