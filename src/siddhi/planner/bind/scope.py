"""Scopes: resolve names to the attributes of one source, several sources, the output, or a table row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from siddhi.planner.plan.expressions import OUTPUT_SLOT, TABLE_SLOT, Attr
from siddhi.planner.problems import ambiguous_attribute, out_of_scope, unknown_attribute
from siddhi.query_api.definition import Attribute
from siddhi.query_api.expression import EventIndex, FunctionCall, Variable

if TYPE_CHECKING:
    from siddhi.planner.bind.resolver import Resolver
    from siddhi.planner.plan.expressions import TypedExpression

__all__ = ["MultiScope", "OutputScope", "RowScope", "Scope", "SourceScope", "written_source"]


def written_source(variable: Variable) -> str | None:
    """Return the qualifier as written: ``S``, ``#I`` or ``!S``; None without one."""
    if variable.source is None:
        return None
    return ("#" if variable.is_inner else "!" if variable.is_fault else "") + variable.source


class Scope(ABC):
    """Base of the scopes: resolves attribute references to positions."""

    @abstractmethod
    def attribute(self, variable: Variable) -> Attr:
        """Return the attribute that a reference names.

        Raises:
            AttributeNotExistError, SiddhiAppValidationError, SiddhiAppCreationError: there is none, or several.
        """

    @abstractmethod
    def find(self, name: str) -> Attr | None:
        """Return the attribute of this unqualified name, or None."""

    @abstractmethod
    def every_attribute(self) -> tuple[Attr, ...]:
        """Return all attributes of the inputs, in definition order: the meaning of ``*``."""

    @abstractmethod
    def event_slot(self, reference: str) -> int | None:
        """Return the slot of the event with this name, or None."""

    def call(self, resolve: Resolver, node: FunctionCall) -> TypedExpression | None:  # noqa: ARG002 - of other scopes
        """Return the call of a function that exists in this scope only, or None."""
        return None

    @property
    def has_event_references(self) -> bool:
        """Whether arguments can refer to events (joins and patterns)."""
        return False


class SourceScope(Scope):
    """One source.

    Args:
        label: the qualifier of its attributes: id, alias or event reference; None for a source without a name.
        attributes: the attributes in order; stream functions :meth:`extend` them.
        what: the name of the source in messages.
        slot: the slot of its events.
        also: a second qualifier of its attributes.
    """

    def __init__(
        self,
        label: str | None,
        attributes: Iterable[Attribute],
        *,
        what: str,
        slot: int = 0,
        also: str | None = None,
    ) -> None:
        self.label = label
        self.also = also
        self.what = what
        self.slot = slot
        self.attributes: list[Attribute] = list(attributes)
        self._positions = {attribute.name: position for position, attribute in enumerate(self.attributes)}

    def extend(self, attributes: Iterable[Attribute]) -> None:
        """Append the attributes of a stream function."""
        for attribute in attributes:
            self._positions[attribute.name] = len(self.attributes)
            self.attributes.append(attribute)

    def names(self) -> list[str]:
        """Return the attribute names, in order."""
        return [attribute.name for attribute in self.attributes]

    def at(self, name: str, index: EventIndex | None = None) -> Attr | None:
        """Return the attribute of this name, or None."""
        position = self._positions.get(name)
        if position is None:
            return None
        return Attr(self.attributes[position].type, self.slot, position, name, index)

    def find(self, name: str) -> Attr | None:
        return self.at(name)

    def attribute(self, variable: Variable) -> Attr:
        source = written_source(variable)
        if source is not None and source not in (self.label, self.also):
            raise out_of_scope(source, [self.label] if self.label else [], variable)
        found = self.at(variable.name)
        if found is None:
            raise unknown_attribute(variable.name, self.what, self.names(), variable)
        return found

    def every_attribute(self) -> tuple[Attr, ...]:
        return tuple(
            Attr(attribute.type, self.slot, position, attribute.name)
            for position, attribute in enumerate(self.attributes)
        )

    def event_slot(self, reference: str) -> int | None:
        return self.slot if reference in (self.label, self.also) else None


class MultiScope(Scope):
    """Several sources (join sides, pattern states). An unqualified name must belong to exactly one of them."""

    def __init__(self, sources: Sequence[SourceScope]) -> None:
        self.sources = tuple(sources)

    def find(self, name: str) -> Attr | None:
        found = [attr for source in self.sources if (attr := source.at(name)) is not None]
        return found[0] if len(found) == 1 else None

    def attribute(self, variable: Variable) -> Attr:
        label = written_source(variable)
        if label is not None:
            # If both sides of a join have the same id and no alias, the id refers to the left side.
            source = next((source for source in self.sources if source.label == label), None)
            if source is None:
                raise out_of_scope(label, [source.label or "" for source in self.sources], variable)
            found = source.at(variable.name, variable.index)
            if found is None:
                raise unknown_attribute(variable.name, source.what, source.names(), variable)
            return found
        holders = [source for source in self.sources if source.at(variable.name) is not None]
        if not holders:
            names = [name for source in self.sources for name in source.names()]
            where = " and ".join(source.what for source in self.sources)
            raise unknown_attribute(variable.name, where, names, variable)
        if len(holders) > 1:
            raise ambiguous_attribute(variable.name, [source.label or "" for source in holders], variable)
        found = holders[0].at(variable.name)
        assert found is not None
        return found

    def every_attribute(self) -> tuple[Attr, ...]:
        return tuple(attr for source in self.sources for attr in source.every_attribute())

    def event_slot(self, reference: str) -> int | None:
        return next((source.slot for source in self.sources if source.label == reference), None)

    @property
    def has_event_references(self) -> bool:
        return True


class OutputScope(Scope):
    """The scope after the selection: output attributes and, with several inputs, their attributes.

    Args:
        columns: names and types of the output, in order.
        label: the id of the output, which can qualify its attributes.
        inputs: the scope of names that the output does not have, or None.
        functions: the scope whose functions can be called, or None.
    """

    def __init__(
        self,
        columns: Iterable[Attribute],
        *,
        label: str | None,
        inputs: Scope | None = None,
        functions: Scope | None = None,
    ) -> None:
        self._output = SourceScope(label, columns, what="the output of the query", slot=OUTPUT_SLOT)
        self._inputs = inputs
        self._functions = functions

    def find(self, name: str) -> Attr | None:
        found = self._output.at(name)
        return self._inputs.find(name) if found is None and self._inputs is not None else found

    def attribute(self, variable: Variable) -> Attr:
        source = written_source(variable)
        if source is None or source == self._output.label:
            found = self._output.at(variable.name)
            if found is not None:
                return found
        if self._inputs is not None:
            return self._inputs.attribute(variable)
        return self._output.attribute(variable)

    def every_attribute(self) -> tuple[Attr, ...]:
        return self._output.every_attribute()

    def event_slot(self, reference: str) -> int | None:
        return None if self._inputs is None else self._inputs.event_slot(reference)

    def call(self, resolve: Resolver, node: FunctionCall) -> TypedExpression | None:
        return None if self._functions is None else self._functions.call(resolve, node)

    @property
    def has_event_references(self) -> bool:
        return self._inputs is not None and self._inputs.has_event_references


class RowScope(Scope):
    """The scope of a condition over a table: names qualified with its id refer to the row, all others to the event.

    Args:
        row_names: the qualifiers of the attributes of the row (id, alias).
        events: the scope of the event, or None without an event.
        unqualified: unqualified names that the event does not have refer to the row.
    """

    def __init__(
        self,
        row_names: Sequence[str],
        attributes: Iterable[Attribute],
        *,
        what: str,
        events: Scope | None,
        unqualified: bool = False,
        slot: int = TABLE_SLOT,
    ) -> None:
        self._names = tuple(row_names)
        self._row = SourceScope(row_names[0], attributes, what=what, slot=slot)
        self._events = events
        self._unqualified = unqualified

    def find(self, name: str) -> Attr | None:
        found = None if self._events is None else self._events.find(name)
        return self._row.at(name) if found is None and self._unqualified else found

    def attribute(self, variable: Variable) -> Attr:
        source = written_source(variable)
        if source in self._names:
            found = self._row.at(variable.name)
            if found is None:
                raise unknown_attribute(variable.name, self._row.what, self._row.names(), variable)
            return found
        if source is None:
            if self._unqualified and (self._events is None or self._events.find(variable.name) is None):
                row_attribute = self._row.at(variable.name)
                if row_attribute is not None or self._events is None:
                    return row_attribute or self._row.attribute(variable)
            if self._events is not None and self._events.find(variable.name) is None and self._row.at(variable.name):
                self._raise_unqualified(variable)
        if self._events is None:
            raise out_of_scope(source or "", self._names, variable)
        return self._events.attribute(variable)

    @property
    def events(self) -> Scope | None:
        """The scope of the event, or None."""
        return self._events

    def _raise_unqualified(self, variable: Variable) -> None:
        """Raise the error of the event's scope, with a hint that names the attribute of the row."""
        assert self._events is not None
        from siddhi.errors import AttributeNotExistError

        try:
            self._events.attribute(variable)
        except AttributeNotExistError as error:
            error.hint = f"{self._row.what} has it: write {self._names[0]}.{variable.name}"
            raise

    def every_attribute(self) -> tuple[Attr, ...]:
        return () if self._events is None else self._events.every_attribute()

    def event_slot(self, reference: str) -> int | None:
        return None if self._events is None else self._events.event_slot(reference)

    @property
    def has_event_references(self) -> bool:
        return self._events is not None and self._events.has_event_references
