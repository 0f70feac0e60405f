"""Output actions on tables with stores → output operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from siddhi._core.query.output import QueryOutput
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.table.output import TableSink, TableUpdateOrInsert
from siddhi._core.table.store import Parameters as StoreParameters
from siddhi._core.table.store import StoreSink, StoreUpdateOrInsert
from siddhi.planner.plan.expressions import OUTPUT_SLOT, TABLE_SLOT
from siddhi.planner.plan.nodes import Action, OutputPlan
from siddhi.planner.plan.text import expression_text
from siddhi.planner.plan.walk import has_aggregate
from siddhi.query_api.span import Span
from siddhi.runtime.assembly.expressions import Cells
from siddhi.runtime.assembly.query import Site
from siddhi.runtime.assembly.stores.changes import RunningChange
from siddhi.runtime.assembly.stores.stores import StoreTable, parameters_of
from siddhi.runtime.assembly.tables.tables import Tables
from siddhi.runtime.assembly.unsupported import not_supported
from siddhi.runtime.connectors.table_gather import GatheredChange
from siddhi.stores.record_table import Parameters, Record

__all__ = ["build_store_output"]


def build_store_output(
    plan: OutputPlan,
    layout: Layout,
    table: StoreTable,
    site: Site,
    pool_of: Callable[[Layout], EventPool],
    span: Span | None,
    in_memory: Callable[[Tables], TableSink],
) -> QueryOutput:
    """Build the output of a query into a table with a store.

    Args:
        plan: the output clause.
        layout: layout of the output records.
        table: the table.
        site: build context of the query.
        pool_of: returns the pool shared by records of a layout's types.
        span: position of the query, for errors.
        in_memory: builds the same output for in-memory tables.

    Raises:
        SiddhiAppCreationError: the store or this engine does not support the output.
    """
    context, runtime = site.context, table.runtime
    sets = {set_.position: set_.value for set_ in plan.assignments()}
    if any(has_aggregate(value) for value in sets.values()):
        raise not_supported("aggregates in 'set' are", span)
    if plan.condition is not None and has_aggregate(plan.condition):
        raise not_supported("aggregates in conditions over tables are", span)
    if plan.action is Action.INSERT:
        sink = StoreSink(
            context,
            table.pool,
            layout,
            StoreParameters((), ()),
            lambda _, records: table.add(records),
            runtime.gather,
            GatheredChange(lambda _, records: table.add(records)),
        )
        return table.reflected(sink, plan, in_memory)

    def tracked(run: Callable[..., None]) -> Callable[..., None]:
        """Record the events of a change while it runs, to find the event of a change that the store drops."""

        def change(bound: Sequence[Parameters], records: Sequence[Record], *more: object) -> None:
            others, table.current_change = table.current_change, RunningChange(bound, records, layout)
            try:
                run(bound, records, *more)
            finally:
                table.current_change = others

        return change

    condition, values, expressions = table.compile_change(plan.condition, sets, span)
    before = table.changing(plan.access, expressions)
    parameters = parameters_of(expressions, site.builder({OUTPUT_SLOT: Cells(layout)}))
    name = (
        _text(plan, table) if span is not None else ""
    )  # on-demand queries are not registered: there may be any number of texts
    if plan.action is Action.UPDATE_OR_INSERT:
        keyed = in_memory(table.pending(pool_of))
        assert isinstance(keyed, TableUpdateOrInsert)
        pending = keyed.pending or keyed
        change = tracked(
            lambda bound, records, reduce: runtime.update_or_add(condition, bound, values, records, reduce, name)
        )
        each = tracked(lambda bound, records: runtime.update_or_add_each(condition, bound, values, records, name))
        sink = StoreUpdateOrInsert(
            context,
            pending.pool,
            layout,
            parameters,
            lambda bound, records, reduce: change(before(bound), records, reduce),
            pending,
            runtime.gather if table.takes_each else None,
            GatheredChange(lambda bound, records: each(before(bound), records)),
        )
        if name:
            runtime.changes[name] = lambda bound, records: change(bound, records, lambda _: records)
        return table.reflected(sink, plan, in_memory)
    if plan.action is Action.DELETE:
        change = tracked(lambda bound, records: runtime.delete(condition, bound, records, name))
    else:
        change = tracked(lambda bound, records: runtime.update(condition, bound, values, records, name))
    if name:
        runtime.changes[name] = change

    def changed(bound: list[dict[str, object]], records: Sequence[Record]) -> None:
        change(before(bound), records)

    pool = pool_of(layout)
    sink = StoreSink(context, pool, layout, parameters, changed, runtime.gather, GatheredChange(changed))
    return table.reflected(sink, plan, in_memory)


def _text(plan: OutputPlan, table: StoreTable) -> str:
    """Return a text of the change that is stable across builds of the app."""
    labels = {TABLE_SLOT: plan.target}
    sets = [
        f"{table.attributes[set_.position].name} = {expression_text(set_.value, labels)}" for set_ in plan.assignments()
    ]
    on = "" if plan.condition is None else f" on {expression_text(plan.condition, labels)}"
    return f"{plan.action.value} {plan.target}{' set ' + ', '.join(sets) if sets else ''}{on}"
