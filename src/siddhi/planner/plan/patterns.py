"""The plan of a pattern or sequence: an automaton as flat tables of states and of the streams' places in it.

A *slot* is one place where a stream stands, numbered from the left. A *state* waits for the events of its slots: one, or
several in a logical group. Partial matches move from state to state; a state that ends an ``every`` group also sends a
fresh copy back to the group's first state.

Slots of expressions. The selection reads the event of slot n as slot n. A filter reads the event it decides about as its
own slot, those of earlier states and of its group as theirs.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from siddhi._frozen import frozen
from siddhi.planner.plan.expressions import TypedExpression
from siddhi.query_api.definition import Attribute
from siddhi.query_api.span import Span

if TYPE_CHECKING:
    from siddhi.planner.plan.nodes import SourceKind

__all__ = ["KeyPlan", "OverflowPolicy", "PatternPlan", "SlotPlan", "StateKind", "StatePlan"]


class StateKind(Enum):
    """What makes a state complete."""

    STREAM = "event"
    COUNT = "count"
    ABSENT = "absence"
    AND = "and"
    OR = "or"


class OverflowPolicy(Enum):
    """What happens when a query holds as many partial matches as it may."""

    FAIL = "fail"
    DROP_OLDEST = "drop.oldest"


@frozen
class KeyPlan:
    """``own == earlier``: one side reads the current event only, the other events of earlier states only."""

    own: TypedExpression
    earlier: TypedExpression


@frozen(kw_only=True)
class SlotPlan:
    """One place of a stream.

    Attributes:
        label: the reference, else the stream's id.
        alone: conditions that read the current event only; decided once per event.
        conditions: the others, decided per partial match; the equalities of ``keys`` are among them.
        keys: equalities by which partial matches are found without looking at the others.
        kept: positions of the attributes that are read later, ascending.
        counting: the slot holds a list of events.
        absent: the state waits for such an event not to come; the slot stays empty.
        for_ms: how long it must not come; None: until its group is complete.
    """

    label: str
    source: str
    kind: SourceKind
    attributes: tuple[Attribute, ...]
    alone: tuple[TypedExpression, ...] = ()
    conditions: tuple[TypedExpression, ...] = ()
    keys: tuple[KeyPlan, ...] = ()
    kept: tuple[int, ...] = ()
    counting: bool = False
    absent: bool = False
    for_ms: int | None = None
    span: Span | None = None


@frozen(kw_only=True)
class StatePlan:
    """One state; the last one puts out.

    Attributes:
        slots: those it waits for, in the order in which one event is offered to them.
        min, max: events of a counting state; ``max`` -1 is unbounded.
        stops: of a counting state, the slots whose event ends the count: all of the next state. Where that has one slot,
            the last one of the state behind it, too: behind ``A+, B*`` the left-hand one of ``C or D`` ends no count of A.
        again: the first state of the ``every`` group that this state ends, or None.
        expiry: the first state of the ``every`` group it stands in, or None.
        late_again: nothing but empty counts lies between the start of the group and its end, so the group starts again
            only when a later state takes the partial match.
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

    ``max_partial_matches``: how many may live at a time, None without bound; ``limited_by``: what says so, as messages show it.
    """

    is_sequence: bool
    slots: tuple[SlotPlan, ...]
    states: tuple[StatePlan, ...]
    within_ms: int | None = None
    max_partial_matches: int | None = None
    limited_by: str = ""
    overflow: OverflowPolicy = OverflowPolicy.FAIL

    @property
    def sources(self) -> tuple[str, ...]:
        """The streams it reads, each once, in the order of the slots."""
        return tuple(dict.fromkeys(slot.source for slot in self.slots))

    @property
    def waits(self) -> bool:
        """Whether timers may complete it."""
        return any(slot.for_ms is not None for slot in self.slots)
