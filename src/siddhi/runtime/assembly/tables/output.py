"""Output actions on tables → output operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from siddhi._core.expression.executor import Executor
from siddhi._core.query.output import QueryOutput
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.table.output import (
    Assignments,
    TableDelete,
    TableInsert,
    TableSink,
    TableUpdate,
    TableUpdateOrInsert,
)
from siddhi._core.table.search import Binding, TableSearch
from siddhi._core.table.table import Table
from siddhi.planner.plan.access import TableAccess
from siddhi.planner.plan.expressions import OUTPUT_SLOT, TABLE_SLOT
from siddhi.planner.plan.nodes import Action, OutputPlan, SetPlan, TableChangePlan
from siddhi.planner.plan.walk import has_aggregate
from siddhi.query_api.span import Span
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.query import Site
from siddhi.runtime.assembly.stores.output import build_store_output
from siddhi.runtime.assembly.tables.tables import Tables, chosen
from siddhi.runtime.assembly.unsupported import not_supported

__all__ = ["build_table_output"]

_OPERATIONS = {
    Action.INSERT: "insert",
    Action.DELETE: "delete",
    Action.UPDATE: "update",
    Action.UPDATE_OR_INSERT: "updateOrInsert",
}
"""Names of the operations on a table in statistics."""


def build_table_output(
    plan: OutputPlan, layout: Layout, site: Site, pool_of: Callable[[Layout], EventPool], span: Span | None
) -> QueryOutput:
    """Build the output of a query into a table.

    Args:
        plan: the output clause.
        layout: layout of the output records.
        site: build context of the query.
        pool_of: returns the pool shared by records of a layout's types.
        span: position of the query, for errors.

    Raises:
        SiddhiAppCreationError: the output needs a feature that this engine does not support.
    """
    output = _output(plan, layout, site, pool_of, span)
    output.meter = site.context.meter("Tables", plan.target, _OPERATIONS[plan.action])
    return output


def _output(
    plan: OutputPlan, layout: Layout, site: Site, pool_of: Callable[[Layout], EventPool], span: Span | None
) -> QueryOutput:
    if plan.target in site.tables.stores:
        store = site.tables.stores[plan.target]
        return build_store_output(
            plan,
            layout,
            store,
            site,
            pool_of,
            span,
            lambda tables: _build(plan, layout, site, tables, pool_of, span),
        )
    return _build(plan, layout, site, site.tables, pool_of, span)


def _build(
    plan: OutputPlan,
    layout: Layout,
    site: Site,
    tables: Tables,
    pool_of: Callable[[Layout], EventPool],
    span: Span | None,
) -> TableSink:
    """Build the output into an in-memory table."""
    context = site.context
    table = tables[plan.target]
    if plan.action is Action.INSERT:
        return TableInsert(context, table.pool, layout, table)
    change = plan.change
    assert change is not None, "no rule has chosen how the table is changed"
    search = _search(plan, chosen(plan.access), change, layout, site, tables)
    if plan.action is Action.DELETE:
        return TableDelete(context, pool_of(layout), layout, search)
    assignments = _assignments(change.assigned, layout, table, site, span)
    if plan.action is Action.UPDATE:
        return TableUpdate(context, pool_of(layout), layout, search, assignments)
    pending: TableUpdateOrInsert | None = None
    if change.pending is not None:
        others = tables.pending(plan.target)
        sets = _assignments(plan.assignments(), layout, others[plan.target], site, span)
        found = _search(plan, change.pending, change, layout, site, others)
        pending = TableUpdateOrInsert(context, table.pool, layout, found, sets, False)
    return TableUpdateOrInsert(context, table.pool, layout, search, assignments, change.overwrites, pending)


def _search(
    plan: OutputPlan, access: TableAccess, change: TableChangePlan, layout: Layout, site: Site, tables: Tables
) -> TableSearch:
    """Build the search for the rows that the condition finds."""
    row = Cells(tables[plan.target].layout, source="event" if change.row_is_current else "row")
    builder = site.builder({OUTPUT_SLOT: Cells(layout, source="output"), TABLE_SLOT: row})
    binding = Binding.AS_EVENT if change.row_is_current else Binding.IN_FRAME
    return tables.search(plan.target, access, builder, binding)


def _assignments(sets: Sequence[SetPlan], layout: Layout, table: Table, site: Site, span: Span | None) -> Assignments:
    builder = site.builder({OUTPUT_SLOT: Cells(layout), TABLE_SLOT: Cells(table.layout, source="row")})
    values = tuple([_value(set_, table, builder, span) for set_ in sets])
    return Assignments(table, [set_.position for set_ in sets], values)


def _value(set_: SetPlan, table: Table, builder: ExpressionBuilder, span: Span | None) -> Executor:
    if has_aggregate(set_.value):
        raise not_supported("aggregates in 'set' are", span)
    executor = builder.build(set_.value)
    if executor.type != table.layout.types[set_.position]:
        name = table.layout.names[set_.position]
        raise not_supported(f"'set' of the object '{name}' to a {set_.value.type} is", span)
    return executor
