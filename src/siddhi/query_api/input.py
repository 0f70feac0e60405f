"""Inputs of a query: single streams, joins, patterns, sequences, anonymous queries."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from siddhi._frozen import frozen
from siddhi.query_api.expression import Expression, FunctionCall
from siddhi.query_api.span import Node

if TYPE_CHECKING:
    from siddhi.query_api.query import Query

__all__ = [
    "AbsentState",
    "AnonymousInput",
    "CountState",
    "EveryState",
    "Filter",
    "Handler",
    "Input",
    "JoinInput",
    "JoinType",
    "LogicalOperator",
    "LogicalState",
    "NextState",
    "Pattern",
    "Sequence",
    "SingleInput",
    "State",
    "StreamFunction",
    "StreamState",
    "Trigger",
    "WindowHandler",
]


@frozen
class Handler(Node):
    """Base of the handlers after a source: filters, stream functions, at most one window."""


@frozen
class Filter(Handler):
    """``[condition]``."""

    condition: Expression


@frozen
class StreamFunction(Handler):
    """``#name(...)``."""

    call: FunctionCall


@frozen
class WindowHandler(Handler):
    """``#window.name(...)``."""

    call: FunctionCall


@frozen
class Input(Node):
    """Base of the inputs."""


@frozen
class SingleInput(Input):
    """A source with its handlers in order; ``alias`` is set in joins only."""

    source: str
    handlers: tuple[Handler, ...] = ()
    alias: str | None = None
    is_inner: bool = False
    is_fault: bool = False

    @property
    def window(self) -> WindowHandler | None:
        """The window among the handlers, or None."""
        return next((handler for handler in self.handlers if isinstance(handler, WindowHandler)), None)


@frozen
class AnonymousInput(Input):
    """``from (from ... return) ...``: the inner query's output is the input; handlers may follow."""

    query: Query
    handlers: tuple[Handler, ...] = ()


class JoinType(Enum):
    """Which sides of a join emit events without a match; the value is the SiddhiQL keyword."""

    INNER = "join"
    LEFT_OUTER = "left outer join"
    RIGHT_OUTER = "right outer join"
    FULL_OUTER = "full outer join"


class Trigger(Enum):
    """Which sides trigger a join: both, or the one marked ``unidirectional``."""

    BOTH = "both"
    LEFT = "left"
    RIGHT = "right"


@frozen
class JoinInput(Input):
    """A join. ``within`` (one or two expressions) and ``per`` are set for joins with an aggregation only."""

    left: SingleInput
    right: SingleInput
    type: JoinType = JoinType.INNER
    trigger: Trigger = Trigger.BOTH
    on: Expression | None = None
    within: tuple[Expression, ...] = ()
    per: Expression | None = None


@frozen
class State(Node):
    """Base of the elements of a pattern or sequence."""


@frozen
class StreamState(State):
    """``[reference =] source[handlers]``."""

    input: SingleInput
    reference: str | None = None


@frozen
class CountState(State):
    """``state<min:max>``; ``max`` -1 is unbounded. ``+`` is <1:>, ``*`` <0:>, ``?`` <0:1>."""

    state: StreamState
    min: int
    max: int


@frozen
class AbsentState(State):
    """``not source [for t]``; ``for_ms`` is in ms, None without ``for``."""

    input: SingleInput
    for_ms: int | None = None


class LogicalOperator(Enum):
    """The operator of a :class:`LogicalState`."""

    AND = "and"
    OR = "or"


@frozen
class LogicalState(State):
    """Two or more operands (stream or absent states) with one operator between them."""

    operator: LogicalOperator
    states: tuple[State, ...]


@frozen
class EveryState(State):
    """``every state``: starts a new match with each event that fits the first element."""

    state: State


@frozen
class NextState(State):
    """A chain: ``a -> b -> c`` or ``a, b, c``; a chain in parentheses is a nested NextState."""

    states: tuple[State, ...]


@frozen
class Pattern(Input):
    """``a -> b``: events in this order, with other events allowed between them; ``within_ms`` is in ms."""

    state: State
    within_ms: int | None = None


@frozen
class Sequence(Input):
    """``a, b``: consecutive events in this order; ``within_ms`` is in ms."""

    state: State
    within_ms: int | None = None
