"""Join plan → two chains of operators with one selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from siddhi._core.aggregate.aggregator import Aggregator, AggregatorStates
from siddhi._core.expression.executor import Executor
from siddhi._core.join.join import JoinSelector, JoinStep, PassingWindow
from siddhi._core.join.self_join import SelfJoinEntry
from siddhi._core.query.entry import QueryEntry, RecordCopier, RecordCopyProcessor
from siddhi._core.query.output import QueryOutput
from siddhi._core.record.event import Layout
from siddhi._core.rollup.aggregation import AggregationJoin, AggregationSearch
from siddhi._core.runtime.lookup import EmptySearchable, Searchable
from siddhi._core.runtime.operator import Processor, Receiver
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.window.base import Window
from siddhi._core.window.batch import BatchWindow
from siddhi._core.window.lookup import EventIndex, IndexProbe, NumberedEvents, RangeProbe, WindowScan
from siddhi._frozen import frozen, replace
from siddhi.planner.plan.access import JoinLookup, TableAccess, WindowEqualityLookup, WindowRangeLookup
from siddhi.planner.plan.expressions import (
    OUTPUT_SLOT,
    Attr,
    TypedExpression,
)
from siddhi.planner.plan.nodes import (
    HandlerPlan,
    JoinPlan,
    OrderPlan,
    QueryPlan,
    SelectionOperator,
    SingleInputPlan,
)
from siddhi.planner.plan.walk import calls_python, has_aggregate, walk
from siddhi.query_api.input import JoinType
from siddhi.query_api.selection import OutputEventType, SnapshotRate
from siddhi.runtime.assembly.chain import Chain, add_handlers, filing_entries, leading_filters, own_pool, read_mask
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.limits import build_key_limiter
from siddhi.runtime.assembly.query import BuiltQuery, Site
from siddhi.runtime.assembly.record_layout import RecordLayout
from siddhi.runtime.assembly.selector import build_projection, build_selector
from siddhi.runtime.assembly.tables.tables import Tables
from siddhi.runtime.assembly.unsupported import not_supported
from siddhi.runtime.assembly.windows import WindowSite, build_window

__all__ = ["JoinSource", "SharedContent", "TableContent", "build_join_query"]


class SharedContent(Protocol):
    """A table, named window or aggregation as one side of joins."""

    @property
    def layout(self) -> Layout:
        """Layout of its records, one cell per attribute."""

    def search(
        self, on: TypedExpression | None, lookup: JoinLookup | None, slot: int, builder: ExpressionBuilder
    ) -> Searchable:
        """Build a search of this side.

        Args:
            on: the condition; None: all records match.
            lookup: the access; None: a scan.
            slot: event slot of this side's records.
            builder: has the cells of all slots.
        """


@frozen
class TableContent:
    """A table as one side of a join."""

    tables: Tables
    id: str

    @property
    def layout(self) -> Layout:
        """Layout of its rows."""
        return self.tables.layout(self.id)

    def search(
        self,
        on: TypedExpression | None,
        lookup: JoinLookup | None,
        slot: int,
        builder: ExpressionBuilder,
        readers: Sequence[TypedExpression] | None = None,
    ) -> Searchable:
        """Build a search of the table.

        Args:
            on: the condition.
            lookup: the table access.
            slot: event slot of the row.
            builder: has the cells of all slots.
            readers: the expressions that read the rows found; None: all attributes may be read.
        """
        if not isinstance(lookup, TableAccess):
            raise TypeError("a join with a table needs a table access")
        if readers is None:
            return self.tables.searchable(self.id, on, lookup, builder, slot)
        read = {
            node.position for reader in readers for node in walk(reader) if isinstance(node, Attr) and node.slot == slot
        }
        return self.tables.searchable(self.id, on, lookup, builder, slot, tuple(sorted(read)))


@frozen
class JoinSource:
    """Source of one side of a join.

    Attributes:
        junction: the junction of its events; None for tables, which have none.
        content: the records searched by the other side; None for streams, which have a window of their own.
    """

    junction: StreamJunction | None
    content: SharedContent | None = None


@dataclass(slots=True)
class _Side:
    """One side of a join while it is built."""

    plan: SingleInputPlan
    source: JoinSource
    slot: int
    site: Site
    triggers: bool
    own_records: bool
    chain: Chain = field(default_factory=Chain)
    record_layout: RecordLayout = field(init=False)
    conditions: tuple[Executor, ...] = ()
    copier: RecordCopier | None = None
    window: Window | None = None
    numbered: NumberedEvents | None = None
    stateful: dict[str, Processor] = field(default_factory=dict)

    @property
    def is_read(self) -> bool:
        """Whether events that arrive on this side have an effect."""
        return self.source.junction is not None and (self.triggers or self.window is not None)

    @property
    def cells(self) -> Cells:
        """Cells of this side's attributes in condition and selection."""
        return replace(self.record_layout.cells, source=self.slot)

    @property
    def name(self) -> str:
        return "right" if self.slot else "left"


def build_join_query(
    plan: QueryPlan, sources: tuple[JoinSource, JoinSource], output: QueryOutput, site: Site
) -> tuple[list[tuple[str, Receiver]], BuiltQuery]:
    """Build a join.

    Returns:
        The receivers in order of subscription, each with its source (one receiver for a self join, none for a side whose
        events have no effect), and the query.

    Raises:
        SiddhiAppCreationError: the join needs a feature that this engine does not support.
    """
    input_ = plan.input
    if not isinstance(input_, JoinPlan):
        raise TypeError("not a join")
    plan = _order_by_output(plan)
    sides = [_start(plan, input_, sources[slot], slot, site) for slot in (0, 1)]
    slots = {side.slot: side.cells for side in sides}
    builder = site.builder(slots)
    built = BuiltQuery(plan.name, output)
    parts: JoinSelector | None = None
    if plan.selection is SelectionOperator.PROJECTION:
        selector: Processor
        selector = projection = build_projection(plan, slots, output, site, None)
        if input_.fills_columns:
            projection.collect_at_once()
    else:
        selecting = selector = build_selector(
            plan,
            slots,
            output,
            site,
            removes=any(side.plan.passes_expired for side in sides),
            kind=JoinSelector,
        )
        built.key_limiter = build_key_limiter(plan, selecting, site, marks=False)
        if input_.ends_matches and isinstance(selector, JoinSelector):
            parts = selector
    readers = plan.selector.expressions()
    searches = [_search(input_, side, builder, readers) if sides[1 - side.slot].triggers else None for side in sides]
    for side in sides:
        if not side.is_read:
            continue
        step = _step(side, searches[1 - side.slot], _is_outer(input_.type, side.slot), parts)
        side.chain.add(step)
        step.next = selector if built.key_limiter is None else built.key_limiter
        # The join step comes first: it must drop its index of the window's events before the window drops the events.
        built.stateful[f"{side.name}/join"] = step
        built.stateful |= side.stateful
    if builder.aggregators:
        built.stateful["condition"] = AggregatorStates(site.context, builder.aggregators)
    if plan.selection is not SelectionOperator.PROJECTION:
        built.stateful["selector"] = selector
    if not site.partitioned:
        built.make_state(0)
    left, right = (_entry(side) for side in sides)
    if input_.left.source == input_.right.source:
        return [(input_.left.source, SelfJoinEntry(left, right, output))], built
    entries = ((input_.left.source, left), (input_.right.source, right))
    return [(source, entry) for source, entry in entries if entry is not None], built


def _step(
    side: _Side, search: Searchable | None, outer: bool, parts: JoinSelector | None
) -> JoinStep | AggregationJoin:
    """Make the operator that searches the other side for each event of this one."""
    context = side.site.context
    if isinstance(search, AggregationSearch):
        return AggregationJoin(context, side.slot, search, outer, side.plan.passes_expired, parts)
    return JoinStep(context, side.slot, search, side.numbered, outer, side.plan.passes_expired, parts)


def _order_by_output(plan: QueryPlan) -> QueryPlan:
    """Let ``order by`` read output columns in place of the input attributes that they copy.

    Raises:
        SiddhiAppCreationError: a snapshot rate orders by an attribute that the query does not select.
    """
    keys: list[OrderPlan] = []
    columns = plan.selector.columns
    for order in plan.selector.order_by:
        if order.key.slot >= 0:
            position = next((i for i, column in enumerate(columns) if column.expression == order.key), None)
            if position is not None:
                order = replace(order, key=replace(order.key, slot=OUTPUT_SLOT, position=position))
            elif isinstance(plan.rate, SnapshotRate):
                # The joined pairs are gone when a snapshot is emitted.
                raise not_supported(
                    f"ordering snapshots of a join by '{order.key.name}', which it does not select, is",
                    plan.span,
                    f"select '{order.key.name}' as well",
                )
        keys.append(order)
    return replace(plan, selector=replace(plan.selector, order_by=tuple(keys)))


def _is_outer(type_: JoinType, slot: int) -> bool:
    return type_ is JoinType.FULL_OUTER or type_ is (JoinType.LEFT_OUTER, JoinType.RIGHT_OUTER)[slot]


def _start(plan: QueryPlan, input_: JoinPlan, source: JoinSource, slot: int, site: Site) -> _Side:
    """Build the operators in front of the join step."""
    side_plan = (input_.left, input_.right)[slot]
    wants_expired = plan.output.event_type is not OutputEventType.CURRENT
    side = _Side(
        side_plan,
        source,
        slot,
        site,
        triggers=input_.triggers(slot),
        own_records=side_plan.window is not None or wants_expired,
    )
    if source.content is not None:
        _start_shared(side, plan, source.content)
    elif source.junction is not None:
        _start_stream(side, plan, source.junction)
    return side


def _start_shared(side: _Side, plan: QueryPlan, content: SharedContent) -> None:
    """Build the side of a named window or table: its own records are searched and, if it triggers, arrive."""
    side.record_layout = RecordLayout(content.layout)
    handlers, aggregators = _build_filters(side)
    if handlers:
        what = f"a stream function after {side.plan.kind.value} '{side.plan.source}' in a join is"
        raise not_supported(what, plan.span)
    if aggregators:
        raise not_supported(f"an aggregator in a filter of {side.plan.kind.value} '{side.plan.source}' is", plan.span)


def _start_stream(side: _Side, plan: QueryPlan, junction: StreamJunction) -> None:
    """Build the side of a stream: filters and functions, the query's own record, the window."""
    site = side.site
    side.record_layout = RecordLayout(junction.layout)
    handlers, aggregators = _build_filters(side)
    if handlers:
        side.record_layout, side.copier = side.record_layout.widened(side.plan, side.plan.before)
        more, processors = add_handlers(handlers, side.plan.source_width, side.record_layout, side.chain, site)
        aggregators += more
        side.stateful |= {f"{side.name}/processor {number}": step for number, step in enumerate(processors)}
    if side.own_records:
        side.record_layout, copier = side.record_layout.kept(side.plan)
        if side.copier is None:
            side.copier = copier
        else:
            side.chain.add(RecordCopyProcessor(site.context, copier))
    if side.plan.window is None:
        side.chain.add(PassingWindow(site.context, own_pool(side.record_layout) if side.plan.passes_expired else None))
    else:
        side.window = build_window(
            side.plan.window,
            WindowSite(
                site.context,
                own_pool(side.record_layout),
                side.record_layout.cell_of or {},
                stamps=side.plan.stamps_expired,
                keeps_expired=True,
                span=plan.span,
                scripts=site.scripts,
            ),
        )
        if not side.window.is_searchable:
            raise not_supported(f"a join with the window '{side.plan.window.window.full_name}' is", plan.span)
        if not side.plan.passes_expired and isinstance(side.window, BatchWindow):
            # As in Siddhi: if expired events are not selected, released batches can still be found.
            side.window.accumulate()
        side.chain.add(side.window)
        side.stateful[f"{side.name}/window"] = side.window
    if aggregators:
        side.stateful[f"{side.name}/filters"] = AggregatorStates(site.context, aggregators)


def _build_filters(side: _Side) -> tuple[list[HandlerPlan], list[Aggregator]]:
    """Build the filters on the source's own record; return the other handlers, and the aggregators in the filters."""
    filters, handlers = leading_filters(side.plan.before)
    builder = side.site.builder({0: side.record_layout.cells})
    side.conditions = builder.build_all([handler.condition for handler in filters])
    return handlers, builder.aggregators


def _search(
    input_: JoinPlan, side: _Side, builder: ExpressionBuilder, readers: Sequence[TypedExpression]
) -> Searchable:
    """Build the search of this side by the other one; ``readers`` read the records found."""
    on, lookup = input_.on, input_.lookups[side.slot]
    if isinstance(side.source.content, TableContent):
        return side.source.content.search(on, lookup, side.slot, builder, None if side.plan.before else readers)
    if side.source.content is not None:
        # Filters of a named window apply to events that arrive from it, not to events found in it.
        return side.source.content.search(on, lookup, side.slot, builder)
    if side.window is None:
        return EmptySearchable(side.slot)
    tells = isinstance(side.window, BatchWindow)
    if isinstance(lookup, WindowEqualityLookup):
        index = EventIndex(builder.build_all(lookup.key), side.slot, side.site.partitioned)
        side.numbered = NumberedEvents(side.window, tells)
        side.numbered.add_index(index)
        residual, python = _condition(lookup.residual, builder)
        return IndexProbe(side.numbered, index, builder.build_all(lookup.probe), side.slot, residual, python)
    condition, python = _condition(on, builder)
    scan = WindowScan(side.window, side.slot, condition, tells=tells, calls_python=python)
    if not isinstance(lookup, WindowRangeLookup) or condition is None:
        return scan
    index = EventIndex((builder.build(lookup.key),), side.slot, False)
    side.numbered = NumberedEvents(side.window, tells)
    side.numbered.add_index(index)
    bounds = tuple((builder.build(bound.value), bound.is_low, bound.inclusive) for bound in lookup.bounds)
    return RangeProbe(side.numbered, index, bounds, side.slot, condition, scan, python)


def _condition(on: TypedExpression | None, builder: ExpressionBuilder) -> tuple[Executor | None, bool]:
    """Build the condition tested on each event found; return it and whether it runs Python."""
    if on is None:
        return None, False
    return builder.build(on), calls_python(on) or has_aggregate(on)


def _entry(side: _Side) -> QueryEntry | None:
    junction = side.source.junction
    if junction is None or side.chain.first is None or not side.is_read:
        return None
    return QueryEntry(
        side.site.context,
        side.conditions,
        side.copier,
        side.chain.first,
        junction,
        read_mask(side.plan),
        filing_entries(side.plan.filing),
    )
