"""Selection, output rate and output actions of a query."""

from __future__ import annotations

from enum import Enum

from siddhi._frozen import frozen
from siddhi.query_api.expression import Constant, Expression, Variable
from siddhi.query_api.span import Node

__all__ = [
    "DeleteFrom",
    "EventRate",
    "InsertInto",
    "Order",
    "OrderBy",
    "Output",
    "OutputAttribute",
    "OutputEventType",
    "OutputRate",
    "RateKind",
    "ReturnOutput",
    "Selector",
    "SetAttribute",
    "SnapshotRate",
    "TimeRate",
    "UpdateOrInsertInto",
    "UpdateTable",
]


class OutputEventType(Enum):
    """Which events of a query its output processes."""

    CURRENT = "current events"
    EXPIRED = "expired events"
    ALL = "all events"


@frozen
class OutputAttribute(Node):
    """``expression as name``; ``rename`` is None if a plain reference keeps its name."""

    expression: Expression
    rename: str | None = None

    @property
    def name(self) -> str:
        """The name of the output attribute."""
        if self.rename is not None:
            return self.rename
        if isinstance(self.expression, Variable):
            return self.expression.name
        raise ValueError("an output attribute without 'as' has a name only if its expression is a plain reference")


class Order(Enum):
    """Direction of :class:`OrderBy`."""

    ASC = "asc"
    DESC = "desc"


@frozen
class OrderBy(Node):
    """``variable [asc|desc]``."""

    variable: Variable
    order: Order = Order.ASC


@frozen
class Selector(Node):
    """``select ... group by ... having ... order by ... limit ... offset``; no attributes means ``select *``."""

    attributes: tuple[OutputAttribute, ...] = ()
    group_by: tuple[Variable, ...] = ()
    having: Expression | None = None
    order_by: tuple[OrderBy, ...] = ()
    limit: Constant | None = None
    offset: Constant | None = None


class RateKind(Enum):
    """Which of the buffered events are emitted."""

    ALL = "all"
    FIRST = "first"
    LAST = "last"


@frozen
class OutputRate(Node):
    """Base of ``output ... every ...``."""


@frozen
class EventRate(OutputRate):
    """``output [all|first|last] every N events``."""

    events: int
    kind: RateKind = RateKind.ALL


@frozen
class TimeRate(OutputRate):
    """``output [all|first|last] every <time>``; ``every_ms`` is in ms."""

    every_ms: int
    kind: RateKind = RateKind.ALL


@frozen
class SnapshotRate(OutputRate):
    """``output snapshot every <time>``; ``every_ms`` is in ms."""

    every_ms: int


@frozen
class Output(Node):
    """Base of the outputs of a query. ``event_type`` None means the default of the clause."""

    event_type: OutputEventType | None = None


@frozen(kw_only=True)
class InsertInto(Output):
    """``insert ... into target``, a stream, table or named window; the flags mean ``#target`` and ``!target``."""

    target: str
    is_inner: bool = False
    is_fault: bool = False


@frozen
class SetAttribute(Node):
    """``T.attr = expression``."""

    target: Variable
    value: Expression


@frozen(kw_only=True)
class DeleteFrom(Output):
    """``delete target ... on condition``."""

    target: str
    on: Expression | None = None


@frozen(kw_only=True)
class UpdateTable(Output):
    """``update target ... set ... on condition``; ``set`` None: every output attribute is assigned."""

    target: str
    set: tuple[SetAttribute, ...] | None = None
    on: Expression


@frozen(kw_only=True)
class UpdateOrInsertInto(Output):
    """``update or insert into target ... on condition``; ``set`` as in :class:`UpdateTable`."""

    target: str
    set: tuple[SetAttribute, ...] | None = None
    on: Expression


@frozen(kw_only=True)
class ReturnOutput(Output):
    """``return``: the events go to the query callbacks only, or to the enclosing query."""
