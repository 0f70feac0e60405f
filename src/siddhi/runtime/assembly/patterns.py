"""Pattern or sequence plan → automaton, selector and output."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from siddhi._core.expression.executor import Executor
from siddhi._core.pattern.automaton import Matches, Operand, Pattern, PatternEntry, PatternIndex, State, make_collected
from siddhi._core.query.entry import RecordCopier
from siddhi._core.query.output import QueryOutput
from siddhi._core.record.event import EventPool
from siddhi._core.runtime.operator import Processor
from siddhi._core.stream.junction import StreamJunction
from siddhi._frozen import frozen, replace
from siddhi.planner.plan.expressions import Attr, TypedExpression, Widen
from siddhi.planner.plan.nodes import QueryPlan, SelectionOperator, SelectorPlan
from siddhi.planner.plan.patterns import PatternPlan, SlotPlan, StateKind
from siddhi.runtime.assembly.chain import ALL_BITS, MAX_BITS, filing_entries
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.indexed_events import IndexedReferences
from siddhi.runtime.assembly.limits import build_key_limiter, match_limit
from siddhi.runtime.assembly.query import BuiltQuery, Site
from siddhi.runtime.assembly.selector import build_projection, build_selector
from siddhi.runtime.assembly.types import layout_of
from siddhi.runtime.assembly.unsupported import not_supported

__all__ = ["build_pattern_query"]

_KINDS = {StateKind.STREAM: 0, StateKind.COUNT: 1, StateKind.ABSENT: 2, StateKind.AND: 3, StateKind.OR: 4}


@frozen
class CollectedCells(Cells):
    """Cells of a counting slot: an attribute is the list of its values."""

    def variable(self, position: int) -> Executor:
        cell = position if self.cell_of is None else self.cell_of[position]
        assert isinstance(self.source, int)
        return make_collected(self.layout, cell, self.source)


class _Slot:
    """Storage of the events of one slot.

    Attributes:
        plan: the slot.
        stream: cells of the stream's records.
        pool: pool of the stored records.
        kept: cells of the stored records.
        copier: copies records of the stream into stored records.
    """

    def __init__(self, number: int, plan: SlotPlan, source: StreamJunction) -> None:
        self.plan = plan
        self.stream = Cells(source.layout)
        layout = layout_of([plan.attributes[position] for position in plan.kept])
        self.pool = EventPool(layout)
        cell_of = {position: cell for cell, position in enumerate(plan.kept)}
        self.kept = CollectedCells(layout, cell_of, number) if plan.counting else Cells(layout, cell_of, number)
        self.copier = RecordCopier(source.layout, self.pool, plan.kept)


def build_pattern_query(
    plan: QueryPlan, source_of: Callable[[str], StreamJunction], output: QueryOutput, site: Site
) -> tuple[list[tuple[str, PatternEntry]], BuiltQuery]:
    """Build a query over a pattern or sequence.

    Args:
        plan: the query.
        source_of: returns the junction of a stream.
        output: output of the query.
        site: build context of the query.

    Returns:
        The receivers to subscribe, each with its stream, in the order of the pattern; and the query.

    Raises:
        SiddhiAppCreationError: the pattern needs a feature that this engine does not support.
    """
    input_ = plan.input
    if not isinstance(input_, PatternPlan):
        raise TypeError("not a query over a pattern or sequence")
    built = BuiltQuery(plan.name, output)
    slots = [_Slot(number, slot, source_of(slot.source)) for number, slot in enumerate(input_.slots)]
    references = IndexedReferences(input_.slots)
    selection = _select(
        replace(plan, selector=references.selector(plan.selector)), slots, references, output, site, built
    )
    pattern = Pattern(
        site.context,
        Matches(tuple(slot.pool for slot in slots), [slot.counting for slot in input_.slots]),
        _build_states(input_, slots, site),
        _inlets(input_),
        references.view(),
        input_.is_sequence,
        input_.states[0].expiry is not None,
        -1 if input_.within_ms is None else input_.within_ms,
        site.partitioned,
        match_limit(site.context.name, plan.name, input_),
        selection,
    )
    built.stateful["pattern"] = pattern
    if not site.partitioned:
        built.make_state(0)
        site.starting.append(pattern)
    entries = [
        (
            source,
            PatternEntry(
                pattern,
                number,
                source_of(source),
                _read_mask(input_, source),
                None if input_.filings is None else filing_entries(input_.filings[number]),
                input_.sleeps and input_.filings is not None and input_.filings[number] is not None,
            ),
        )
        for number, source in enumerate(input_.sources)
    ]
    return entries, built


def _read_mask(plan: PatternPlan, source: str) -> int:
    """Return the bit set of attributes read from a stream; all bits if there are more than 64."""
    read: set[int] = set()
    for slot in plan.slots:
        if slot.source != source:
            continue
        if len(slot.attributes) > MAX_BITS:
            return ALL_BITS
        read |= set(slot.reads)
    return sum(1 << position for position in read)


def _select(
    plan: QueryPlan,
    slots: Sequence[_Slot],
    references: IndexedReferences,
    output: QueryOutput,
    site: Site,
    built: BuiltQuery,
) -> Processor:
    cells: dict[int, Cells] = {number: slot.kept for number, slot in enumerate(slots)}
    cells |= references.cells(slots)
    _check_keys(plan.selector, slots, plan)
    if plan.selection is SelectionOperator.PROJECTION:
        return build_projection(plan, cells, output, site, None)
    selector = build_selector(plan, cells, output, site, removes=False)
    built.stateful["selector"] = selector
    built.key_limiter = build_key_limiter(plan, selector, site, marks=False)
    return selector if built.key_limiter is None else built.key_limiter


def _check_keys(selector: SelectorPlan, slots: Sequence[_Slot], plan: QueryPlan) -> None:
    """Refuse lists as keys: they have no order and no hash."""
    keys = [*selector.group_by, *(order.key for order in selector.order_by)]
    if any(0 <= key.slot < len(slots) and slots[key.slot].plan.counting for key in keys):
        raise not_supported(
            "grouping or ordering by the list of a counting state is", plan.span, "name one event: e1[0].x, e1[last].x"
        )


def _build_states(plan: PatternPlan, slots: Sequence[_Slot], site: Site) -> tuple[State, ...]:
    states = []
    for number, state in enumerate(plan.states):
        states.append(
            State(
                _KINDS[state.kind],
                tuple(_build_operand(slot, plan, slots, site) for slot in state.slots),
                number + 1 if number + 1 < len(plan.states) else -1,
                -1 if state.again is None else state.again,
                state.min,
                state.max,
                -1 if state.expiry is None else state.expiry,
                state.late_again,
                state.stops,
            )
        )
    return tuple(states)


def _build_operand(own: int, plan: PatternPlan, slots: Sequence[_Slot], site: Site) -> Operand:
    slot = slots[own]
    references = IndexedReferences(plan.slots, own)
    conditions = [references.rewritten(condition) for condition in slot.plan.conditions]
    cells: dict[int, Cells] = {number: other.kept for number, other in enumerate(slots)}
    cells |= references.cells(slots)
    cells[own] = slot.stream
    builder = site.builder(cells)

    def build(expressions: Sequence[TypedExpression]) -> tuple[Executor, ...]:
        return _without_aggregates(builder, expressions, slot.plan)

    index = None
    if slot.plan.keys:
        index = PatternIndex(
            build([key.own for key in slot.plan.keys]),
            build([key.earlier for key in slot.plan.keys]),
            site.partitioned,
            all(_is_attribute(side) for key in slot.plan.keys for side in (key.own, key.earlier)),
        )
    return Operand(
        own,
        build(slot.plan.alone),
        build(conditions),
        references.view(),
        None if slot.plan.absent else slot.copier,
        index,
        slot.plan.absent,
        -1 if slot.plan.for_ms is None else slot.plan.for_ms,
        any(own in state.stops for state in plan.states),
    )


def _is_attribute(expression: TypedExpression) -> bool:
    return isinstance(expression.operand if isinstance(expression, Widen) else expression, Attr)


def _without_aggregates(
    builder: ExpressionBuilder, expressions: Sequence[TypedExpression], slot: SlotPlan
) -> tuple[Executor, ...]:
    executors = builder.build_all(expressions)
    if builder.aggregators:
        raise not_supported("aggregators in the filters of patterns and sequences are", slot.span)
    return executors


def _inlets(plan: PatternPlan) -> list[list[tuple[int, int]]]:
    """Return for each stream the operands that test its events: last state first, first operand of a group first."""
    return [
        [
            (number, operand)
            for number in range(len(plan.states) - 1, -1, -1)
            for operand, slot in enumerate(plan.states[number].slots)
            if plan.slots[slot].source == source
        ]
        for source in plan.sources
    ]
