"""Prune columns: find the attributes of each source that are read, and those that windows and pattern events keep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from siddhi.planner.plan.aggregations import AggregationPlan
from siddhi.planner.plan.expressions import Attr, TypedExpression
from siddhi.planner.plan.nodes import FilterPlan, HandlerPlan, JoinPlan, Plan, QueryPlan, SingleInputPlan
from siddhi.planner.plan.patterns import PatternPlan, SlotPlan
from siddhi.planner.plan.rewrite import map_queries, replaced
from siddhi.planner.plan.walk import read_positions, walk

__all__ = ["prune_columns"]


def prune_columns(plan: Plan) -> Plan:
    """Set ``reads`` of every input and slot, :attr:`SingleInputPlan.window_layout` and :attr:`SlotPlan.kept`."""
    plan = map_queries(plan, lambda query, _: replaced(query, input=_pruned(query)))
    aggregations = {id_: replaced(found, input=_aggregation_input(found)) for id_, found in plan.aggregations.items()}
    return replaced(plan, aggregations=aggregations)


def _aggregation_input(plan: AggregationPlan) -> SingleInputPlan:
    readers: list[TypedExpression] = [base.argument for base in plan.base_values if base.argument is not None]
    readers += plan.group_by if plan.by is None else (*plan.group_by, plan.by)
    return _with_reads(plan.input, 0, readers)


def _pruned(query: QueryPlan) -> SingleInputPlan | JoinPlan | PatternPlan:
    input_, readers = query.input, query.selector.expressions()
    if isinstance(input_, SingleInputPlan):
        return _pruned_source(input_, 0, readers)
    if isinstance(input_, PatternPlan):
        return replaced(
            input_, slots=tuple([_pruned_slot(input_.slots, number, readers) for number in range(len(input_.slots))])
        )
    if input_.on is not None:
        readers.append(input_.on)
    if input_.reading is not None:
        readers += [*input_.reading.within, input_.reading.per]
    return replaced(
        input_,
        left=_pruned_source(input_.left, 0, readers),
        right=_pruned_source(input_.right, 1, readers),
    )


def _pruned_source(source: SingleInputPlan, slot: int, readers: Sequence[TypedExpression]) -> SingleInputPlan:
    return _with_reads(replaced(source, window_layout=_window_layout(source, slot, readers)), slot, readers)


def _with_reads(source: SingleInputPlan, slot: int, readers: Iterable[TypedExpression]) -> SingleInputPlan:
    """Return the source with the positions that its filters, its window and, without a window, the readers read."""
    reads: tuple[int, ...] | None = None  # a stream function gets whole events
    filters = [handler.condition for handler in source.before if isinstance(handler, FilterPlan)]
    if len(filters) == len(source.before):
        live = read_positions(filters, 0) | set(source.window_layout)
        if source.window is None:
            live |= read_positions(readers, slot)
        reads = tuple(sorted(live))
    return source if reads == source.reads else replaced(source, reads=reads)


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


def _pruned_slot(slots: Sequence[SlotPlan], number: int, readers: Iterable[TypedExpression]) -> SlotPlan:
    slot = slots[number]
    kept = _kept(slots, number, readers)
    reads = read_positions((*slot.alone, *slot.conditions), number) | set(kept)
    return replaced(slot, kept=kept, reads=tuple(sorted(reads)))


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
