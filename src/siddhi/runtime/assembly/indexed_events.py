"""Indexed references to collected events (``e1[0]``, ``e1[last]``): each gets an event slot of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from siddhi._core.pattern.automaton import PatternView
from siddhi._frozen import fields, replace
from siddhi.planner.plan.access import TableAccess
from siddhi.planner.plan.expressions import Attr, EventReference, IsNullEvent, TypedExpression
from siddhi.planner.plan.nodes import SelectorPlan
from siddhi.planner.plan.patterns import SlotPlan
from siddhi.query_api.expression import EventIndex
from siddhi.runtime.assembly.expressions import Cells

__all__ = ["IndexedReferences"]

_Expression = TypeVar("_Expression", bound=TypedExpression)


class _HasCells(Protocol):
    @property
    def kept(self) -> Cells:
        """The cells of the records that the slot stores."""


class IndexedReferences:
    """The indexed references of one clause, collected while its expressions are rewritten.

    Args:
        slots: the slots of the pattern.
        own: the slot whose filter this is; None: the selection.
    """

    def __init__(self, slots: Sequence[SlotPlan], own: int | None = None) -> None:
        self._slots = slots
        self._own = own
        self._numbers: dict[tuple[int, EventIndex], int] = {}

    def rewritten(self, expression: _Expression) -> _Expression:
        """Return the expression with slots in place of indexed references."""
        if isinstance(expression, (Attr, IsNullEvent)):
            if expression.index is None:
                return expression
            slot = self._slot(expression.slot, expression.index)
            return replace(expression, slot=slot, index=None)
        if isinstance(expression, EventReference):
            if expression.slot == self._own or not self._slots[expression.slot].counting:
                return expression
            return replace(expression, slot=self._slot(expression.slot, EventIndex(0)))
        changed: dict[str, Any] = {}
        for field in fields(expression):
            value = getattr(expression, field.name)
            if isinstance(value, TableAccess):
                changed[field.name] = value.mapped(self.rewritten)
            elif isinstance(value, TypedExpression):
                changed[field.name] = self.rewritten(value)
            elif isinstance(value, tuple) and any(isinstance(item, TypedExpression) for item in value):
                changed[field.name] = tuple(self.rewritten(item) for item in value)
        return replace(expression, **changed) if changed else expression

    def selector(self, selector: SelectorPlan) -> SelectorPlan:
        """Rewrite every expression of a selection."""
        return replace(
            selector,
            columns=tuple(replace(c, expression=self.rewritten(c.expression)) for c in selector.columns),
            group_by=tuple(self.rewritten(key) for key in selector.group_by),
            having=None if selector.having is None else self.rewritten(selector.having),
            order_by=tuple(replace(order, key=self.rewritten(order.key)) for order in selector.order_by),
        )

    def cells(self, slots: Sequence[_HasCells]) -> dict[int, Cells]:
        """Return the cells of the referenced events by slot."""
        return {
            number: Cells(slots[slot].kept.layout, slots[slot].kept.cell_of, number)
            for (slot, _index), number in self._numbers.items()
        }

    def view(self) -> PatternView:
        """Make the view that fills these slots."""
        references = [
            (slot, index.offset, index.from_last, self._slots[slot].counting) for slot, index in self._numbers
        ]
        own = self._own if self._own is not None and self._slots[self._own].counting else -1
        return PatternView(len(self._slots), references, own)

    def _slot(self, slot: int, index: EventIndex) -> int:
        if slot == self._own and not self._slots[slot].counting and index.offset == 0 and not index.from_last:
            return slot  # the current event
        return self._numbers.setdefault((slot, index), len(self._slots) + len(self._numbers))
