"""The chain of operators behind one source of a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.python.operators import PythonStreamProcessor
from siddhi._core.query.entry import FilterProcessor
from siddhi._core.record.event import EventPool
from siddhi._core.runtime.operator import Processor
from siddhi.planner.plan.filing import Filing
from siddhi.planner.plan.nodes import FilterPlan, HandlerPlan, SingleInputPlan
from siddhi.runtime.assembly.record_layout import RecordLayout
from siddhi.runtime.assembly.stream_functions import build_stream_function
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.runtime.assembly.query import Site

__all__ = [
    "ALL_BITS",
    "MAX_BITS",
    "Chain",
    "add_handlers",
    "filing_entries",
    "leading_filters",
    "own_pool",
    "read_mask",
]

MAX_BITS = 64
ALL_BITS = (1 << MAX_BITS) - 1


class Chain:
    """Linked operators."""

    def __init__(self) -> None:
        self.first: Processor | None = None
        self._last: Processor | None = None

    def add(self, step: Processor) -> None:
        """Append an operator."""
        if self._last is None:
            self.first = step
        else:
            self._last.next = step
        self._last = step


def leading_filters(handlers: Sequence[HandlerPlan]) -> tuple[list[FilterPlan], list[HandlerPlan]]:
    """Split handlers into the leading filters, which read the stream's own record, and the others."""
    filters: list[FilterPlan] = []
    for handler in handlers:
        if not isinstance(handler, FilterPlan):
            break
        filters.append(handler)
    return filters, list(handlers[len(filters) :])


def add_handlers(
    handlers: Sequence[HandlerPlan], first_appended: int, record_layout: RecordLayout, chain: Chain, site: Site
) -> tuple[list[Aggregator], list[Processor]]:
    """Append filters and stream functions to the chain; return their aggregators, and the operators with state."""
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
    """Return the pool of a layout's records, which the query owns."""
    if record_layout.pool is None:
        raise TypeError("the query does not own the stream's record_layout")
    return record_layout.pool


def read_mask(input_: SingleInputPlan) -> int:
    """Return the planned reads of a source as a bit set; all bits if there are more than 64 attributes."""
    if input_.reads is None or input_.source_width > MAX_BITS:
        return ALL_BITS
    return sum(1 << position for position in input_.reads)


_Entry = tuple[int, bool | int | str | None, int, bool, int | float, int | float]


def filing_entries(filing: Filing | None) -> tuple[_Entry, ...] | None:
    """Return for each entry: attribute of the value, value, attribute of the interval, compared as double, bounds.

    -1: the entry has no value or no interval.
    """
    if filing is None:
        return None
    entries: list[_Entry] = []
    for entry in filing:
        position, interval = -1 if entry.position is None else entry.position, entry.interval
        if interval is None:
            entries.append((position, entry.value, -1, False, 0, 0))
        else:
            as_double = interval.type is AttributeType.DOUBLE
            entries.append((position, entry.value, interval.position, as_double, interval.low, interval.high))
    return tuple(entries)
