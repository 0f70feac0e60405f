"""A query plan over one stream → entry, steps, selector and output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from siddhi._core.aggregate.aggregator import AggregatorStates
from siddhi._core.query.entry import QueryEntry, RecordCopier, RecordCopyProcessor
from siddhi._core.query.key_gate import KeyGate
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
    attributes_read,
    leading_filters,
    own_pool,
    reads_time,
)
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.fused import build_fused
from siddhi.runtime.assembly.limits import build_gate
from siddhi.runtime.assembly.named_window import BuiltNamedWindow
from siddhi.runtime.assembly.record_layout import RecordLayout
from siddhi.runtime.assembly.selector import build_projection, build_selector, is_projection
from siddhi.runtime.assembly.tables.tables import Tables
from siddhi.runtime.assembly.windows import WindowSite, build_window

if TYPE_CHECKING:
    from siddhi.runtime.assembly.aggregation.aggregation import BuiltAggregation

__all__ = ["BuiltQuery", "Site", "build_single_query"]

_HOLD_THEIR_BATCH = frozenset({"batch", "lengthBatch", "timeBatch"})
"""Windows that give up the events they release only when the chunk has ended."""


class CountsFromStart(Protocol):
    """An operator whose time begins with the app."""

    def start(self) -> None:
        """The app starts."""

    def await_first_instant(self) -> None:
        """Playback begins while the app runs."""


@frozen
class Site:
    """Where a query is built.

    Attributes:
        context: the app's.
        scripts: compiled functions by name.
        tables: of the app.
        windows: named windows of the app.
        partitioned: it stands inside a partition.
        aggregations: of the app.
        starting: what counts time from the start of the app, in the order in which it starts.
        counts_records: memory is limited by what records take, so a window keeps records, not arguments alone.
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
        """Builds expressions that stand here and see these event slots."""
        return ExpressionBuilder(slots, self.scripts, removes, self.tables.make_in)


class BuiltQuery:
    """What an app keeps of a query: its output, and the steps that hold state, named within the query.

    ``gate``: what holds the selection to the limit of the query, where it has one.
    """

    __slots__ = ("gate", "name", "output", "stateful")

    def __init__(self, name: str, output: QueryOutput) -> None:
        self.name = name
        self.output = output
        self.stateful: dict[str, Processor] = {}
        self.gate: KeyGate | None = None

    def make_state(self, partition: int) -> None:
        """Make every step's state of a partition slot."""
        for step in self.stateful.values():
            step.make_state(partition)

    def drop_state(self, partition: int) -> None:
        """Give every step's state of a partition slot up."""
        for step in self.stateful.values():
            step.drop_state(partition)


def build_single_query(
    plan: QueryPlan, source: StreamJunction, output: QueryOutput, site: Site
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
    chain = Chain()
    wants_expired = plan.output.event_type is not OutputEventType.CURRENT
    window_kind = None if input_.window is None else input_.window.window
    takes_away = window_kind is not None and window_kind.takes_away
    known_again = window_kind is not None and window_kind.expires_passed
    # A named window publishes what leaves it, whatever the query puts out.
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
        known_again = known_again and not processors  # what they emit are events of their own
    if in_filters:
        built.stateful["filters"] = AggregatorStates(site.context, in_filters)
    if is_projection(plan):
        selector: Processor = build_projection(
            plan, {0: record_layout.cells}, output, site, None if record_layout.pool is not None else source.pool
        )
    elif fused is not None:
        cells = {0: record_layout.cells}
        built.stateful["selector"] = selector = build_fused(plan, fused, cells, output, site, source.layout)
    else:
        late = input_.window is not None and input_.window.window.native in _HOLD_THEIR_BATCH
        remembers = takes_away and known_again and window_kind is not None and not window_kind.batch
        selecting = build_selector(
            plan, {0: record_layout.cells}, output, site, removes=removes, remembers=remembers, late=late
        )
        built.stateful["selector"] = selector = selecting
        built.gate = build_gate(plan, selecting, site, marks=known_again)
    chain.add(selector if built.gate is None else built.gate)
    if not site.partitioned:
        built.make_state(0)
    reads = attributes_read(
        input_, filters, plan.selector.expressions(), whole=record_layout.pool is not None and not input_.window
    )
    asks = None if input_.guard is None else (input_.guard.position, input_.guard.value)
    entry = QueryEntry(site.context, conditions, copier, chain.first or selector, source, reads, asks)
    if built.gate is not None and not built.gate.holds:
        entry.set_gate(built.gate)
    return entry, built


def _selected(plan: QueryPlan) -> tuple[int, ...]:
    """Positions of the attributes that are put out as they are."""
    expressions = [column.expression for column in plan.selector.columns]
    return tuple(expression.position for expression in expressions if isinstance(expression, Attr))


def _sees_expiry(plan: QueryPlan, input_: SingleInputPlan) -> bool:
    """Whether anything behind the window can read when an event expired."""
    if any(not isinstance(handler, FilterPlan) for handler in input_.after):
        return True
    conditions = [handler.condition for handler in input_.after if isinstance(handler, FilterPlan)]
    return any(reads_time(expression) for expression in [*plan.selector.expressions(), *conditions])
