"""Prune columns: keep only the attributes of windows and pattern events that later operators read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from siddhi.planner.plan.expressions import Attr, TypedExpression
from siddhi.planner.plan.nodes import FilterPlan, HandlerPlan, JoinPlan, Plan, QueryPlan, SingleInputPlan
from siddhi.planner.plan.patterns import PatternPlan, SlotPlan
from siddhi.planner.plan.rewrite import map_queries, replaced
from siddhi.planner.plan.walk import read_positions, walk

__all__ = ["prune_columns"]


def prune_columns(plan: Plan) -> Plan:
    """Set :attr:`SingleInputPlan.window_layout` and :attr:`SlotPlan.kept`."""
    return map_queries(plan, lambda query, _: replaced(query, input=_pruned(query)))


def _pruned(query: QueryPlan) -> SingleInputPlan | JoinPlan | PatternPlan:
    input_, readers = query.input, query.selector.expressions()
    if isinstance(input_, SingleInputPlan):
        return replaced(input_, window_layout=_window_layout(input_, 0, readers))
    if isinstance(input_, PatternPlan):
        slots = [replaced(slot, kept=_kept(input_.slots, number, readers)) for number, slot in enumerate(input_.slots)]
        return replaced(input_, slots=tuple(slots))
    if input_.on is not None:
        readers.append(input_.on)
    if input_.reading is not None:
        readers += [*input_.reading.within, input_.reading.per]
    return replaced(
        input_,
        left=replaced(input_.left, window_layout=_window_layout(input_.left, 0, readers)),
        right=replaced(input_.right, window_layout=_window_layout(input_.right, 1, readers)),
    )


def _window_layout(source: SingleInputPlan, slot: int, readers: Iterable[TypedExpression]) -> tuple[int, ...]:
    """Return the positions that a window keeps (without a window: that the readers need), ascending.

    Args:
        source: the source; its handlers read its events in slot 0.
        slot: the slot of the events of the source in the readers.
        readers: the expressions after the handlers (selection, join condition).
    """
    width = len(source.attributes) - sum(len(getattr(handler, "appended", ())) for handler in source.after)
    live = read_positions(readers, slot)
    for handler in source.after:
        live |= _read_by(handler, width)
    window = source.window
    if window is not None:
        if window.window.reads_event:
            return tuple(range(width))
        live |= read_positions(window.arguments, 0)
    return tuple(sorted(position for position in live if position < width))


def _read_by(handler: HandlerPlan, width: int) -> set[int]:
    if isinstance(handler, FilterPlan):
        return read_positions((handler.condition,), 0)
    if handler.function.reads_event:
        return set(range(width))
    return read_positions(handler.arguments, 0)


def _kept(slots: Sequence[SlotPlan], number: int, readers: Iterable[TypedExpression]) -> tuple[int, ...]:
    """Return the positions that the events of a pattern slot keep, ascending."""
    kept = read_positions(readers, number)
    for other, slot in enumerate(slots):
        if other != number:
            kept |= read_positions(slot.conditions, number)
            continue
        # A filter reads its own event before the event is stored, except those that a counting state has collected.
        kept |= {
            node.position
            for condition in slot.conditions
            for node in walk(condition)
            if isinstance(node, Attr) and node.slot == number and node.index is not None
        }
    return tuple(sorted(kept))
