"""Query plan over one stream → entry, operators, selector and output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from siddhi._core.aggregate.aggregator import AggregatorStates
from siddhi._core.expression.parameter import ParameterExecutor
from siddhi._core.query.entry import QueryEntry, RecordCopier, RecordCopyProcessor
from siddhi._core.query.key_limiter import KeyLimiter
from siddhi._core.query.output import QueryOutput
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Processor
from siddhi._core.stream.junction import StreamJunction
from siddhi._frozen import field, frozen
from siddhi.planner.plan.expressions import Attr
from siddhi.planner.plan.nodes import QueryPlan, SelectionOperator, SingleInputPlan, StreamFunctionPlan
from siddhi.query_api.selection import OutputEventType
from siddhi.runtime.assembly.chain import (
    ALL_BITS,
    Chain,
    add_handlers,
    filing_entries,
    leading_filters,
    own_pool,
    read_mask,
)
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.fused import build_fused
from siddhi.runtime.assembly.limits import build_key_limiter
from siddhi.runtime.assembly.named_window import BuiltNamedWindow
from siddhi.runtime.assembly.record_layout import RecordLayout
from siddhi.runtime.assembly.selector import build_projection, build_selector
from siddhi.runtime.assembly.stream_functions import build_awaited
from siddhi.runtime.assembly.tables.tables import Tables
from siddhi.runtime.assembly.windows import WindowSite, build_window

if TYPE_CHECKING:
    from siddhi.runtime.assembly.aggregation.aggregation import BuiltAggregation
    from siddhi.runtime.assembly.awaited import AwaitedCalls

__all__ = ["BuiltQuery", "Site", "build_single_query"]


class CountsFromStart(Protocol):
    """An operator that counts time from the start of the app."""

    def start(self) -> None:
        """Count time from now: the app starts."""

    def await_first_instant(self) -> None:
        """Count time from the next event: playback begins in a running app."""


@frozen
class Site:
    """Build context of a query.

    Attributes:
        context: the app's context.
        scripts: compiled functions by name.
        tables: tables of the app.
        windows: named windows of the app.
        partitioned: whether the query is inside a partition.
        aggregations: aggregations of the app.
        parameters: executors of an on-demand query's parameters, by position; builders add them.
        starting: operators that count time from the start of the app, in the order in which they start.
    """

    context: AppContext
    scripts: dict[str, Callable[..., object]]
    tables: Tables
    windows: Mapping[str, BuiltNamedWindow]
    partitioned: bool = False
    aggregations: Mapping[str, BuiltAggregation] = field(default_factory=dict)
    starting: list[CountsFromStart] = field(default_factory=list)
    parameters: list[list[ParameterExecutor]] = field(default_factory=list)

    def builder(self, slots: Mapping[int, Cells], *, removes: bool = True) -> ExpressionBuilder:
        """Make a builder of expressions over these event slots."""
        return ExpressionBuilder(slots, self.scripts, removes, self.tables.make_in, parameters=self.parameters)


class BuiltQuery:
    """A query of an app: its output, and its operators with state by name.

    ``key_limiter`` enforces the limit of the query; None: it has no limit. ``awaited`` are the calls of the coroutine function
    that it begins with; None: it begins with none.
    """

    __slots__ = ("awaited", "key_limiter", "name", "output", "stateful")

    def __init__(self, name: str, output: QueryOutput) -> None:
        self.name = name
        self.output = output
        self.stateful: dict[str, Processor] = {}
        self.key_limiter: KeyLimiter | None = None
        self.awaited: AwaitedCalls | None = None

    def timed_steps(self) -> dict[str, Processor]:
        """Return the operators that may have timers by name: those with state, and the rate limiter."""
        limiter = self.output.rate_limiter()
        return self.stateful if limiter is None else self.stateful | {"rate limiter": limiter}

    def make_state(self, partition: int) -> None:
        """Create the state of a partition id in every operator."""
        for step in self.stateful.values():
            step.make_state(partition)

    def drop_state(self, partition: int) -> None:
        """Release the state of a partition id in every operator."""
        for step in self.stateful.values():
            step.drop_state(partition)


def build_single_query(
    plan: QueryPlan, source: StreamJunction, output: QueryOutput, site: Site
) -> tuple[QueryEntry, BuiltQuery]:
    """Build a query over one stream.

    Returns:
        The receiver to subscribe to the source, and the query.

    Raises:
        SiddhiAppCreationError: the query needs a feature that this engine does not support.
    """
    input_ = plan.input
    if not isinstance(input_, SingleInputPlan):
        raise TypeError("not a query over a single stream")
    built = BuiltQuery(plan.name, output)
    chain = Chain()
    wants_expired = plan.output.event_type is not OutputEventType.CURRENT

    record_layout = RecordLayout(source.layout)
    filters, handlers = leading_filters(input_.before)
    builder = site.builder({0: record_layout.cells})
    conditions = builder.build_all([handler.condition for handler in filters])
    in_filters = builder.aggregators
    copier: RecordCopier | None = None
    if handlers:
        record_layout, copier = record_layout.widened(input_, input_.before)
        first_appended = input_.source_width
        awaited = handlers[0]
        if isinstance(awaited, StreamFunctionPlan) and awaited.function.awaiting is not None:
            arguments = builder.build_all(awaited.arguments)
            built.awaited = build_awaited(awaited, site, source, copier, arguments, first_appended)
            chain.add(built.awaited.operator)
            built.stateful["awaited calls"] = built.awaited.operator
            handlers, first_appended = handlers[1:], first_appended + len(awaited.appended)
        aggregators, processors = add_handlers(handlers, first_appended, record_layout, chain, site)
        in_filters += aggregators
        built.stateful |= {f"processor {number}": step for number, step in enumerate(processors)}
    fused = plan.fused
    if input_.window is not None and fused is None:
        record_layout, window_copier = record_layout.kept(input_)
        if copier is None:
            copier = window_copier
        else:
            chain.add(RecordCopyProcessor(site.context, window_copier))
        window = build_window(
            input_.window,
            WindowSite(
                site.context,
                own_pool(record_layout),
                record_layout.cell_of or {},
                stamps=input_.stamps_expired,
                keeps_expired=wants_expired,
                span=plan.span,
                partitioned=site.partitioned,
                scripts=site.scripts,
                selected=_selected(plan),
                width=len(input_.window_layout),
            ),
        )
        chain.add(window)
        built.stateful["window"] = window
        aggregators, processors = add_handlers(input_.after, len(input_.window_layout), record_layout, chain, site)
        in_filters += aggregators
        built.stateful |= {f"processor {number} behind the window": step for number, step in enumerate(processors)}
    if in_filters:
        built.stateful["filters"] = AggregatorStates(site.context, in_filters)
    forward: QueryOutput | None = None
    inserts: QueryOutput | None = None
    if plan.selection is SelectionOperator.PROJECTION:
        selector: Processor
        selector = projection = build_projection(
            plan, {0: record_layout.cells}, output, site, None if record_layout.pool is not None else source.pool
        )
        if chain.first is None:  # the entry calls the projection: it may forward events and collect refusals itself
            forward, inserts = projection.forward, projection.inserts
    elif fused is not None:
        built.stateful["selector"] = selector = build_fused(
            plan, fused, {0: record_layout.cells}, output, site, source.layout
        )
    else:
        selecting = build_selector(plan, {0: record_layout.cells}, output, site, removes=input_.passes_expired)
        built.stateful["selector"] = selector = selecting
        built.key_limiter = build_key_limiter(plan, selecting, site, marks=input_.returns_records)
    chain.add(selector if built.key_limiter is None else built.key_limiter)
    if not site.partitioned:
        built.make_state(0)
    reads = read_mask(input_)
    if built.awaited is not None:  # it takes records of the stream, and may give them to its error handling later
        copier, reads = None, ALL_BITS
    entry = QueryEntry(
        site.context,
        conditions,
        copier,
        chain.first or selector,
        source,
        reads,
        filing_entries(input_.filing),
        forward,
        inserts,
    )
    if built.key_limiter is not None and not built.key_limiter.holds and built.awaited is None:
        entry.set_refusals(built.key_limiter.refusals)
    return entry, built


def _selected(plan: QueryPlan) -> tuple[int, ...]:
    """Return the positions of the attributes that are selected unchanged."""
    expressions = [column.expression for column in plan.selector.columns]
    return tuple(expression.position for expression in expressions if isinstance(expression, Attr))
