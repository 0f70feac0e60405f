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
    """Base of what stands behind a source: filters, stream functions, one window."""


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
        """The window among the handlers, if any."""
        return next((handler for handler in self.handlers if isinstance(handler, WindowHandler)), None)


@frozen
class AnonymousInput(Input):
    """``from (from ... return) ...``: the inner query's output is the input; handlers may follow."""

    query: Query
    handlers: tuple[Handler, ...] = ()


class JoinType(Enum):
    """Which side of a join is kept without a match; the value is how it is written."""

    INNER = "join"
    LEFT_OUTER = "left outer join"
    RIGHT_OUTER = "right outer join"
    FULL_OUTER = "full outer join"


class Trigger(Enum):
    """Which side of a join is marked ``unidirectional``."""

    BOTH = "both"
    LEFT = "left"
    RIGHT = "right"


@frozen
class JoinInput(Input):
    """``within`` holds one or two expressions and comes together with ``per`` (aggregations only)."""

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
    """``not source [for t]``; ``for_ms`` in milliseconds, None without ``for``."""

    input: SingleInput
    for_ms: int | None = None


class LogicalOperator(Enum):
    """What joins the operands of a :class:`LogicalState`."""

    AND = "and"
    OR = "or"


@frozen
class LogicalState(State):
    """Two or more operands (stream or absent states) joined by one operator."""

    operator: LogicalOperator
    states: tuple[State, ...]


@frozen
class EveryState(State):
    """``every state``: starts again, each time from the first event that fits."""

    state: State


@frozen
class NextState(State):
    """A chain: ``a -> b -> c`` or ``a, b, c``; a parenthesised chain is a NextState inside a NextState."""

    states: tuple[State, ...]


@frozen
class Pattern(Input):
    """``a -> b``: events that follow each other with others between them; ``within_ms`` in milliseconds."""

    state: State
    within_ms: int | None = None


@frozen
class Sequence(Input):
    """``a, b``: events that follow each other at once; ``within_ms`` in milliseconds."""

    state: State
    within_ms: int | None = None
