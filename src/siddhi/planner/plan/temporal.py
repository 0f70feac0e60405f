"""The plan of temporal streams, and of the queries that work on lifetimes.

Expressions of temporal queries read the left (or only) row in slot 0, the right one in slot 1, and the lifetime in
LIFETIME_SLOT: its start, its end, and the rank of the row in a window.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from siddhi._frozen import field, frozen
from siddhi.planner.plan.expressions import TypedExpression
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.definition import Attribute
from siddhi.query_api.input import JoinType
from siddhi.query_api.selection import Order
from siddhi.query_api.span import Span
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.planner.plan.nodes import PurgePlan, RangeKeyPlan, SelectorPlan, StreamPlan, ValueKeyPlan

LIFETIME_SLOT = 2
"""Slot of the lifetime: the attributes START, END and RANK."""
START, END, RANK = 0, 1, 2
TEMPORAL_WINDOWS = {
    "snapshot": "snapshot()",
    "hopping": "hopping(size, hop[, alignment[, 'point'|'clip']])",
    "tumbling": "tumbling(size[, alignment[, 'point'|'clip']])",
    "countByStartTime": "countByStartTime(n)",
}
"""The temporal windows, with their arguments."""
ACTION = "_op"
"""Column of batches of an app that corrects late events: ``insert`` or ``delete``."""
FOREVER = (1 << 63) - 1
"""``siddhi.temporal.MAX``."""


class TemporalModel(Enum):
    """The lifetimes that a stream takes and shows."""

    POINT = "point"
    INTERVAL = "interval"
    EDGE = "edge"


class LatePolicy(Enum):
    """What happens to an item before the CTI."""

    ERROR = "error"
    DROP = "drop"
    ADJUST = "adjust"


@frozen
class AdvancePlan:
    """``@advance``: CTIs made by the engine. ``count`` and ``duration_ms`` are 0 where absent; ``last``: the reference time is
    the start of the item just accepted, not the highest one; ``imported``: a stream whose CTIs are CTIs of this one;
    ``shutdown``: the input ends with the app, by a CTI at MAX."""

    count: int = 0
    duration_ms: int = 0
    delay_ms: int = 0
    last: bool = False
    imported: str | None = None
    shutdown: bool = False


@frozen
class TemporalStreamPlan:
    """``@temporal``. ``by_start``: output in order of start; ``start``, ``end``: positions of the attributes that carry the
    times; None: there is none. ``by_row``: classical queries get events of one start in order of their rows; ``filled``: they
    insert into it; ``edges``: its sources get edges from other apps."""

    model: TemporalModel = TemporalModel.INTERVAL
    policy: LatePolicy = LatePolicy.ERROR
    by_start: bool = False
    advance: AdvancePlan | None = None
    start: int | None = None
    end: int | None = None
    by_row: bool = False
    filled: bool = False
    edges: bool = False


@frozen
class CorrectionPlan:
    """``policy = 'correct'``: a point stream of a classical app whose output is corrected where an event comes late.

    ``bound_ms``: an event that is late by more is dropped. ``start``: position of the attribute that carries the time of an
    event; None: it is its timestamp.
    """

    bound_ms: int
    start: int | None = None


@frozen
class TemporalFilterPlan:
    condition: TypedExpression


@frozen
class ShiftPlan:
    by_ms: int


@frozen
class AlterLifetimePlan:
    """``[F(start), F(start) + D)``: ``start`` None is the old start, ``duration`` None is infinite.

    ``span`` is where F is written.
    """

    start: TypedExpression | None
    duration: TypedExpression | None
    reads_end: bool
    span: Span | None = field(default=None, compare=False, shown=False)


@frozen
class MatchPlan:
    """How rows of two streams match: equal values at these positions, and a condition over both rows."""

    left_keys: tuple[int, ...] = ()
    right_keys: tuple[int, ...] = ()
    condition: TypedExpression | None = None


@frozen
class ClipPlan:
    """``clip``, and ``clipByNext``, where ``other`` is None: the stream is clipped by itself."""

    match: MatchPlan
    other: str | None
    other_attributes: tuple[Attribute, ...] = ()


@frozen
class AntiJoinPlan:
    match: MatchPlan
    other: str
    other_attributes: tuple[Attribute, ...]


TemporalStepPlan = TemporalFilterPlan | ShiftPlan | AlterLifetimePlan | ClipPlan | AntiJoinPlan


@frozen
class TemporalInputPlan:
    """A stream with the steps that its lifetimes pass, in order. ``key``: position of the partition key; None: there is none."""

    source: str
    attributes: tuple[Attribute, ...]
    steps: tuple[TemporalStepPlan, ...] = ()
    key: int | None = None


@frozen
class TemporalJoinPlan:
    """A join of two temporal streams."""

    type: JoinType
    match: MatchPlan


class WindowKind(Enum):
    SNAPSHOT = "snapshot"
    HOPPING = "hopping"
    COUNT_BY_START = "countByStartTime"


@frozen(kw_only=True)
class TemporalWindowPlan:
    """A temporal window.

    Attributes:
        kind: hopping includes tumbling.
        size_ms, hop_ms, alignment_ms: of the grid.
        clip: a result is valid during the window, else for 1 ms at its end.
        count: distinct starts of a counting window.
        conditions: of the rows in results; the others cut the time axis and are counted as starts all the same.
        group_by: positions of the group-by attributes.
        aggregates: one result per group; else one per row.
        order_by: (output position, direction) of top-k.
        limit: k; None: all rows.
        purge: when a counting window forgets groups without starts; None: never.
    """

    kind: WindowKind
    size_ms: int = 0
    hop_ms: int = 0
    alignment_ms: int = 0
    clip: bool = False
    count: int = 0
    conditions: tuple[TypedExpression, ...] = ()
    group_by: tuple[int, ...] = ()
    aggregates: bool = True
    order_by: tuple[tuple[int, Order], ...] = ()
    limit: int | None = None
    purge: PurgePlan | None = None


@frozen(kw_only=True)
class TemporalQueryPlan:
    """A query on lifetimes, which fills the temporal stream ``target``.

    The name of a query in a partition is ``partition/query``. ``inputs`` has two entries exactly if ``join`` is set. ``selector`` has columns and ``having``; grouping and order are in
    the window. ``position`` is the index of the query among the executions of the app. ``reads_end``: the selection reads the
    end of the lifetime, so that a row is made when that is known.
    """

    name: str
    position: int
    inputs: tuple[TemporalInputPlan, ...]
    join: TemporalJoinPlan | None
    window: TemporalWindowPlan | None
    selector: SelectorPlan
    target: str
    reads_end: bool = False
    annotations: tuple[Annotation, ...] = ()
    span: Span | None = None


@frozen(kw_only=True)
class TemporalPartitionPlan:
    """A partition of temporal streams.

    Its queries are among those of the app. They have no operators per key: their rows carry the key behind the other
    attributes, windows are grouped by it, and rows match only those of the same key. So a key whose rows are over needs no
    state. Inside a partition, a stream with a key is ``partition/stream``.

    Attributes:
        keys: of the streams that queries read.
        key_type: keys of several types are text.
        inner_streams: their ids are ``partition/#stream``; the last attribute is the key.
        purge: when keys are idle; counting windows and signals of queries have it, too.
    """

    name: str
    position: int
    keys: tuple[ValueKeyPlan | RangeKeyPlan, ...]
    key_type: AttributeType
    inner_streams: tuple[StreamPlan, ...] = ()
    purge: PurgePlan | None = None
    span: Span | None = None
