"""Scopes of names in patterns and sequences."""

from __future__ import annotations

from collections.abc import Sequence

from siddhi.planner.bind.scope import MultiScope, SourceScope, written_source
from siddhi.planner.plan.expressions import Attr
from siddhi.planner.problems import ambiguous_attribute, creation_error, out_of_scope, unknown_attribute
from siddhi.query_api.definition import Attribute
from siddhi.query_api.expression import EventIndex, Variable
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

__all__ = ["EventScope", "FilterScope", "PatternScope"]


class EventScope(SourceScope):
    """The events of one slot. An attribute of a counting state without an index is the list of all values."""

    def __init__(
        self, label: str, attributes: Sequence[Attribute], *, what: str, slot: int, counting: bool, absent: bool
    ) -> None:
        super().__init__(label, attributes, what=what, slot=slot)
        self.counting = counting
        self.absent = absent

    def at(self, name: str, index: EventIndex | None = None) -> Attr | None:
        found = super().at(name, index)
        if found is None or not self.counting or index is not None:
            return found
        return Attr(AttributeType.OBJECT, found.slot, found.position, name)

    def every_attribute(self) -> tuple[Attr, ...]:
        found = (self.at(attribute.name) for attribute in self.attributes)
        return tuple(attr for attr in found if attr is not None)


class PatternScope(MultiScope):
    """The scope of the selection: the events of all states that are not absent."""

    def __init__(self, events: Sequence[EventScope]) -> None:
        super().__init__([event for event in events if not event.absent])


class FilterScope(SourceScope):
    """The scope of a filter: the current event by unqualified names, and the events of earlier states.

    Args:
        own: the slot of the filter.
        earlier: slots of earlier states and of the same group.
        later: the other slots, for messages.
    """

    def __init__(self, own: EventScope, earlier: Sequence[EventScope], later: Sequence[EventScope]) -> None:
        super().__init__(own.label, own.attributes, what=own.what, slot=own.slot)
        self._own = own
        self._earlier = MultiScope([event for event in earlier if not event.absent])
        self._later = tuple(later)

    def attribute(self, variable: Variable) -> Attr:
        label = written_source(variable)
        if label == self.label:
            found = self.at(variable.name, variable.index)
            if found is None:
                raise unknown_attribute(variable.name, self.what, self.names(), variable)
            return found
        if label is None:
            return self.at(variable.name) or self._unqualified(variable)
        self._refuse_later(label, variable)
        if all(source.label != label for source in self._earlier.sources):
            known = [self.label or "", *(source.label or "" for source in self._earlier.sources)]
            raise out_of_scope(label, known, variable)
        return self._earlier.attribute(variable)

    def _unqualified(self, variable: Variable) -> Attr:
        """Return an attribute that the current event lacks; exactly one earlier event must have it."""
        holders = [source for source in self._earlier.sources if source.at(variable.name) is not None]
        if not holders:
            raise unknown_attribute(variable.name, self.what, self.names(), variable)
        if len(holders) > 1:
            raise ambiguous_attribute(variable.name, [source.label or "" for source in holders], variable)
        found = holders[0].at(variable.name)
        assert found is not None
        return found

    def _refuse_later(self, label: str, at: Node) -> None:
        if all(source.label != label for source in self._earlier.sources) and any(
            event.label == label for event in self._later
        ):
            raise creation_error(
                "E202",
                f"'{label}' is a later state: its event has not arrived when this filter is evaluated",
                at,
                f"move the condition to the filter of '{label}'",
            )

    def event_slot(self, reference: str) -> int | None:
        if reference == self.label:
            return self.slot
        return self._earlier.event_slot(reference)

    @property
    def has_event_references(self) -> bool:
        return True
