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
from siddhi.planner.plan.access import EqualityGuard, JoinLookup, TableAccess
from siddhi.planner.plan.connectors import SinkPlan, SourcePlan, StorePlan
from siddhi.planner.plan.expressions import Attr, TypedExpression
from siddhi.planner.plan.limits import KeyLimitPlan, RowLimitPlan
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
    """Index of the queries of a stream by the value of their equality guard; ``queries`` is their number."""

    position: int
    queries: int


@frozen(kw_only=True)
class StreamPlan:
    """A junction. Fault streams are named ``!S``; inner streams belong to their partition.

    ``predicate_index``: an event goes to the queries that the index finds, and to those without a guard; None: to all queries.
    """

    id: str
    attributes: tuple[Attribute, ...]
    origin: StreamOrigin = StreamOrigin.DEFINED
    on_error: OnErrorAction = OnErrorAction.LOG
    async_settings: AsyncSettings | None = None
    sources: tuple[SourcePlan, ...] = ()
    sinks: tuple[SinkPlan, ...] = ()
    predicate_index: PredicateIndex | None = None
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
        guard: the equality guard in the predicate index of the stream; None: the query receives every event.
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
    guard: EqualityGuard | None = None


@frozen(kw_only=True)
class JoinPlan:
    """A join. Slots 0 and 1 are left and right. The condition and the selection read both; handlers and window arguments of a
    side read only their own source, in slot 0. The matches of one event that leaves a window form one chunk for the
    selection.

    Attributes:
        reading: the range of the aggregation, if one side is an aggregation.
        lookups: how rows or events of the left and the right side are found; None: scan.
    """

    left: SingleInputPlan
    right: SingleInputPlan
    type: JoinType
    trigger: Trigger
    on: TypedExpression | None
    reading: AggregationReadPlan | None = None
    lookups: tuple[JoinLookup | None, JoinLookup | None] = (None, None)

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
class OutputPlan:
    """``condition`` and ``set`` read the output event (slot OUTPUT_SLOT) and the table row (TABLE_SLOT).

    Attributes:
        access: how the rows of the condition are found; None without a condition.
        pending_access: likewise for the rows of a chunk that ``update or insert`` has not added yet, which have no
            primary key; None for other actions.
    """

    action: Action
    target: str
    kind: SourceKind
    event_type: OutputEventType
    condition: TypedExpression | None = None
    set: tuple[SetPlan, ...] | None = None
    access: TableAccess | None = None
    pending_access: TableAccess | None = None


class FusedWindow(Enum):
    """What a fused window aggregate keeps instead of events."""

    SLIDING = "arguments"
    TUMBLING = "totals"


@frozen(kw_only=True)
class QueryPlan:
    """A query.

    Attributes:
        limit: the limit of group-by keys and values.
        synchronized: the value of ``@synchronized``; None: the engine decides.
        fused: what the operator of window and selection keeps, if they are fused; None: the window keeps events.
    """

    name: str
    input: SingleInputPlan | JoinPlan | PatternPlan
    selector: SelectorPlan
    rate: OutputRate | None
    output: OutputPlan
    limit: KeyLimitPlan | None = None
    synchronized: bool | None = None
    fused: FusedWindow | None = None
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
    batches: tuple[BatchPlan, ...] = ()
    warnings: tuple[AppWarning, ...] = field(default=(), compare=False)
    policy: SandboxPolicy | None = None
