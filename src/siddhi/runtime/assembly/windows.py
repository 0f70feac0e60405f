"""Window plans → window operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from siddhi._core.context import AppContext
from siddhi._core.event import EventPool
from siddhi._core.window import Window
from siddhi._core.window_batch import ChunkBatchWindow, LengthBatchWindow, TimeBatchWindow
from siddhi._core.window_length import LengthWindow
from siddhi._core.window_time import ExternalTimeWindow, TimeWindow
from siddhi.planner.expressions import Attr, Const
from siddhi.planner.nodes import WindowPlan
from siddhi.query_api.span import Span
from siddhi.runtime.assembly.refusals import not_supported

__all__ = ["WindowSite", "build_window"]


@dataclass(frozen=True, slots=True)
class WindowSite:
    """Where a window stands.

    Attributes:
        context: the app's.
        pool: of the records it holds.
        cell_of: cell by attribute position.
        stamps: somebody can see when events expired.
        keeps_expired: somebody wants what batch windows released last.
        span: of the query, for messages.
        partitioned: the query stands inside a partition.
    """

    context: AppContext
    pool: EventPool
    cell_of: dict[int, int]
    stamps: bool
    keeps_expired: bool
    span: Span | None
    partitioned: bool = False


def build_window(plan: WindowPlan, site: WindowSite) -> Window:
    """The operator of a window.

    Raises:
        SiddhiAppCreationError: this engine does not run that window.
    """
    build = _BUILDERS.get(plan.window.native or "")
    if build is None:
        raise not_supported(f"the window '{plan.window.full_name}' is", site.span)
    return build(site, plan)


def _constants(plan: WindowPlan) -> Sequence[Any]:
    return [argument.value for argument in plan.arguments if isinstance(argument, Const)]


def _length(site: WindowSite, plan: WindowPlan) -> Window:
    (length,) = _constants(plan)
    return LengthWindow(site.context, site.pool, length, site.stamps)


def _time(site: WindowSite, plan: WindowPlan) -> Window:
    (duration,) = _constants(plan)
    return TimeWindow(site.context, site.pool, duration, site.stamps)


def _external_time(site: WindowSite, plan: WindowPlan) -> Window:
    timestamp, _ = plan.arguments
    if not isinstance(timestamp, Attr):
        raise TypeError("externalTime reads an attribute")
    (duration,) = _constants(plan)
    return ExternalTimeWindow(site.context, site.pool, site.cell_of[timestamp.position], duration, site.stamps)


def _length_batch(site: WindowSite, plan: WindowPlan) -> Window:
    length, *streams = _constants(plan)
    return LengthBatchWindow(site.context, site.pool, length, site.keeps_expired, any(streams), site.stamps)


def _time_batch(site: WindowSite, plan: WindowPlan) -> Window:
    duration, *rest = _constants(plan)
    streams = any(value for value in rest if isinstance(value, bool))
    start = next((value for value in rest if not isinstance(value, bool)), None)
    return TimeBatchWindow(site.context, site.pool, duration, start, site.keeps_expired, streams, site.stamps)


def _batch(site: WindowSite, plan: WindowPlan) -> Window:
    constants = _constants(plan)
    return ChunkBatchWindow(
        site.context,
        site.pool,
        constants[0] if constants else 0,
        site.keeps_expired,
        site.stamps,
        not site.partitioned,
    )


_BUILDERS: dict[str, Callable[[WindowSite, WindowPlan], Window]] = {
    "batch": _batch,
    "externalTime": _external_time,
    "length": _length,
    "lengthBatch": _length_batch,
    "time": _time,
    "timeBatch": _time_batch,
}
