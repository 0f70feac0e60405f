"""A whole plan → junctions and queries, wired."""

from __future__ import annotations

from collections.abc import Callable

from siddhi._core.context import AppContext
from siddhi._core.event import EventPool, Layout
from siddhi._core.junction import StreamJunction
from siddhi._core.output import OutputStage
from siddhi.planner.nodes import (
    Action,
    OutputPlan,
    PartitionPlan,
    Plan,
    QueryPlan,
    SingleInputPlan,
    SourceKind,
    StreamPlan,
)
from siddhi.query_api.definition import Attribute
from siddhi.query_api.span import Span
from siddhi.runtime.assembly.query import BuiltQuery, Site, build_single_query
from siddhi.runtime.assembly.refusals import not_supported
from siddhi.runtime.assembly.selector import has_side_effects
from siddhi.runtime.assembly.types import layout_of

__all__ = ["Assembly"]


class Assembly:
    """The operators of one app.

    Args:
        plan: the app's plan.
        context: clock, lock and timers of the app.
        scripts: compiled ``define function`` bodies by name.

    Attributes:
        junctions: by stream id.
        queries: by name, in build order.

    Raises:
        SiddhiAppCreationError: the plan needs something that this engine does not run.
    """

    def __init__(self, plan: Plan, context: AppContext, scripts: dict[str, Callable[..., object]]) -> None:
        self.context = context
        self.junctions: dict[str, StreamJunction] = {}
        self._pools: dict[tuple[int, ...], EventPool] = {}
        self.queries: dict[str, BuiltQuery] = {}
        self._site = Site(context, scripts)
        _refuse_what_is_missing(plan)
        for stream in plan.streams.values():
            self._add_stream(stream)
        for execution in plan.executions:
            if isinstance(execution, PartitionPlan):
                raise not_supported("partitions are", execution.span)
            self._add_query(execution)

    def _add_stream(self, stream: StreamPlan) -> None:
        if stream.async_settings is not None:
            raise not_supported("@async is", stream.span)
        layout = layout_of(stream.attributes)
        self.junctions[stream.id] = StreamJunction(self.context, stream.id, layout, self._pool(layout))

    def _pool(self, layout: Layout) -> EventPool:
        """The pool that streams of these types share, so that a record can pass from one to another."""
        return self._pools.setdefault(layout.types, EventPool(layout))

    def _add_query(self, plan: QueryPlan) -> None:
        if plan.rate is not None:
            raise not_supported("output rate limiting is", plan.rate.span or plan.span)
        input_ = plan.input
        if not isinstance(input_, SingleInputPlan):
            raise not_supported("joins and patterns are", plan.span)
        if input_.kind not in (SourceKind.STREAM, SourceKind.FAULT, SourceKind.INNER):
            raise not_supported(f"reading from a {input_.kind.value} is", plan.span)
        output = self._build_output(plan)
        entry, built = build_single_query(plan, self.junctions[input_.source], output, self._site)
        self.junctions[input_.source].subscribe(entry)
        self.queries[plan.name] = built

    def _build_output(self, plan: QueryPlan) -> OutputStage:
        output = plan.output
        target = self._target(output, plan.span)
        if target is None:
            layout = layout_of([Attribute(column.name, column.expression.type) for column in plan.selector.columns])
            return OutputStage(self.context, self._pool(layout), layout, None)
        return OutputStage(
            self.context, target.pool, target.layout, target, always=has_side_effects(plan.selector)
        )

    def _target(self, output: OutputPlan, span: Span | None) -> StreamJunction | None:
        if output.action is Action.RETURN:
            return None
        if output.action is not Action.INSERT or output.kind not in (
            SourceKind.STREAM,
            SourceKind.INNER,
            SourceKind.FAULT,
        ):
            raise not_supported(f"'{output.action.value}' with a {output.kind.value} is", span)
        return self.junctions[output.target]


def _refuse_what_is_missing(plan: Plan) -> None:
    for table in plan.tables.values():
        raise not_supported("tables are", table.span)
    for window in plan.windows.values():
        raise not_supported("named windows are", window.span)
    for trigger in plan.triggers.values():
        raise not_supported("triggers are", trigger.span)
