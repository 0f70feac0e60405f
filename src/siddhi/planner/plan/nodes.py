"""The plan: the input of the engines. Frozen data, independent of any engine; ``planner/explain`` prints it.

Attribute positions. A single input has one attribute list: those of its stream in definition order, then those appended
by stream functions, in order. Expressions refer to positions in that list. ``window_layout`` lists the positions a window
keeps (the only ones read after it); an engine maps positions to cells for each operator.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from siddhi._frozen import field, frozen, replace
from siddhi.planner.plan.access import JoinLookup, TableAccess
from siddhi.planner.plan.connectors import SinkPlan, SourcePlan, StorePlan
from siddhi.planner.plan.expressions import Attr, TypedExpression
from siddhi.planner.plan.filing import Filing
from siddhi.planner.plan.limits import KeyLimitPlan, RowLimitPlan
from siddhi.planner.plan.temporal import CorrectionPlan, TemporalPartitionPlan, TemporalQueryPlan, TemporalStreamPlan
from siddhi.planner.plan.warning import AppWarning
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.definition import Attribute, FunctionDefinition
from siddhi.query_api.input import JoinType, Trigger
from siddhi.query_api.selection import Order, OutputEventType, OutputRate
from siddhi.query_api.span import Span
from siddhi.sandbox import SandboxPolicy

if TYPE_CHECKING:
    from siddhi.extension.metadata import StreamFunctionMetadata, WindowMetadata
    from siddhi.planner.plan.aggregations import AggregationPlan, AggregationReadPlan
    from siddhi.planner.plan.patterns import PatternPlan
    from siddhi.query_api.app import SiddhiApp
    from siddhi.query_api.query import Partition, Query


class SourceKind(Enum):
    """The kind of a source or target of a query."""

    STREAM = "stream"
    INNER = "inner stream"
    FAULT = "fault stream"
    WINDOW = "window"
    TABLE = "table"
    AGGREGATION = "aggregation"


class StreamOrigin(Enum):
    DEFINED = "defined"
    INFERRED = "inferred"
    TRIGGER = "trigger"
    FAULT = "fault"


class OnErrorAction(Enum):
    LOG = "log"
    STREAM = "stream"
    STORE = "store"


@frozen
class AsyncSettings:
    """``@async``: events in the ring buffer, worker threads, events per delivered chunk."""

    buffer_size: int
    workers: int
    batch_size_max: int


@frozen
class Playback:
    """``@app:playback``; times in milliseconds, None without a heartbeat. ``exact``: each timer runs at its own time."""

    idle_time_ms: int | None = None
    increment_ms: int | None = None
    exact: bool = False


@frozen
class PredicateIndex:
    """Index of the queries of a stream by values and intervals of these attributes; ``queries`` is their number."""

    positions: tuple[int, ...]
    queries: int


@frozen(kw_only=True)
class StreamPlan:
    """A junction. Fault streams are named ``!S``; inner streams belong to their partition.

    ``predicate_index``: an event goes to the queries that the index finds, and to those that are not filed; None: to all queries.
    ``temporal``: its events have lifetimes; None: it is classical.
    ``correction``: its late events correct the output of the app; None: its events come in order.
    """

    id: str
    attributes: tuple[Attribute, ...]
    origin: StreamOrigin = StreamOrigin.DEFINED
    on_error: OnErrorAction = OnErrorAction.LOG
    async_settings: AsyncSettings | None = None
    sources: tuple[SourcePlan, ...] = ()
    sinks: tuple[SinkPlan, ...] = ()
    predicate_index: PredicateIndex | None = None
    temporal: TemporalStreamPlan | None = None
    correction: CorrectionPlan | None = None
    annotations: tuple[Annotation, ...] = ()
    span: Span | None = None


@frozen(kw_only=True)
class TablePlan:
    """A table; ``primary_key`` and ``indexes`` are attribute positions. ``owner``: the only aggregation that can write it.

    The indexes of a ``store`` are in ``store_indexes`` and can have several attributes. ``objects`` describes the object
    attributes of tables of aggregations: name, content for messages, span.
    """

    id: str
    attributes: tuple[Attribute, ...]
    primary_key: tuple[int, ...] = ()
    indexes: tuple[int, ...] = ()
    owner: str | None = None
    store: StorePlan | None = None
    store_indexes: tuple[tuple[int, ...], ...] = ()
    objects: tuple[tuple[str, str, Span | None], ...] = ()
    limit: RowLimitPlan | None = None
    annotations: tuple[Annotation, ...] = ()
    span: Span | None = None

    def in_memory(self) -> TablePlan:
        """Return the table of the rows in memory: this table, or the cache of its store."""
        if self.store is None:
            return self
        indexes = tuple([positions[0] for positions in self.store_indexes if len(positions) == 1])
        return replace(self, store=None, store_indexes=(), indexes=indexes if self.primary_key else ())

    def pending(self) -> TablePlan:
        """Return the table of rows that are not added yet: an index replaces the primary key, since keys can be duplicated."""
        table = self.in_memory()
        return replace(table, primary_key=(), indexes=tuple({*table.primary_key, *table.indexes}))


@frozen
class WindowPlan:
    """A window with its checked arguments: constants, or expressions for dynamic parameters.

    ``condition`` is that of an expression window with a literal text: it reads the current event in slot 0, the oldest
    and newest buffered events in FIRST_SLOT and LAST_SLOT. If events provide the text instead, ``plan_condition``
    compiles it, or raises SiddhiAppError.
    """

    window: WindowMetadata
    arguments: tuple[TypedExpression, ...]
    condition: TypedExpression | None = None
    plan_condition: Callable[[str], TypedExpression] | None = field(default=None, compare=False, shown=False)


@frozen(kw_only=True)
class NamedWindowPlan:
    """``define window``; every attribute is kept."""

    id: str
    attributes: tuple[Attribute, ...]
    window: WindowPlan
    output: OutputEventType
    annotations: tuple[Annotation, ...] = ()
    span: Span | None = None


@frozen(kw_only=True)
class TriggerPlan:
    """Exactly one of ``every_ms``, ``at_start`` and ``cron`` is set."""

    id: str
    every_ms: int | None = None
    at_start: bool = False
    cron: str | None = None
    span: Span | None = None


@frozen
class FilterPlan:
    condition: TypedExpression


@frozen
class StreamFunctionPlan:
    """A stream function; ``appended`` are the attributes it appends to those of its input."""

    function: StreamFunctionMetadata
    arguments: tuple[TypedExpression, ...]
    appended: tuple[Attribute, ...] = ()


HandlerPlan = FilterPlan | StreamFunctionPlan


@frozen(kw_only=True)
class SingleInputPlan:
    """One source with the handlers before and after its window.

    Attributes:
        attributes: those of the source, then the appended ones.
        window_layout: positions that the window keeps (or, without a window, the selection reads), ascending.
        reads: positions that are read from the events of the source, ascending; None: all.
        filing: its entries in the predicate index of the stream; None: the query receives every event.
        passes_expired: expired events reach the aggregators or, in a join, look for matches.
        stamps_expired: the window writes the time at which an event expires into it, since that is read.
        returns_records: the records that expire are those that passed as current events, each once.
    """

    source: str
    kind: SourceKind
    attributes: tuple[Attribute, ...]
    source_width: int
    before: tuple[HandlerPlan, ...] = ()
    window: WindowPlan | None = None
    after: tuple[HandlerPlan, ...] = ()
    alias: str | None = None
    window_layout: tuple[int, ...] = ()
    reads: tuple[int, ...] | None = None
    filing: Filing | None = None
    passes_expired: bool = False
    stamps_expired: bool = False
    returns_records: bool = False


@frozen(kw_only=True)
class JoinPlan:
    """A join. Slots 0 and 1 are left and right. The condition and the selection read both; handlers and window arguments of a
    side read only their own source, in slot 0. The matches of one event that leaves a window form one chunk for the
    selection.

    Attributes:
        reading: the range of the aggregation, if one side is an aggregation.
        lookups: how rows or events of the left and the right side are found; None: scan.
        ends_matches: the selection is called where the matches of one event end, since its result depends on it.
        fills_columns: the matches of a chunk are written into columns as they are found, since none of them can fail.
    """

    left: SingleInputPlan
    right: SingleInputPlan
    type: JoinType
    trigger: Trigger
    on: TypedExpression | None
    reading: AggregationReadPlan | None = None
    lookups: tuple[JoinLookup | None, JoinLookup | None] = (None, None)
    ends_matches: bool = False
    fills_columns: bool = False

    def triggers(self, slot: int) -> bool:
        """Return whether events that leave the window of a side look for matches."""
        side, other = (self.left, self.right) if slot == 0 else (self.right, self.left)
        if side.kind in (SourceKind.TABLE, SourceKind.AGGREGATION):
            return False
        if slot == 1 and side.kind is SourceKind.WINDOW and side.source == other.source:
            return False  # a named window joined with itself is triggered by its left occurrence only
        return self.trigger in (Trigger.BOTH, (Trigger.LEFT, Trigger.RIGHT)[slot])


class SelectMode(Enum):
    """Which selected events of a chunk a query emits."""

    EACH = "each"
    LAST = "last of chunk"
    LAST_PER_GROUP = "last per group of chunk"


@frozen
class OutputColumn:
    name: str
    expression: TypedExpression


@frozen
class OrderPlan:
    """``key`` is an output attribute (slot OUTPUT_SLOT) or, in joins and patterns, an input attribute."""

    key: Attr
    order: Order


@frozen(kw_only=True)
class SelectorPlan:
    columns: tuple[OutputColumn, ...]
    group_by: tuple[Attr, ...] = ()
    having: TypedExpression | None = None
    order_by: tuple[OrderPlan, ...] = ()
    limit: int | None = None
    offset: int | None = None
    mode: SelectMode = SelectMode.EACH
    has_aggregates: bool = False

    def expressions(self) -> list[TypedExpression]:
        """Every expression that may read input attributes."""
        found: list[TypedExpression] = [column.expression for column in self.columns]
        found += self.group_by
        found += [order.key for order in self.order_by]
        if self.having is not None:
            found.append(self.having)
        return found


class Action(Enum):
    INSERT = "insert into"
    DELETE = "delete"
    UPDATE = "update"
    UPDATE_OR_INSERT = "update or insert into"
    RETURN = "return"


@frozen
class SetPlan:
    """An assignment to the table attribute at ``position``."""

    position: int
    value: TypedExpression


@frozen(kw_only=True)
class TableChangePlan:
    """How an output changes the rows that its condition finds.

    Attributes:
        row_is_current: the condition reads the row as the current event, which is fastest; False: it needs the output event
            as the current event, whose time it reads.
        assigned: the assignments to a row found, in the order of the attributes, the last one of each, without those that
            would repeat the primary key by which the row was found.
        overwrites: the assignments replace the whole row by the output event, which has the same primary key.
        pending: ``update or insert`` adds rows at the end of the chunk, and this is how it finds those not added yet, which
            have no primary key; None: adding each row at once has the same result.
    """

    row_is_current: bool
    assigned: tuple[SetPlan, ...] = ()
    overwrites: bool = False
    pending: TableAccess | None = None


@frozen(kw_only=True)
class OutputPlan:
    """``condition`` and ``set`` read the output event (slot OUTPUT_SLOT) and the table row (TABLE_SLOT).

    Attributes:
        access: how the rows of the condition are found; None without a condition.
        change: how they are changed; None without a condition.
    """

    action: Action
    target: str
    kind: SourceKind
    event_type: OutputEventType
    condition: TypedExpression | None = None
    set: tuple[SetPlan, ...] | None = None
    access: TableAccess | None = None
    change: TableChangePlan | None = None

    def assignments(self) -> list[SetPlan]:
        """Return the assignments in the order of the attributes; the last one of an attribute wins."""
        return [set_ for _, set_ in sorted({set_.position: set_ for set_ in self.set or ()}.items())]


class FusedWindow(Enum):
    """The form of a fused window aggregate. A sliding one keeps the arguments of each event, a tumbling one the totals."""

    SLIDING = "sliding"
    TUMBLING = "tumbling"


class SelectionOperator(Enum):
    """The operator of a selection that is not fused with its window.

    A projection is stateless and passes current events one by one. A selector has states per group; at the end of the chunk
    means that it computes its output once per chunk, from the last event of each group alone.
    """

    PROJECTION = "projection"
    SELECTOR = "selector"
    SELECTOR_AT_CHUNK_END = "selector at the end of the chunk"


@frozen(kw_only=True)
class QueryPlan:
    """A query.

    Attributes:
        limit: the limit of group-by keys and values.
        synchronized: the value of ``@synchronized``; None: the engine decides.
        fused: the form of the operator, if window and selection are fused; None: the window keeps events.
        selection: the operator of the selection if it is not fused.
        stores_groups: an event carries the id of its group until it expires, which saves a lookup.
        ends_groups: a group can end before the query does, so that the rate limiter has to be notified.
    """

    name: str
    input: SingleInputPlan | JoinPlan | PatternPlan
    selector: SelectorPlan
    rate: OutputRate | None
    output: OutputPlan
    limit: KeyLimitPlan | None = None
    synchronized: bool | None = None
    fused: FusedWindow | None = None
    selection: SelectionOperator = SelectionOperator.SELECTOR
    stores_groups: bool = False
    ends_groups: bool = False
    annotations: tuple[Annotation, ...] = ()
    span: Span | None = None


@frozen
class ValueKeyPlan:
    stream: str
    kind: SourceKind
    expression: TypedExpression


@frozen
class RangeKeyPlan:
    stream: str
    kind: SourceKind
    ranges: tuple[tuple[str, TypedExpression], ...]


@frozen
class PurgePlan:
    """``@purge``; milliseconds."""

    interval_ms: int
    idle_period_ms: int


@frozen(kw_only=True)
class PartitionPlan:
    name: str
    keys: tuple[ValueKeyPlan | RangeKeyPlan, ...]
    inner_streams: tuple[StreamPlan, ...]
    queries: tuple[QueryPlan, ...]
    purge: PurgePlan | None = None
    limit: KeyLimitPlan | None = None
    span: Span | None = None


@frozen
class BatchPlan:
    """Whether a batch sent to a stream can run query by query, and if not, the reason."""

    stream: str
    columnar: bool
    reason: str = ""


@frozen(kw_only=True)
class Plan:
    """A whole app, resolved and typed. Dictionaries are in build order.

    ``policy``: the sandbox policy, also for on-demand queries; None: trusted.
    """

    name: str
    app: SiddhiApp
    playback: Playback | None = None
    statistics: Annotation | None = None
    streams: dict[str, StreamPlan] = field(default_factory=dict)
    tables: dict[str, TablePlan] = field(default_factory=dict)
    windows: dict[str, NamedWindowPlan] = field(default_factory=dict)
    aggregations: dict[str, AggregationPlan] = field(default_factory=dict)
    triggers: dict[str, TriggerPlan] = field(default_factory=dict)
    functions: dict[str, FunctionDefinition] = field(default_factory=dict)
    executions: tuple[QueryPlan | PartitionPlan, ...] = ()
    temporal_queries: tuple[TemporalQueryPlan, ...] = ()
    temporal_partitions: tuple[TemporalPartitionPlan, ...] = ()
    batches: tuple[BatchPlan, ...] = ()
    warnings: tuple[AppWarning, ...] = field(default=(), compare=False)
    policy: SandboxPolicy | None = None

    def corrected_streams(self) -> tuple[StreamPlan, ...]:
        """Return the streams whose late events correct the output; none: the app does not correct."""
        return tuple(stream for stream in self.streams.values() if stream.correction is not None)

    def is_on_both_sides_of_broker(self) -> bool:
        """Return whether the app both publishes to the in-memory broker and subscribes to it."""
        streams = self.streams.values()
        return any(sink.sink.builtin == "inMemory" for stream in streams for sink in stream.sinks) and any(
            source.source.builtin == "inMemory" for stream in streams for source in stream.sources
        )

    def classical_nodes(self) -> tuple[Query | Partition, ...]:
        """Return the queries and partitions of the text to which :attr:`executions` belong."""
        temporal = {query.position for query in self.temporal_queries}
        temporal |= {partition.position for partition in self.temporal_partitions}
        return tuple(node for position, node in enumerate(self.app.executions) if position not in temporal)
