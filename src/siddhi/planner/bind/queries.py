"""Bind a query: input, selection, rate, output. An anonymous input becomes a hidden stream with its own query."""

from __future__ import annotations

from siddhi._frozen import replace
from siddhi.planner.bind.annotations import boolean, only
from siddhi.planner.bind.catalog import Catalog, Source
from siddhi.planner.bind.handlers import Handlers, plan_handlers
from siddhi.planner.bind.joins import JoinInputs, plan_join
from siddhi.planner.bind.limits import limited
from siddhi.planner.bind.outputs import plan_output, target_label
from siddhi.planner.bind.patterns.automaton import PatternInputs, plan_pattern
from siddhi.planner.bind.patterns.limit import query_limit
from siddhi.planner.bind.rates import is_snapshot, output_event_type
from siddhi.planner.bind.scope import Scope, SourceScope
from siddhi.planner.bind.selection import output_attributes, plan_selector
from siddhi.planner.plan.nodes import QueryPlan, SingleInputPlan, SourceKind
from siddhi.planner.problems import creation_error, located
from siddhi.query_api.input import AnonymousInput, JoinInput, Pattern, Sequence, SingleInput
from siddhi.query_api.query import Query
from siddhi.query_api.selection import InsertInto, ReturnOutput

__all__ = ["plan_query"]


def plan_query(catalog: Catalog, query: Query, name: str) -> list[QueryPlan]:
    """Bind a query; its inner queries come first, each of which fills a hidden stream.

    Raises:
        SiddhiAppError: the query is invalid.
    """
    planned: list[QueryPlan] = []
    outer, catalog.reads_lifetimes = catalog.reads_lifetimes, False
    try:
        planned.append(_planned(catalog, query, name, planned))
    finally:
        catalog.reads_lifetimes = outer
    return planned


def _planned(catalog: Catalog, query: Query, name: str, planned: list[QueryPlan]) -> QueryPlan:
    """Bind a query, and put its inner queries into the list."""
    event_type = output_event_type(query)
    node = query.input
    inputs: SingleInputs | JoinInputs | PatternInputs
    if isinstance(node, AnonymousInput):
        node = _plan_anonymous(catalog, node, planned)
        inputs = SingleInputs(catalog, node, has_name=False)
    elif isinstance(node, SingleInput):
        inputs = SingleInputs(catalog, node)
    elif isinstance(node, JoinInput):
        inputs = plan_join(catalog, node)
    else:
        assert isinstance(node, (Pattern, Sequence))
        inputs = plan_pattern(catalog, node)
        limit = query_limit(query.annotations, query, catalog.partial_matches)
        catalog.permissions.limit("max_events", limit.most, "the number of partial matches", query)
        inputs.bounded(limit)
    selector = plan_selector(
        catalog,
        inputs.scope,
        query.selector,
        label=target_label(query.output),
        several_inputs=not isinstance(inputs, SingleInputs),
        per_event=is_snapshot(query),
        at=query,
    )
    output = plan_output(catalog, query.output, output_attributes(selector.columns), event_type, query)
    plan = QueryPlan(
        name=name,
        input=inputs.finished(),
        selector=selector,
        rate=query.rate,
        output=output,
        synchronized=_synchronized(query),
        annotations=query.annotations,
        span=query.span,
    )
    return limited(plan, catalog, query)


class SingleInputs:
    """The input of a query that reads one source."""

    def __init__(self, catalog: Catalog, node: SingleInput, *, has_name: bool = True) -> None:
        self.source = _single_source(catalog, node)
        label = self.source.label if has_name else None
        what = self.source.what if has_name else "the inner query"
        scope = SourceScope(label, self.source.attributes, what=what)
        self.scope: Scope = scope
        place = None if catalog.inner is None else "in a partition"
        self._handlers: Handlers = plan_handlers(catalog, scope, node.handlers, place=place)
        self._attributes = tuple(scope.attributes)

    def finished(self) -> SingleInputPlan:
        """Return the plan."""
        return SingleInputPlan(
            source=self.source.label,
            kind=self.source.kind,
            attributes=self._attributes,
            source_width=len(self.source.attributes),
            before=tuple(self._handlers.before),
            window=self._handlers.window,
            after=tuple(self._handlers.after),
        )


def _single_source(catalog: Catalog, node: SingleInput) -> Source:
    source = catalog.source(node.source, node, is_inner=node.is_inner, is_fault=node.is_fault)
    if source.kind is SourceKind.TABLE:
        raise creation_error(
            "E313", f"table '{source.label}' is not a stream", node, "join it with a stream, or query it on demand"
        )
    if source.kind is SourceKind.AGGREGATION:
        raise creation_error(
            "E313",
            f"aggregation '{source.label}' is not a stream",
            node,
            "join it with a stream (within ... per ...), or query it on demand",
        )
    if source.kind is SourceKind.WINDOW and node.window is not None:
        raise creation_error(
            "E314",
            f"'{source.label}' is already a window",
            located(node.window, node),
            f"read 'from {source.label}' without a second window",
        )
    return source


def _plan_anonymous(catalog: Catalog, node: AnonymousInput, planned: list[QueryPlan]) -> SingleInput:
    """Bind the inner query and return its hidden stream as an input."""
    hidden = catalog.anonymous_stream()
    inner = node.query
    in_partition = catalog.inner is not None
    event_type = inner.output.event_type if isinstance(inner.output, ReturnOutput) else None
    feeding = InsertInto(event_type, target=hidden, is_inner=in_partition, span=inner.output.span)
    planned += plan_query(catalog, replace(inner, output=feeding), hidden)
    return SingleInput(hidden, node.handlers, is_inner=in_partition, span=node.span)


def _synchronized(query: Query) -> bool | None:
    only(query.annotations, "info")
    annotation = only(query.annotations, "synchronized")
    if annotation is None:
        return None
    values = annotation.values()
    return boolean(annotation, "synchronized", values[0], query) if values else True
