"""Bind patterns and sequences: translate them into slots and an automaton (see ``planner/plan/patterns.py``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from siddhi._frozen import replace
from siddhi.planner.bind.catalog import Source
from siddhi.planner.bind.patterns.conditions import split_conditions
from siddhi.planner.bind.patterns.limit import PartialMatches
from siddhi.planner.bind.patterns.scope import EventScope, FilterScope, PatternScope
from siddhi.planner.bind.resolver import Resolver
from siddhi.planner.plan.expressions import TypedExpression
from siddhi.planner.plan.nodes import SourceKind
from siddhi.planner.plan.patterns import OverflowPolicy, PatternPlan, SlotPlan, StateKind, StatePlan
from siddhi.planner.problems import creation_error, located, unsupported
from siddhi.query_api.input import (
    AbsentState,
    CountState,
    EveryState,
    Filter,
    LogicalOperator,
    LogicalState,
    NextState,
    Pattern,
    Sequence,
    SingleInput,
    State,
    StreamFunction,
    StreamState,
)
from siddhi.query_api.span import Node

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["PatternInputs", "plan_pattern"]

MAX_OPERANDS = 32
"""Limit for the operands of a logical group: the engine uses one bit for each."""


@dataclass(slots=True)
class _Slot:
    """An occurrence of a stream, while the pattern is being bound."""

    node: SingleInput
    source: Source
    scope: EventScope
    state: int
    for_ms: int | None = None
    filters: tuple[TypedExpression, ...] = ()


class _Automaton:
    """Collects states and slots from left to right."""

    def __init__(self, catalog: Catalog, *, is_sequence: bool) -> None:
        self._catalog = catalog
        self._is_sequence = is_sequence
        self.slots: list[_Slot] = []
        self.states: list[StatePlan] = []

    def add(self, node: State) -> None:
        """Append the states of an element."""
        if isinstance(node, NextState):
            for element in node.states:
                self.add(element)
        elif isinstance(node, EveryState):
            self._add_every(node)
        elif isinstance(node, LogicalState):
            self._add_group(node)
        elif isinstance(node, CountState):
            slot = self._add_slot(node.state.input, node.state.reference, counting=True)
            self.states.append(StatePlan(kind=StateKind.COUNT, slots=(slot,), min=node.min, max=node.max))
        elif isinstance(node, AbsentState):
            slot = self._add_slot(node.input, None, absent=True, for_ms=node.for_ms)
            self.states.append(StatePlan(kind=StateKind.ABSENT, slots=(slot,)))
        else:
            assert isinstance(node, StreamState)
            slot = self._add_slot(node.input, node.reference)
            self.states.append(StatePlan(kind=StateKind.STREAM, slots=(slot,)))

    def _add_every(self, node: EveryState) -> None:
        first = len(self.states)
        self.add(node.state)
        for index in range(first, len(self.states)):
            self.states[index] = replace(self.states[index], expiry=first)
        group = self.states[first:]
        if all(state.kind is StateKind.COUNT and state.min == 0 for state in group):
            # The group can match no event. It starts again if it leads the pattern; elsewhere it continues once.
            late = first == 0 and not self._is_sequence
            self.states[-1] = replace(self.states[-1], again=first if first == 0 else None, late_again=late)
        else:
            self.states[-1] = replace(self.states[-1], again=first)

    def _add_group(self, node: LogicalState) -> None:
        if len(node.states) > MAX_OPERANDS:
            raise creation_error("E324", f"more than {MAX_OPERANDS} operands in one logical group", node)
        slots = []
        for operand in node.states:
            if isinstance(operand, AbsentState):
                slots.append(self._add_slot(operand.input, None, absent=True, for_ms=operand.for_ms))
            else:
                assert isinstance(operand, StreamState)
                slots.append(self._add_slot(operand.input, operand.reference))
        kind = StateKind.AND if node.operator is LogicalOperator.AND else StateKind.OR
        self.states.append(StatePlan(kind=kind, slots=tuple(slots)))

    def _add_slot(
        self,
        node: SingleInput,
        reference: str | None,
        *,
        counting: bool = False,
        absent: bool = False,
        for_ms: int | None = None,
    ) -> int:
        source = self._catalog.source(node.source, node, is_inner=node.is_inner, is_fault=node.is_fault)
        if source.kind in (SourceKind.TABLE, SourceKind.AGGREGATION):
            hint = "use 'in' in a filter to look up rows"
            raise creation_error("E313", f"{source.what} is not a stream: a pattern can't read it", node, hint)
        if reference is not None and any(slot.scope.label == reference for slot in self.slots):
            raise creation_error("E324", f"duplicate event reference '{reference}'", node, "rename one of them")
        number = len(self.slots)
        scope = EventScope(
            reference if reference is not None else source.label,
            source.attributes,
            what=source.what if reference is None else f"'{reference}' ({source.what})",
            slot=number,
            counting=counting,
            absent=absent,
        )
        self.slots.append(_Slot(node, source, scope, len(self.states), for_ms))
        return number

    def plan_stops(self) -> None:
        """Set the slots that end a count: those of the next state and, if that is one, the last slot of the state after it."""
        for index, state in enumerate(self.states):
            if state.kind is StateKind.COUNT:
                following, second = ([each.slots for each in self.states[index + 1 : index + 3]] + [(), ()])[:2]
                self.states[index] = replace(state, stops=following if len(following) > 1 else following + second[-1:])

    def plan_filters(self) -> None:
        """Resolve the filters of all slots; they can read the slots of earlier states and of their own group."""
        scopes = [slot.scope for slot in self.slots]
        for own, slot in enumerate(self.slots):
            before = [s.scope for i, s in enumerate(self.slots) if s.state <= slot.state and i != own]
            later = [scope for scope in scopes if scope is not slot.scope and scope not in before]
            resolver = Resolver(self._catalog, FilterScope(slot.scope, before, later))
            slot.filters = tuple(self._filters(slot.node, resolver))

    def _filters(self, node: SingleInput, resolver: Resolver) -> Iterable[TypedExpression]:
        for handler in node.handlers:
            location: Node = located(handler, node)
            if isinstance(handler, Filter):
                yield resolver.condition("a filter", handler.condition, location)
            elif isinstance(handler, StreamFunction):
                hint = "call the function in an earlier query"
                raise unsupported("stream functions inside patterns and sequences", location, hint)
            else:
                hint = "use the window in an earlier query"
                raise creation_error("E324", "the states of a pattern or sequence can't have windows", location, hint)


class PatternInputs:
    """The input of a query that reads a pattern or sequence."""

    def __init__(self, node: Pattern | Sequence, automaton: _Automaton) -> None:
        self._node = node
        self._automaton = automaton
        self._is_sequence = isinstance(node, Sequence)
        self._limit = PartialMatches()
        self.scope = PatternScope([slot.scope for slot in automaton.slots])

    def bounded(self, limit: PartialMatches) -> None:
        """Set the limit of partial matches."""
        self._limit = limit

    def finished(self) -> PatternPlan:
        """Return the plan."""
        slots = []
        for number, slot in enumerate(self._automaton.slots):
            conditions = split_conditions(slot.filters, number)
            slots.append(
                SlotPlan(
                    label=slot.scope.label or slot.source.label,
                    source=slot.source.label,
                    kind=slot.source.kind,
                    attributes=slot.source.attributes,
                    alone=conditions.alone,
                    conditions=conditions.others,
                    counting=slot.scope.counting,
                    absent=slot.scope.absent,
                    for_ms=slot.for_ms,
                    span=slot.node.span,
                )
            )
        return PatternPlan(
            is_sequence=self._is_sequence,
            slots=tuple(slots),
            states=tuple(self._automaton.states),
            within_ms=self._node.within_ms,
            max_partial_matches=self._limit.most,
            limited_by=self._limit.limited_by,
            overflow=OverflowPolicy.FAIL if self._limit.most is None else self._limit.overflow,
        )


def plan_pattern(catalog: Catalog, node: Pattern | Sequence) -> PatternInputs:
    """Bind the states of a pattern or sequence.

    Raises:
        SiddhiAppError: a stream is unknown, a filter is invalid, or the pattern could match without any event.
    """
    automaton = _Automaton(catalog, is_sequence=isinstance(node, Sequence))
    automaton.add(node.state)
    if all(state.kind is StateKind.COUNT and state.min == 0 for state in automaton.states):
        raise creation_error(
            "E324", "the pattern can match without any event", node, "make at least one state require an event"
        )
    automaton.plan_stops()
    automaton.plan_filters()
    return PatternInputs(node, automaton)
