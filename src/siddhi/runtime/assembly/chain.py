"""The steps of one source of a query, in order, and what they are built from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.expression.filter import FilterProcessor
from siddhi._core.python.operators import PythonStreamProcessor
from siddhi._core.record.event import EventPool
from siddhi._core.runtime.operator import Processor
from siddhi.planner.plan.expressions import Call, ScriptCall, TypedExpression
from siddhi.planner.plan.nodes import FilterPlan, HandlerPlan, SingleInputPlan
from siddhi.planner.plan.walk import read_positions, walk
from siddhi.runtime.assembly.record_layout import RecordLayout
from siddhi.runtime.assembly.stream_functions import build_stream_function

if TYPE_CHECKING:
    from siddhi.runtime.assembly.query import Site

__all__ = ["Chain", "add_handlers", "attributes_read", "leading_filters", "own_pool", "reads_time"]

_ALL = 2**64 - 1


class Chain:
    """Steps in order; each new one is linked behind the last."""

    def __init__(self) -> None:
        self.first: Processor | None = None
        self._last: Processor | None = None

    def add(self, step: Processor) -> None:
        """Link a step behind the last."""
        if self._last is None:
            self.first = step
        else:
            self._last.next = step
        self._last = step


def leading_filters(handlers: Sequence[HandlerPlan]) -> tuple[list[FilterPlan], list[HandlerPlan]]:
    """The filters that can be decided on the stream's own record, and the rest."""
    filters: list[FilterPlan] = []
    for handler in handlers:
        if not isinstance(handler, FilterPlan):
            break
        filters.append(handler)
    return filters, list(handlers[len(filters) :])


def add_handlers(
    handlers: Sequence[HandlerPlan], first_appended: int, record_layout: RecordLayout, chain: Chain, site: Site
) -> tuple[list[Aggregator], list[Processor]]:
    """Add filters and stream functions to the chain; returns the aggregators in them, and the steps that hold state."""
    stateful: list[Processor] = []
    builder = site.builder({0: record_layout.cells})
    for handler in handlers:
        if isinstance(handler, FilterPlan):
            chain.add(FilterProcessor(site.context, builder.build(handler.condition)))
            continue
        arguments = builder.build_all(handler.arguments)
        step = build_stream_function(handler, site.context, own_pool(record_layout), arguments, first_appended)
        chain.add(step)
        if isinstance(step, PythonStreamProcessor):
            stateful.append(step)
        first_appended += len(handler.appended)
    return list(builder.aggregators), stateful


def own_pool(record_layout: RecordLayout) -> EventPool:
    """The pool of a stage's records, which the query may keep and change."""
    if record_layout.pool is None:
        raise TypeError("the stream's own record is not the query's to keep or change")
    return record_layout.pool


def attributes_read(
    input_: SingleInputPlan,
    filters: Sequence[FilterPlan],
    readers: Sequence[TypedExpression],
    slot: int = 0,
    *,
    whole: bool,
) -> int:
    """Which attributes of the stream are read, as bits; all of them where whole events are copied.

    Args:
        filters: those decided on the stream's own record; they read slot 0.
        readers: what else reads the source's events.
        slot: where the readers find them.
    """
    if whole or input_.source_width > 64 or any(not isinstance(handler, FilterPlan) for handler in input_.before):
        return _ALL
    read = read_positions([handler.condition for handler in filters], 0) | set(input_.window_layout)
    if input_.window is None:
        read |= read_positions(readers, slot)
    return sum(1 << position for position in read)


def reads_time(expression: TypedExpression) -> bool:
    """Whether an expression may read an event's timestamp."""
    return any(
        isinstance(node, ScriptCall) or (isinstance(node, Call) and node.function.native == "eventTimestamp")
        for node in walk(expression)
    )
