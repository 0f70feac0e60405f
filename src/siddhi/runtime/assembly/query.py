"""A query plan over one stream → entry, steps, selector and output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from siddhi._core.aggregator_states import AggregatorStates
from siddhi._core.context import AppContext
from siddhi._core.event import EventPool
from siddhi._core.junction import StreamJunction
from siddhi._core.output import OutputStage
from siddhi._core.processor import FilterProcessor, Processor
from siddhi._core.query import QueryEntry, StageCopier, StageProcessor
from siddhi.extension.metadata import FunctionMetadata
from siddhi.planner.expressions import Call, ScriptCall, TypedExpression
from siddhi.planner.nodes import FilterPlan, HandlerPlan, QueryPlan, SingleInputPlan
from siddhi.planner.walk import read_positions, walk
from siddhi.query_api.selection import OutputEventType
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.selector import (
    build_projection,
    build_selector,
    is_projection,
    selection_expressions,
)
from siddhi.runtime.assembly.stage import Stage
from siddhi.runtime.assembly.stream_functions import build_stream_function
from siddhi.runtime.assembly.tables import Tables
from siddhi.runtime.assembly.windows import WindowSite, build_window

__all__ = ["BuiltQuery", "Site", "build_single_query"]

_ALL = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Site:
    """Where a query is built.

    Attributes:
        context: the app's.
        scripts: compiled functions by name.
        tables: of the app.
        partitioned: it stands inside a partition.
    """

    context: AppContext
    scripts: dict[str, Callable[..., object]]
    tables: Tables
    partitioned: bool = False

    def builder(self, slots: Mapping[int, Cells], *, removes: bool = True) -> ExpressionBuilder:
        """Builds expressions that stand here and see these event slots."""
        return ExpressionBuilder(slots, self.scripts, removes, self.tables.make_in)


@dataclass(slots=True)
class BuiltQuery:
    """What an app keeps of a query: its output, and the steps that hold state, named within the query."""

    name: str
    output: OutputStage
    stateful: dict[str, Processor] = field(default_factory=dict)

    def make_state(self, partition: int) -> None:
        """Make every step's state of a partition slot."""
        for step in self.stateful.values():
            step.make_state(partition)

    def drop_state(self, partition: int) -> None:
        """Give every step's state of a partition slot up."""
        for step in self.stateful.values():
            step.drop_state(partition)


class _Chain:
    """Steps in order; each new one is linked behind the last."""

    def __init__(self) -> None:
        self.first: Processor | None = None
        self._last: Processor | None = None

    def add(self, step: Processor) -> None:
        if self._last is None:
            self.first = step
        else:
            self._last.next = step
        self._last = step


def build_single_query(
    plan: QueryPlan, source: StreamJunction, output: OutputStage, site: Site
) -> tuple[QueryEntry, BuiltQuery]:
    """Build a query over one stream.

    Returns:
        The receiver to subscribe to the source, and the query.

    Raises:
        SiddhiAppCreationError: it needs something that this engine does not run.
    """
    input_ = plan.input
    if not isinstance(input_, SingleInputPlan):
        raise TypeError("not a query over a single stream")
    built = BuiltQuery(plan.name, output)
    chain = _Chain()
    wants_expired = plan.output.event_type is not OutputEventType.CURRENT
    sliding = input_.window is not None and not input_.window.window.batch
    removes = input_.window is not None and (wants_expired or sliding)

    stage = Stage(source.layout)
    filters, handlers = _leading_filters(input_.before)
    builder = site.builder({0: stage.cells})
    conditions = builder.build_all([handler.condition for handler in filters])
    in_filters = builder.aggregators
    copier: StageCopier | None = None
    if handlers:
        stage, copier = stage.widened(input_, input_.before)
        in_filters += _add_handlers(handlers, input_.source_width, stage, chain, site)
    if input_.window is not None:
        stage, window_copier = stage.kept(input_)
        if copier is None:
            copier = window_copier
        else:
            chain.add(StageProcessor(site.context, window_copier))
        window = build_window(
            input_.window,
            WindowSite(
                site.context,
                _own(stage),
                stage.cell_of or {},
                stamps=wants_expired or _sees_expiry(plan, input_),
                keeps_expired=wants_expired,
                span=plan.span,
                partitioned=site.partitioned,
            ),
        )
        chain.add(window)
        built.stateful["window"] = window
        in_filters += _add_handlers(input_.after, len(input_.window_layout), stage, chain, site)
    if in_filters:
        built.stateful["filters"] = AggregatorStates(site.context, in_filters)
    if is_projection(plan):
        selector: Processor = build_projection(
            plan, {0: stage.cells}, output, site, None if stage.pool is not None else source.pool
        )
    else:
        selector = build_selector(plan, {0: stage.cells}, output, site, removes=removes, remembers=sliding)
        built.stateful["selector"] = selector
    chain.add(selector)
    if not site.partitioned:
        built.make_state(0)
    reads = _attributes_read(plan, input_, filters, whole=stage.pool is not None and not input_.window)
    return QueryEntry(site.context, conditions, copier, chain.first or selector, source, reads), built


def _attributes_read(plan: QueryPlan, input_: SingleInputPlan, filters: Sequence[FilterPlan], *, whole: bool) -> int:
    """Which attributes of the stream the query reads, as bits; all of them where it copies whole events."""
    if whole or input_.source_width > 64 or any(not isinstance(handler, FilterPlan) for handler in input_.before):
        return _ALL
    read = read_positions([handler.condition for handler in filters], 0) | set(input_.window_layout)
    if input_.window is None:
        read |= read_positions(selection_expressions(plan.selector), 0)
    return sum(1 << position for position in read)


def _leading_filters(handlers: Sequence[HandlerPlan]) -> tuple[list[FilterPlan], list[HandlerPlan]]:
    """The filters that can be decided on the stream's own record, and the rest."""
    filters: list[FilterPlan] = []
    for handler in handlers:
        if not isinstance(handler, FilterPlan):
            break
        filters.append(handler)
    return filters, list(handlers[len(filters) :])


def _add_handlers(
    handlers: Sequence[HandlerPlan], first_appended: int, stage: Stage, chain: _Chain, site: Site
) -> list[object]:
    """Add filters and stream functions to the chain; returns the aggregators in them."""
    builder = site.builder({0: stage.cells})
    for handler in handlers:
        if isinstance(handler, FilterPlan):
            chain.add(FilterProcessor(site.context, builder.build(handler.condition)))
            continue
        arguments = builder.build_all(handler.arguments)
        chain.add(build_stream_function(handler, site.context, _own(stage), arguments, first_appended))
        first_appended += len(handler.appended)
    return list(builder.aggregators)


def _own(stage: Stage) -> EventPool:
    if stage.pool is None:
        raise TypeError("the stream's own record is not the query's to keep or change")
    return stage.pool


def _sees_expiry(plan: QueryPlan, input_: SingleInputPlan) -> bool:
    """Whether anything behind the window can read when an event expired."""
    if any(not isinstance(handler, FilterPlan) for handler in input_.after):
        return True
    conditions = [handler.condition for handler in input_.after if isinstance(handler, FilterPlan)]
    return any(_reads_time(expression) for expression in [*selection_expressions(plan.selector), *conditions])


def _reads_time(expression: TypedExpression) -> bool:
    return any(
        isinstance(node, ScriptCall) or (isinstance(node, Call) and _may_read_time(node.function))
        for node in walk(expression)
    )


def _may_read_time(function: FunctionMetadata) -> bool:
    return function.native == "eventTimestamp"
