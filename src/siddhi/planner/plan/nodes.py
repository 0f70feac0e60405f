"""The plan: what the engines are given. Plain frozen data, readable as text (see explain.py), free of any engine.

Attribute positions. A single input has one attribute list: those of its stream in definition order, then those appended
by stream functions, in order. Expressions hold positions in that list. ``window_layout`` tells which positions a window
keeps (the only ones read behind it); an engine maps positions to cells stage by stage.
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
    """What a query reads from or writes to."""

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
    """``@app:playback``; the times in milliseconds, or None without heartbeat. ``exact``: a timer runs at its own time."""

    idle_time_ms: int | None = None
    increment_ms: int | None = None
    exact: bool = False


@frozen
class PredicateIndex:
    """The queries of a stream by the value that their guard wants of one attribute; how many guards read it."""

    position: int
    queries: int


@frozen(kw_only=True)
class StreamPlan:
    """A junction. Fault streams are called ``!S``; inner streams live in their partition.

    ``predicate_index``: an event is given to the queries that this finds, and to those without such a guard; None: to all.
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
    """A table; ``primary_key`` and ``indexes`` are attribute positions. ``owner``: the aggregation that alone writes it.

    Where there is a ``store``, the indexes are its own, ``store_indexes``, and may be of several attributes. ``objects``
    says of attributes that nobody wrote what they hold, and what needs them: name, words, place.
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
        """The table that holds rows of this one in memory: itself, or the cache of its store."""
        if self.store is None:
            return self
        indexes = tuple([positions[0] for positions in self.store_indexes if len(positions) == 1])
        return replace(self, store=None, store_indexes=(), indexes=indexes if self.primary_key else ())

    def pending(self) -> TablePlan:
        """A table in memory of rows that are not added yet: several may have one key, by which they are found as before."""
        table = self.in_memory()
        return replace(table, primary_key=(), indexes=tuple({*table.primary_key, *table.indexes}))


@frozen
class WindowPlan:
    """A window with its checked arguments: constants, or expressions where the parameter may be dynamic.

    ``condition`` is that of an expression window given as a literal: it reads the current event in slot 0, the oldest
    and newest events held in FIRST_SLOT and LAST_SLOT. Where the text comes with the events instead, ``plan_condition``
    makes such a condition of it, or raises SiddhiAppError.
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
    """A stream function; ``appended`` are the attributes it adds behind those that exist at this point."""

    function: StreamFunctionMetadata
    arguments: tuple[TypedExpression, ...]
    appended: tuple[Attribute, ...] = ()


HandlerPlan = FilterPlan | StreamFunctionPlan


@frozen(kw_only=True)
class SingleInputPlan:
    """One source with what stands before and behind its window.

    Attributes:
        attributes: the source's, then the appended ones.
        window_layout: positions kept by the window (or, without a window, read by selection), ascending.
        guard: what the predicate index of the stream finds the query by; None: the query gets every event.
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
    guard: EqualityGuard | None = None


@frozen(kw_only=True)
class JoinPlan:
    """Slots 0 and 1 are left and right. The condition and the selection read both; handlers and window arguments of a
    side read their own source only, in slot 0. The matches of one event that leaves a window are one chunk for the
    selection.

    Attributes:
        reading: which rows of the aggregation that is one of the sides.
        lookups: how the other side finds rows or events of the left and of the right one; None: it looks at all of them.
    """

    left: SingleInputPlan
    right: SingleInputPlan
    type: JoinType
    trigger: Trigger
    on: TypedExpression | None
    reading: AggregationReadPlan | None = None
    lookups: tuple[JoinLookup | None, JoinLookup | None] = (None, None)

    def triggers(self, slot: int) -> bool:
        """Whether what leaves the window of a side looks for matches."""
        side, other = (self.left, self.right) if slot == 0 else (self.right, self.left)
        if side.kind in (SourceKind.TABLE, SourceKind.AGGREGATION):
            return False
        if slot == 1 and side.kind is SourceKind.WINDOW and side.source == other.source:
            return False  # a named window joined with itself is triggered by its left occurrence only
        return self.trigger in (Trigger.BOTH, (Trigger.LEFT, Trigger.RIGHT)[slot])


class SelectMode(Enum):
    """Which kept events of a chunk a query puts out."""

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
    """``table attribute at position := value``."""

    position: int
    value: TypedExpression


@frozen(kw_only=True)
class OutputPlan:
    """``condition`` and ``set`` read the output event (slot OUTPUT_SLOT) and the table row (TABLE_SLOT).

    Attributes:
        access: how the rows of the condition are found; None without a condition.
        pending_access: the same among the rows of a chunk that ``update or insert`` has not added yet, which have no
            primary key; None for anything else.
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
    """What one operator for window and selection keeps in place of events."""

    SLIDING = "arguments"
    TUMBLING = "totals"


@frozen(kw_only=True)
class QueryPlan:
    """A query.

    Attributes:
        limit: of group-by keys and values.
        synchronized: None as the engine needs, else what ``@synchronized`` says.
        fused: window and selection are one operator, which keeps this; None: the window keeps events.
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
    """Whether a batch sent to a stream may run query by query, and if not, why."""

    stream: str
    columnar: bool
    reason: str = ""


@frozen(kw_only=True)
class Plan:
    """A whole app, resolved and typed. Dictionaries are in build order; warnings name deprecated extensions in use.

    ``policy``: what the text may touch, for what is planned against the app later; None: anything.
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
