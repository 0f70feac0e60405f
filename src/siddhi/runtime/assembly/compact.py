"""A window and the selection over it → one step that keeps no events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from siddhi._core.event import Layout
from siddhi._core.output import OutputStage
from siddhi._core.selector import Selector
from siddhi._core.sliding_aggregate import SlidingAggregate
from siddhi._core.tumbling_aggregate import TumblingAggregate
from siddhi.planner.compaction import Compaction
from siddhi.planner.expressions import Attr, Const
from siddhi.planner.nodes import QueryPlan, SingleInputPlan
from siddhi.runtime.assembly.expressions import Cells
from siddhi.runtime.assembly.selector import build_selector

if TYPE_CHECKING:
    from siddhi.runtime.assembly.query import Site

__all__ = ["build_compact"]


def build_compact(
    plan: QueryPlan, form: Compaction, slots: Mapping[int, Cells], output: OutputStage, site: Site, layout: Layout
) -> Selector:
    """Build what stands for the window and the selection of a query.

    Args:
        plan: the query.
        form: what the planner lets it keep.
        slots: cells of its input events, which are the stream's own.
        output: where chunks go.
        site: where the query stands.
        layout: of the stream.
    """
    if not isinstance(plan.input, SingleInputPlan) or plan.input.window is None:
        raise TypeError("only a window over a single stream keeps arguments")
    window = plan.input.window
    native = window.window.native
    constants = [argument.value for argument in window.arguments if isinstance(argument, Const)]
    whole = [value for value in constants if isinstance(value, int) and not isinstance(value, bool)]
    if form is Compaction.TUMBLING:
        tumbling = build_selector(plan, slots, output, site, removes=False, remembers=False, kind=TumblingAggregate)
        assert isinstance(tumbling, TumblingAggregate)
        if native == "lengthBatch":
            tumbling.over_length(whole[0])
        else:
            tumbling.over_time(whole[0], whole[1] if len(whole) > 1 else None)
        return tumbling
    sliding = build_selector(plan, slots, output, site, removes=True, remembers=False, kind=SlidingAggregate)
    assert isinstance(sliding, SlidingAggregate)
    if native == "length":
        sliding.over_length(whole[0])
    elif native == "time":
        sliding.over_time(whole[0])
    else:
        (attribute,) = (argument for argument in window.arguments if isinstance(argument, Attr))
        sliding.over_attribute(attribute.position, layout, whole[0])
    return sliding
