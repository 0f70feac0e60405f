"""Output actions on tables → output operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from siddhi._core.expression.executor import Executor
from siddhi._core.query.output import QueryOutput
from siddhi._core.record.event import EventPool, Layout, TypeCode
from siddhi._core.table.output import (
    Assignments,
    TableDelete,
    TableInsert,
    TableSink,
    TableUpdate,
    TableUpdateOrInsert,
)
from siddhi._core.table.search import Binding
from siddhi._core.table.table import Table
from siddhi.planner.plan.access import TableAccess
from siddhi.planner.plan.expressions import OUTPUT_SLOT, TABLE_SLOT, Attr, Call, TypedExpression
from siddhi.planner.plan.nodes import Action, OutputPlan, SetPlan
from siddhi.planner.plan.walk import has_aggregate, walk
from siddhi.query_api.span import Span
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.query import Site
from siddhi.runtime.assembly.stores.output import build_store_output, distinct_sets
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

_EXACT = (TypeCode.STRING, TypeCode.INT, TypeCode.LONG, TypeCode.BOOL)


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
            lambda tables: _build(plan, plan.access, layout, site, tables, pool_of, span),
        )
    return _build(plan, plan.access, layout, site, site.tables, pool_of, span)


def _build(
    plan: OutputPlan,
    access: TableAccess | None,
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
    # Reading the row as the current event is fastest; a condition that reads the output event's time needs that event.
    binding = Binding.IN_FRAME if _reads_time(plan.condition) else Binding.AS_EVENT
    row = Cells(table.layout, source="event" if binding is Binding.AS_EVENT else "row")
    condition = site.builder({OUTPUT_SLOT: Cells(layout, source="output"), TABLE_SLOT: row})
    built = tables.search(plan.target, chosen(access), condition, binding)
    pool = pool_of(layout)
    if plan.action is Action.DELETE:
        return TableDelete(context, pool, layout, built.search)
    sets = distinct_sets(plan.set or ())
    value = site.builder({OUTPUT_SLOT: Cells(layout), TABLE_SLOT: Cells(table.layout, source="row")})
    # A row found by its whole primary key need not be assigned the key.
    needed = [set_ for set_ in sets if not _is_known(set_, built.key, table)]
    assignments = Assignments(
        table, [set_.position for set_ in needed], tuple(_value(set_, table, value, span) for set_ in needed)
    )
    if plan.action is Action.UPDATE:
        return TableUpdate(context, pool, layout, built.search, assignments)
    by_own_key = all(_is_output(built.key.get(p), p) for p in table.primary_key)
    overwrites = by_own_key and _sets_everything(sets, table)
    pending: TableUpdateOrInsert | None = None
    if table.primary_key and not overwrites and not (by_own_key and _leaves_key(needed, table)):
        made = _build(plan, plan.pending_access, layout, site, tables.pending(plan.target), pool_of, span)
        assert isinstance(made, TableUpdateOrInsert)
        pending = made
    return TableUpdateOrInsert(context, table.pool, layout, built.search, assignments, overwrites, pending)


def _reads_time(condition: TypedExpression | None) -> bool:
    return condition is not None and any(
        isinstance(node, Call) and node.function.native == "eventTimestamp" for node in walk(condition)
    )


def _is_known(set_: SetPlan, key: Mapping[int, TypedExpression], table: Table) -> bool:
    return key.get(set_.position) == set_.value and table.layout.types[set_.position] in _EXACT


def _value(set_: SetPlan, table: Table, builder: ExpressionBuilder, span: Span | None) -> Executor:
    if has_aggregate(set_.value):
        raise not_supported("aggregates in 'set' are", span)
    executor = builder.build(set_.value)
    if executor.type != table.layout.types[set_.position]:
        name = table.layout.names[set_.position]
        raise not_supported(f"'set' of the object '{name}' to a {set_.value.type} is", span)
    return executor


def _sets_everything(sets: list[SetPlan], table: Table) -> bool:
    """Return whether every attribute is set to the output's attribute at its position."""
    return len(sets) == table.layout.width and all(_is_output(set_.value, set_.position) for set_ in sets)


def _leaves_key(sets: list[SetPlan], table: Table) -> bool:
    """Return whether the assignments leave the primary key unchanged."""
    return all(set_.position not in table.primary_key for set_ in sets)


def _is_output(value: TypedExpression | None, position: int) -> bool:
    """Return whether a value is the output's attribute at a position."""
    return isinstance(value, Attr) and value.slot == OUTPUT_SLOT and value.position == position
