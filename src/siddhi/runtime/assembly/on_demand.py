"""Plans of on-demand queries → operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from siddhi._core.expression.parameter import ParameterExecutor, ParameterSet
from siddhi._core.query.output import QueryOutput
from siddhi._core.query.selector import Selector
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.record.user_event import Event
from siddhi._core.runtime.lookup import Searchable
from siddhi._core.runtime.operator import Processor
from siddhi._core.table.query import CollectOutput, FinishedSelector, OnDemand, OnDemandChange, OnDemandFind
from siddhi._core.table.store import CachedAnswer, StoreAnswer
from siddhi._frozen import replace
from siddhi.planner.plan.expressions import OUTPUT_SLOT, TABLE_SLOT, Attr
from siddhi.planner.plan.nodes import (
    Action,
    OrderPlan,
    OutputColumn,
    OutputPlan,
    QueryPlan,
    SelectionOperator,
    SelectMode,
    SelectorPlan,
    SingleInputPlan,
    SourceKind,
)
from siddhi.planner.plan.on_demand import OnDemandPlan, ParameterPlan
from siddhi.query_api.definition import Attribute
from siddhi.query_api.selection import OutputEventType
from siddhi.runtime.assembly.expressions import Cells
from siddhi.runtime.assembly.parameter_values import READERS
from siddhi.runtime.assembly.query import Site
from siddhi.runtime.assembly.selector import build_projection, build_selector
from siddhi.runtime.assembly.stores.selection import build_store_answer
from siddhi.runtime.assembly.tables.output import build_table_output
from siddhi.runtime.assembly.tables.tables import chosen
from siddhi.runtime.assembly.types import layout_of
from siddhi.runtime.query_rows import QueryRows, rows_of

__all__ = ["BuiltOnDemand", "build_on_demand"]

_NOTHING = SingleInputPlan(source="", kind=SourceKind.TABLE, attributes=(), source_width=0)


@dataclass(frozen=True, slots=True)
class BuiltOnDemand:
    """An on-demand query, ready to run.

    Attributes:
        query: its operators.
        layout: names and types of the rows found; none for a change.
        parameters: its parameters.
    """

    query: OnDemand | StoreAnswer | CachedAnswer
    layout: Layout
    parameters: tuple[ParameterPlan, ...] = ()

    def rows(self, events: Sequence[Event]) -> QueryRows:
        """Return found events with the names of their columns."""
        return rows_of(events, self.layout)


def build_on_demand(plan: OnDemandPlan, site: Site, pool_of: Callable[[Layout], EventPool]) -> BuiltOnDemand:
    """Build an on-demand query.

    Args:
        plan: the plan.
        site: build context of queries outside of partitions.
        pool_of: returns the pool shared by records of a layout's types.
    """
    shown = Layout((), ()) if plan.output is not None else _layout(plan.selector)
    if not plan.parameters:
        return BuiltOnDemand(_operators(plan, site, pool_of), shown)
    executors: list[list[ParameterExecutor]] = [[] for _ in plan.parameters]
    query = _operators(plan, replace(site, parameters=executors), pool_of)
    names = tuple(each.name for each in plan.parameters)
    readers = tuple(READERS[each.type] for each in plan.parameters)
    query.declare(ParameterSet(names, readers, tuple(map(tuple, executors))))
    return BuiltOnDemand(query, shown, plan.parameters)


def _operators(
    plan: OnDemandPlan, site: Site, pool_of: Callable[[Layout], EventPool]
) -> OnDemand | StoreAnswer | CachedAnswer:
    """Build the operators of an on-demand query.

    Args:
        plan: the plan.
        site: build context of queries outside of partitions.
        pool_of: returns the pool shared by records of a layout's types.
    """
    if plan.output is not None:
        layout = _layout(plan.selector)
        output = build_table_output(plan.output, layout, site, pool_of, None)
        selection = _build_selection(plan, plan.selector, Cells(Layout((), ())), output, site)
        return OnDemandChange(site.context, selection, output)
    if plan.kind is SourceKind.TABLE and plan.store in site.tables.stores:
        answer = build_store_answer(plan, site.tables.stores[plan.store], _layout(plan.selector), site)
        cache = site.tables.stores[plan.store].cache
        if answer is not None:
            return answer if cache is None else CachedAnswer(site.context, cache, _find(plan, site), answer)
    return _find(plan, site)


def _find(plan: OnDemandPlan, site: Site) -> OnDemandFind:
    """Build the operators that find rows and select from them in the engine."""
    searched, pool, cells = _source(plan, site)
    selection = _with_sort_keys(plan.selector)
    layout = _layout(selection)
    output = CollectOutput(site.context, EventPool(layout), layout, _layout(plan.selector))
    finished = selection.having is not None and selection.mode is not SelectMode.EACH
    selector = _build_selection(plan, selection, cells, output, site, FinishedSelector if finished else Selector)
    return OnDemandFind(site.context, searched, pool, selector, output, _rows_needed(plan.selector))


def _source(plan: OnDemandPlan, site: Site) -> tuple[Searchable, EventPool, Cells]:
    """Build the search of a table, window or aggregation; return it with the pool and cells of its records."""
    assert plan.store is not None
    if plan.kind is SourceKind.TABLE:
        row = Cells(site.tables.layout(plan.store))
        rows = site.tables.rows(plan.store, plan.condition, chosen(plan.access), site.builder({TABLE_SLOT: row}))
        return rows, site.tables.pool(plan.store), row
    if plan.kind is SourceKind.AGGREGATION:
        assert plan.reading is not None
        aggregation = site.aggregations[plan.store]
        builder = site.builder({0: Cells(aggregation.answers, source=0)})
        searched = aggregation.search(plan.reading, plan.condition, 0, builder)
        return searched, aggregation.pool, Cells(aggregation.answers)
    window = site.windows[plan.store]
    builder = site.builder({0: Cells(window.layout, source=0)})
    return window.search(plan.condition, None, 0, builder, tells=False), window.output.pool, Cells(window.layout)


def _build_selection(
    plan: OnDemandPlan,
    selection: SelectorPlan,
    cells: Cells,
    output: QueryOutput,
    site: Site,
    kind: type[Selector] = Selector,
) -> Processor:
    query = QueryPlan(
        name="on-demand",
        input=_NOTHING,
        selector=selection,
        rate=None,
        output=OutputPlan(action=Action.RETURN, target="", kind=SourceKind.TABLE, event_type=OutputEventType.CURRENT),
    )
    if plan.selection is SelectionOperator.PROJECTION:
        return build_projection(query, {0: cells}, output, site, None)
    selector = build_selector(query, {0: cells}, output, site, removes=False, kind=kind)
    selector.make_state(0)
    return selector


def _with_sort_keys(selection: SelectorPlan) -> SelectorPlan:
    """Add a column to the selection for each attribute of the rows in ``order by``."""
    columns = list(selection.columns)
    order: list[OrderPlan] = []
    for by in selection.order_by:
        key = by.key
        if key.slot != OUTPUT_SLOT:
            columns.append(OutputColumn(f"{key.name} (sort key {len(order)})", key))
            key = Attr(key.type, OUTPUT_SLOT, len(columns) - 1, key.name)
        order.append(OrderPlan(key, by.order))
    return replace(selection, columns=tuple(columns), order_by=tuple(order))


def _rows_needed(selection: SelectorPlan) -> int:
    """Return how many matching rows the answer needs; -1: all of them."""
    if (
        selection.limit is None
        or selection.order_by
        or selection.group_by
        or selection.has_aggregates
        or selection.having is not None
    ):
        return -1
    return (selection.offset or 0) + selection.limit


def _layout(selection: SelectorPlan) -> Layout:
    return layout_of(Attribute(column.name, column.expression.type) for column in selection.columns)
