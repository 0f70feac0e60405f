"""Query plan over one stream → entry, operators, selector and output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from siddhi._core.aggregate.aggregator import AggregatorStates
from siddhi._core.query.entry import QueryEntry, RecordCopier, RecordCopyProcessor
from siddhi._core.query.key_limiter import KeyLimiter
from siddhi._core.query.output import QueryOutput
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Processor
from siddhi._core.stream.junction import StreamJunction
from siddhi._frozen import field, frozen
from siddhi.planner.plan.expressions import Attr
from siddhi.planner.plan.nodes import FilterPlan, QueryPlan, SingleInputPlan, SourceKind
from siddhi.query_api.selection import OutputEventType
from siddhi.runtime.assembly.chain import (
    Chain,
    add_handlers,
    leading_filters,
    own_pool,
    read_mask,
    reads_time,
)
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.fused import build_fused
from siddhi.runtime.assembly.limits import build_key_limiter
from siddhi.runtime.assembly.named_window import BuiltNamedWindow
from siddhi.runtime.assembly.record_layout import RecordLayout
from siddhi.runtime.assembly.selector import build_projection, build_selector, is_projection
from siddhi.runtime.assembly.tables.tables import Tables
from siddhi.runtime.assembly.windows import WindowSite, build_window

if TYPE_CHECKING:
    from siddhi.runtime.assembly.aggregation.aggregation import BuiltAggregation

__all__ = ["BuiltQuery", "Site", "build_single_query"]

_RELEASE_AT_CHUNK_END = frozenset({"batch", "lengthBatch", "timeBatch"})
"""Windows that keep the events they release until the chunk ends."""


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
        starting: operators that count time from the start of the app, in the order in which they start.
        counts_records: whether the memory of records is limited; windows are then not fused.
    """

    context: AppContext
    scripts: dict[str, Callable[..., object]]
    tables: Tables
    windows: Mapping[str, BuiltNamedWindow]
    partitioned: bool = False
    aggregations: Mapping[str, BuiltAggregation] = field(default_factory=dict)
    starting: list[CountsFromStart] = field(default_factory=list)
    counts_records: bool = False

    def builder(self, slots: Mapping[int, Cells], *, removes: bool = True) -> ExpressionBuilder:
        """Make a builder of expressions over these event slots."""
        return ExpressionBuilder(slots, self.scripts, removes, self.tables.make_in)


class BuiltQuery:
    """A query of an app: its output, and its operators with state by name.

    ``key_limiter`` enforces the limit of the query; None: it has no limit.
    """

    __slots__ = ("key_limiter", "name", "output", "stateful")

    def __init__(self, name: str, output: QueryOutput) -> None:
        self.name = name
        self.output = output
        self.stateful: dict[str, Processor] = {}
        self.key_limiter: KeyLimiter | None = None

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
    window_kind = None if input_.window is None else input_.window.window
    takes_away = window_kind is not None and window_kind.takes_away
    same_records = window_kind is not None and window_kind.expires_passed
    # A named window publishes expired events, whatever the query emits.
    removes = input_.kind is SourceKind.WINDOW or (
        window_kind is not None and window_kind.expires and (wants_expired or takes_away)
    )

    record_layout = RecordLayout(source.layout)
    filters, handlers = leading_filters(input_.before)
    builder = site.builder({0: record_layout.cells})
    conditions = builder.build_all([handler.condition for handler in filters])
    in_filters = builder.aggregators
    copier: RecordCopier | None = None
    if handlers:
        record_layout, copier = record_layout.widened(input_, input_.before)
        aggregators, processors = add_handlers(handlers, input_.source_width, record_layout, chain, site)
        in_filters += aggregators
        built.stateful |= {f"processor {number}": step for number, step in enumerate(processors)}
    fused = None if site.counts_records else plan.fused
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
                stamps=wants_expired or _sees_expiry(plan, input_),
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
        same_records = same_records and not processors  # they emit records of their own
    if in_filters:
        built.stateful["filters"] = AggregatorStates(site.context, in_filters)
    forward: QueryOutput | None = None
    inserts: QueryOutput | None = None
    if is_projection(plan):
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
        at_chunk_end = input_.window is not None and input_.window.window.native in _RELEASE_AT_CHUNK_END
        remembers = takes_away and same_records and window_kind is not None and not window_kind.batch
        selecting = build_selector(
            plan,
            {0: record_layout.cells},
            output,
            site,
            removes=removes,
            remembers=remembers,
            at_chunk_end=at_chunk_end,
        )
        built.stateful["selector"] = selector = selecting
        built.key_limiter = build_key_limiter(plan, selecting, site, marks=same_records)
    chain.add(selector if built.key_limiter is None else built.key_limiter)
    if not site.partitioned:
        built.make_state(0)
    guard = None if input_.guard is None else (input_.guard.position, input_.guard.value)
    entry = QueryEntry(
        site.context, conditions, copier, chain.first or selector, source, read_mask(input_), guard, forward, inserts
    )
    if built.key_limiter is not None and not built.key_limiter.holds:
        entry.set_key_limiter(built.key_limiter)
    return entry, built


def _selected(plan: QueryPlan) -> tuple[int, ...]:
    """Return the positions of the attributes that are selected unchanged."""
    expressions = [column.expression for column in plan.selector.columns]
    return tuple(expression.position for expression in expressions if isinstance(expression, Attr))


def _sees_expiry(plan: QueryPlan, input_: SingleInputPlan) -> bool:
    """Return whether an expression after the window can read when an event expired."""
    if any(not isinstance(handler, FilterPlan) for handler in input_.after):
        return True
    conditions = [handler.condition for handler in input_.after if isinstance(handler, FilterPlan)]
    return any(reads_time(expression) for expression in [*plan.selector.expressions(), *conditions])
