"""Which attributes are still read behind a point: what a window keeps, what a selection needs."""

from __future__ import annotations

from collections.abc import Iterable

from siddhi.planner.bind.handlers import Handlers
from siddhi.planner.plan.expressions import TypedExpression
from siddhi.planner.plan.nodes import FilterPlan, HandlerPlan, SelectorPlan
from siddhi.planner.plan.walk import read_positions

__all__ = ["selection_expressions", "window_layout"]


def selection_expressions(selector: SelectorPlan) -> list[TypedExpression]:
    """Every expression of a selection that may read input attributes."""
    found: list[TypedExpression] = [column.expression for column in selector.columns]
    found += selector.group_by
    found += [order.key for order in selector.order_by]
    if selector.having is not None:
        found.append(selector.having)
    return found


def window_layout(handlers: Handlers, slot: int, width: int, readers: Iterable[TypedExpression]) -> tuple[int, ...]:
    """Positions a window keeps (without window: that the readers need), ascending.

    Args:
        handlers: of the source; they see its events in slot 0.
        slot: of the source's events in the readers.
        width: number of attributes of the source and the functions before the window.
        readers: expressions behind the handlers (selection, join condition).
    """
    live = read_positions(readers, slot)
    for handler in handlers.after:
        live |= _read_by(handler, width)
    window = handlers.window
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
