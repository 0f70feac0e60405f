"""Inputs of a query: single streams, joins, patterns, sequences, anonymous queries."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

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


@dataclass(frozen=True, slots=True)
class Handler(Node):
    """Base of what stands behind a source: filters, stream functions, one window."""


@dataclass(frozen=True, slots=True)
class Filter(Handler):
    """``[condition]``."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class StreamFunction(Handler):
    """``#name(...)``."""

    call: FunctionCall


@dataclass(frozen=True, slots=True)
class WindowHandler(Handler):
    """``#window.name(...)``."""

    call: FunctionCall


@dataclass(frozen=True, slots=True)
class Input(Node):
    """Base of the inputs."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class JoinInput(Input):
    """``within`` holds one or two expressions and comes together with ``per`` (aggregations only)."""

    left: SingleInput
    right: SingleInput
    type: JoinType = JoinType.INNER
    trigger: Trigger = Trigger.BOTH
    on: Expression | None = None
    within: tuple[Expression, ...] = ()
    per: Expression | None = None


@dataclass(frozen=True, slots=True)
class State(Node):
    """Base of the elements of a pattern or sequence."""


@dataclass(frozen=True, slots=True)
class StreamState(State):
    """``[reference =] source[handlers]``."""

    input: SingleInput
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class CountState(State):
    """``state<min:max>``; ``max`` -1 is unbounded. ``+`` is <1:>, ``*`` <0:>, ``?`` <0:1>."""

    state: StreamState
    min: int
    max: int


@dataclass(frozen=True, slots=True)
class AbsentState(State):
    """``not source [for t]``; ``for_ms`` in milliseconds, None without ``for``."""

    input: SingleInput
    for_ms: int | None = None


class LogicalOperator(Enum):
    """What joins the operands of a :class:`LogicalState`."""

    AND = "and"
    OR = "or"


@dataclass(frozen=True, slots=True)
class LogicalState(State):
    """Two or more operands (stream or absent states) joined by one operator."""

    operator: LogicalOperator
    states: tuple[State, ...]


@dataclass(frozen=True, slots=True)
class EveryState(State):
    """``every state``: starts again, each time from the first event that fits."""

    state: State


@dataclass(frozen=True, slots=True)
class NextState(State):
    """A chain: ``a -> b -> c`` or ``a, b, c``; a parenthesised chain is a NextState inside a NextState."""

    states: tuple[State, ...]


@dataclass(frozen=True, slots=True)
class Pattern(Input):
    """``a -> b``: events that follow each other with others between them; ``within_ms`` in milliseconds."""

    state: State
    within_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Sequence(Input):
    """``a, b``: events that follow each other at once; ``within_ms`` in milliseconds."""

    state: State
    within_ms: int | None = None
