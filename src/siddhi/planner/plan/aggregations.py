"""The plan of an incremental aggregation: the layout of its rows, and the outputs computed from them.

A row has one cell per stored attribute: the start of its bucket by the app's clock, with ``by`` the start of the bucket of
its events' own time, the group, the latest values, the time of the latest event, the base values. Positions are those of
:attr:`AggregationPlan.stored`.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from siddhi._frozen import frozen
from siddhi.planner.plan.expressions import Attr, TypedExpression
from siddhi.query_api.definition import Attribute, Duration

if TYPE_CHECKING:
    from siddhi.planner.plan.limits import KeyLimitPlan
    from siddhi.planner.plan.nodes import SingleInputPlan
    from siddhi.query_api.span import Span

__all__ = [
    "ZONE",
    "AggregationPlan",
    "AggregationPurgePlan",
    "AggregationReadPlan",
    "BaseKind",
    "BaseValue",
    "OutputKind",
    "OutputValue",
]


ZONE = "aggTimeZone"
"""App annotation and system property that name the time zone of the buckets."""


class BaseKind(Enum):
    """The kinds of values that a bucket stores of its events."""

    COUNT = "count"
    SUM = "sum"
    MINIMUM = "min"
    MAXIMUM = "max"
    DISTINCT = "set"
    DEVIATION = "deviation"
    """Three cells: number of values, mean, sum of squared distances from the mean."""
    LATEST = "latest"


@frozen
class BaseValue:
    """A base value. ``argument`` is an expression, for DISTINCT and DEVIATION an attribute, for COUNT None; ``position`` is the
    position of its first cell."""

    kind: BaseKind
    argument: TypedExpression | None
    position: int


class OutputKind(Enum):
    """How an output value is computed from a row."""

    STORED = "stored"
    MEAN = "mean"
    SIZE = "size"
    SPREAD = "spread"
    COMPUTED = "computed"


@frozen
class OutputValue:
    """An output. ``position`` is that of a group attribute or base value; ``count`` that of the divisor of a mean. COMPUTED has
    an ``expression`` instead, which reads the stored attributes in slot 0."""

    attribute: Attribute
    kind: OutputKind
    position: int = 0
    count: int = 0
    expression: TypedExpression | None = None


@frozen
class AggregationPurgePlan:
    """``@purge``: the interval (ms) and, per duration, the retention of rows (ms); None: forever."""

    interval_ms: int
    retention_ms: tuple[int | None, ...]


@frozen(kw_only=True)
class AggregationPlan:
    """``define aggregation``. ``durations`` are finest first; ``tables`` are the names of their tables, in the same order.

    ``by``, ``group_by`` and the arguments of base values read the input's attributes in slot 0. ``last`` is the position
    of the time of the latest event, None if the order of arrival decides. ``attributes`` is the schema for readers. ``shard``
    is the name of this node if several nodes share the tables, whose second attribute is then SHARD_ID. ``extended``:
    an extension defines some base values. ``limit`` has the limit of its rows as ``keys``.
    """

    id: str
    input: SingleInputPlan
    by: Attr | None
    group_by: tuple[Attr, ...]
    stored: tuple[Attribute, ...]
    first_group: int
    base_values: tuple[BaseValue, ...]
    last: int | None
    outputs: tuple[OutputValue, ...]
    attributes: tuple[Attribute, ...]
    durations: tuple[Duration, ...]
    tables: tuple[str, ...]
    zone: str = "GMT"
    purge: AggregationPurgePlan | None = None
    shard: str | None = None
    extended: bool = False
    limit: KeyLimitPlan | None = None
    span: Span | None = None


@frozen
class AggregationReadPlan:
    """``within ... per ...``. A constant range is in ``range`` (start, end in ms), else ``within`` has one or two
    expressions; likewise ``duration`` and ``per``."""

    within: tuple[TypedExpression, ...]
    per: TypedExpression
    range: tuple[int, int] | None = None
    duration: Duration | None = None
