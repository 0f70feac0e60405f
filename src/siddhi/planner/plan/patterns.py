"""The plan of a pattern or sequence: an automaton, as flat tables of states and slots.

A *slot* is one occurrence of a stream, numbered from the left. A *state* waits for the events of its slots: one, or
several in a logical group. Partial matches move from state to state; a state that ends an ``every`` group also sends a
fresh copy back to the group's first state.

Slots of expressions. The selection reads the event of slot n as slot n. A filter reads the event it evaluates as its
own slot, and the events of earlier states and of its group as theirs.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from siddhi._frozen import frozen
from siddhi.planner.plan.expressions import TypedExpression
from siddhi.planner.plan.filing import Filing
from siddhi.query_api.definition import Attribute
from siddhi.query_api.span import Span

if TYPE_CHECKING:
    from siddhi.planner.plan.nodes import SourceKind

__all__ = ["KeyPlan", "OverflowPolicy", "PatternPlan", "SlotPlan", "StateKind", "StatePlan"]


class StateKind(Enum):
    """The condition that completes a state."""

    STREAM = "event"
    COUNT = "count"
    ABSENT = "absence"
    AND = "and"
    OR = "or"


class OverflowPolicy(Enum):
    """The action on a new partial match at the limit."""

    FAIL = "fail"
    DROP_OLDEST = "drop.oldest"


@frozen
class KeyPlan:
    """``own == earlier``: one side reads only the current event, the other only events of earlier states."""

    own: TypedExpression
    earlier: TypedExpression


@frozen(kw_only=True)
class SlotPlan:
    """One occurrence of a stream in the pattern.

    Attributes:
        label: the event reference, else the id of the stream.
        alone: conditions that read only the current event; evaluated once per event.
        conditions: the other conditions, evaluated per partial match; they include the equalities of ``keys``.
        keys: equalities by which an index finds partial matches.
        kept: positions of the attributes that are read later, ascending.
        reads: positions of the attributes that are read at all, ascending.
        counting: whether the slot contains a list of events.
        absent: whether the state waits for the absence of an event; the slot stays empty.
        for_ms: the waiting time of an absence; None: until its group is complete.
    """

    label: str
    source: str
    kind: SourceKind
    attributes: tuple[Attribute, ...]
    alone: tuple[TypedExpression, ...] = ()
    conditions: tuple[TypedExpression, ...] = ()
    keys: tuple[KeyPlan, ...] = ()
    kept: tuple[int, ...] = ()
    reads: tuple[int, ...] = ()
    counting: bool = False
    absent: bool = False
    for_ms: int | None = None
    span: Span | None = None


@frozen(kw_only=True)
class StatePlan:
    """One state; the last one emits matches.

    Attributes:
        slots: the slots it waits for, in the order in which they are offered an event.
        min, max: number of events of a counting state; ``max`` -1 is unbounded.
        stops: the slots whose event ends the count of a counting state: all slots of the next state. If that has one slot,
            also the last slot of the state after it: after ``A+, B*``, the left slot of ``C or D`` ends no count of A.
        again: the first state of the ``every`` group that this state ends, or None.
        expiry: the first state of the ``every`` group that contains it, or None.
        late_again: the group consists only of counts that can be empty, so the group starts again
            only when a later state accepts the partial match.
    """

    kind: StateKind
    slots: tuple[int, ...]
    min: int = 1
    max: int = 1
    stops: tuple[int, ...] = ()
    again: int | None = None
    expiry: int | None = None
    late_again: bool = False


@frozen(kw_only=True)
class PatternPlan:
    """A pattern or sequence; ``within_ms`` in milliseconds.

    ``max_partial_matches``: the limit of partial matches, None if unlimited; ``limited_by``: its origin, for messages.
    ``filings``: for each of the sources its entries in the predicate index; None: it receives every event.
    ``sleeps``: the filings hold only while no partial match waits.
    """

    is_sequence: bool
    slots: tuple[SlotPlan, ...]
    states: tuple[StatePlan, ...]
    within_ms: int | None = None
    max_partial_matches: int | None = None
    limited_by: str = ""
    overflow: OverflowPolicy = OverflowPolicy.FAIL
    filings: tuple[Filing | None, ...] | None = None
    sleeps: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The streams it reads, without duplicates, in the order of the slots."""
        return tuple(dict.fromkeys(slot.source for slot in self.slots))

    @property
    def waits(self) -> bool:
        """Whether timers can complete it."""
        return any(slot.for_ms is not None for slot in self.slots)
