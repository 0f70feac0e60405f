"""Bind on-demand queries: a find in a table, named window or aggregation, or a change of a table."""

from __future__ import annotations

from collections.abc import Sequence

from siddhi._frozen import replace
from siddhi.errors import OnDemandQueryCreationError, SiddhiAppError
from siddhi.extension.registry import Registry
from siddhi.planner.bind.aggregations.reading import plan_reading
from siddhi.planner.bind.catalog import Catalog
from siddhi.planner.bind.outputs import plan_output, target_label
from siddhi.planner.bind.query_parameters import QueryParameters, typed_parameter
from siddhi.planner.bind.resolver import Resolver
from siddhi.planner.bind.scope import RowScope, SourceScope
from siddhi.planner.bind.selection import output_attributes, plan_selector
from siddhi.planner.plan.expressions import TABLE_SLOT
from siddhi.planner.plan.nodes import JoinPlan, PartitionPlan, Plan, SelectorPlan, SourceKind
from siddhi.planner.plan.on_demand import OnDemandPlan
from siddhi.planner.problems import creation_error, located, unknown_definition
from siddhi.query_api.definition import Attribute
from siddhi.query_api.on_demand import OnDemandQuery, StoreInput
from siddhi.query_api.selection import InsertInto, Output, OutputEventType, Selector, UpdateOrInsertInto, UpdateTable

__all__ = ["bind_on_demand"]

_BATCH_WINDOWS = frozenset({"batch", "externalTimeBatch", "lengthBatch", "timeBatch"})


def bind_on_demand(query: OnDemandQuery, plan: Plan, registry: Registry, *, source: str | None = None) -> OnDemandPlan:
    """Resolve names and types of an on-demand query against the tables and windows of a planned app.

    Args:
        source: the text of the query, for error messages.

    Raises:
        OnDemandQueryCreationError: names or types do not match, or the source can't be queried.
    """
    catalog = Catalog(registry, policy=plan.policy)
    catalog.streams = dict(plan.streams)
    catalog.tables = plan.tables
    catalog.windows = plan.windows
    catalog.aggregations = plan.aggregations
    catalog.functions = plan.functions
    parameters = catalog.parameters = QueryParameters()
    try:
        node = query.input
        if node is None:
            bound = parameters.bound(lambda: _change(catalog, query))
        else:
            _refuse_empty_window(plan, node)
            bound = parameters.bound(lambda: _find(catalog, query, node))
        return replace(bound, parameters=parameters.plans())
    except SiddhiAppError as error:
        raise OnDemandQueryCreationError(
            error.message,
            code=error.code,
            span=error.span,
            source=source if error.source is None else error.source,
            hint=error.hint,
            app=plan.app.name,
        ) from error


def _refuse_empty_window(plan: Plan, node: StoreInput) -> None:
    """Reject a batch window without a batch to search: it retains the last batch only to expire it, or for joins."""
    window = plan.windows.get(node.store)
    if window is None or window.output is not OutputEventType.CURRENT:
        return
    if window.window.window.builtin not in _BATCH_WINDOWS or _is_joined(plan, node.store):
        return
    raise creation_error(
        "E313",
        f"window '{node.store}' outputs only current events and no query joins it, so it retains no batch to read",
        node,
        "define it with 'output all events'",
    )


def _is_joined(plan: Plan, window: str) -> bool:
    queries = [
        query
        for execution in plan.executions
        for query in (execution.queries if isinstance(execution, PartitionPlan) else (execution,))
    ]
    return any(
        side.kind is SourceKind.WINDOW and side.source == window
        for query in queries
        if isinstance(query.input, JoinPlan)
        for side in (query.input.left, query.input.right)
    )


def _find(catalog: Catalog, query: OnDemandQuery, node: StoreInput) -> OnDemandPlan:
    if node.store in catalog.windows:
        kind, attributes = SourceKind.WINDOW, catalog.windows[node.store].attributes
    elif node.store in catalog.tables:
        kind, attributes = SourceKind.TABLE, catalog.tables[node.store].attributes
    elif node.store in catalog.aggregations:
        kind, attributes = SourceKind.AGGREGATION, catalog.aggregations[node.store].attributes
    else:
        known = [*catalog.tables, *catalog.windows, *catalog.aggregations]
        error = unknown_definition("table, window or aggregation", node.store, known, node)
        if node.store in catalog.streams:
            error.hint = f"'{node.store}' is a stream, which does not store events"
        raise error
    reading = None
    if kind is SourceKind.AGGREGATION:
        # No event triggers the query, so its range can't read attributes.
        nothing = SourceScope(None, (), what="an on-demand query")
        aggregation = catalog.aggregations[node.store]
        reading = plan_reading(catalog, aggregation, node.within, node.per, nothing, node)
    elif node.within or node.per is not None:
        raise creation_error(
            "E317", f"'within' and 'per' require an aggregation, but '{node.store}' is a {kind.value}", node
        )
    what = f"{kind.value} '{node.store}'"
    names = (node.store,) if node.alias is None else (node.store, node.alias)
    condition = None
    if node.on is not None:
        slot = TABLE_SLOT if kind is SourceKind.TABLE else 0
        rows = RowScope(names, attributes, what=what, events=None, unqualified=True, slot=slot)
        condition = Resolver(catalog, rows).condition("the 'on' condition", node.on, node)
    scope = SourceScope(node.store, attributes, what=what, also=node.alias)
    selector = plan_selector(catalog, scope, query.selector, label=None, several_inputs=True, at=query)
    return OnDemandPlan(
        store=node.store, kind=kind, attributes=attributes, condition=condition, reading=reading, selector=selector
    )


def _change(catalog: Catalog, query: OnDemandQuery) -> OnDemandPlan:
    output = query.output
    assert output is not None
    target = target_label(output) or ""
    location = located(output, query)
    if isinstance(output, InsertInto) and target not in catalog.tables:
        error = unknown_definition("table", target, catalog.tables, location)
        if target in catalog.windows or target in catalog.streams:
            error.hint = f"'{target}' is not a table"
        raise error
    has_event = bool(query.selector.attributes)
    if not has_event:
        needs_event = isinstance(output, (InsertInto, UpdateOrInsertInto))
        if needs_event or (isinstance(output, UpdateTable) and output.set is None):
            raise creation_error("E321", "missing selection", location, "write 'select ...' before it")
    # There is no input, so expressions can't read attributes.
    nothing = SourceScope(None, (), what="an on-demand query without 'from'")
    selector = (
        plan_selector(catalog, nothing, query.selector, label=None, at=query)
        if query.selector != Selector()
        else SelectorPlan(columns=())
    )
    if target in catalog.tables:
        selector = _typed_columns(catalog, selector, catalog.tables[target].attributes, output)
    planned = plan_output(
        catalog,
        output,
        output_attributes(selector.columns),
        OutputEventType.CURRENT,
        query,
        unqualified=True,
        events=has_event,
    )
    return OnDemandPlan(selector=selector, output=planned, has_event=has_event)


def _typed_columns(
    catalog: Catalog, selector: SelectorPlan, attributes: Sequence[Attribute], output: Output
) -> SelectorPlan:
    """Give selected parameters the types of the table's attributes: of the same position in an insert, else of the same name."""
    by_name = {attribute.name: attribute.type for attribute in attributes}
    columns = []
    for position, column in enumerate(selector.columns):
        found = by_name.get(column.name)
        if isinstance(output, InsertInto) and position < len(attributes):
            found = attributes[position].type
        if found is not None:
            column = replace(column, expression=typed_parameter(catalog, column.expression, found))
        columns.append(column)
    return replace(selector, columns=tuple(columns))
