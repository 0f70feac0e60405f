"""Window and selection → fused window aggregate: one operator that buffers arguments instead of events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from siddhi._core.query.fused_sliding import SlidingAggregate
from siddhi._core.query.fused_tumbling import TumblingAggregate
from siddhi._core.query.output import QueryOutput
from siddhi._core.query.selector import Selector
from siddhi._core.record.event import Layout
from siddhi.planner.plan.expressions import Attr, Const
from siddhi.planner.plan.nodes import FusedWindow, QueryPlan, SingleInputPlan
from siddhi.runtime.assembly.expressions import Cells
from siddhi.runtime.assembly.selector import build_selector

if TYPE_CHECKING:
    from siddhi.runtime.assembly.query import Site

__all__ = ["build_fused"]


def build_fused(
    plan: QueryPlan, form: FusedWindow, slots: Mapping[int, Cells], output: QueryOutput, site: Site, layout: Layout
) -> Selector:
    """Build the fused window aggregate of a query.

    Args:
        plan: the query.
        form: sliding or tumbling.
        slots: cells of its input events, which are the stream's own records.
        output: output of the query.
        site: build context of the query.
        layout: layout of the stream's records.
    """
    if not isinstance(plan.input, SingleInputPlan) or plan.input.window is None:
        raise TypeError("only a window over a single stream can be fused")
    window = plan.input.window
    extents = [
        argument.value
        for argument in window.arguments
        if isinstance(argument, Const) and isinstance(argument.value, int) and not isinstance(argument.value, bool)
    ]
    if form is FusedWindow.TUMBLING:
        tumbling = build_selector(plan, slots, output, site, removes=False, kind=TumblingAggregate)
        if not isinstance(tumbling, TumblingAggregate):
            raise TypeError("a rate-limited query can't be fused")
        if window.window.builtin == "lengthBatch":
            tumbling.over_length(extents[0])
        else:
            tumbling.over_time(extents[0], extents[1] if len(extents) > 1 else None)
        return tumbling
    sliding = build_selector(plan, slots, output, site, removes=True, kind=SlidingAggregate)
    if not isinstance(sliding, SlidingAggregate):
        raise TypeError("a rate-limited query can't be fused")
    if window.window.builtin == "length":
        sliding.over_length(extents[0])
    elif window.window.builtin == "time":
        sliding.over_time(extents[0])
    else:
        (attribute,) = (argument for argument in window.arguments if isinstance(argument, Attr))
        sliding.over_attribute(attribute.position, layout, extents[0])
    return sliding
