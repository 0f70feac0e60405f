"""Bind joins of two sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.planner.bind.aggregations.reading import plan_reading
from siddhi.planner.bind.catalog import Source
from siddhi.planner.bind.handlers import Handlers, plan_handlers
from siddhi.planner.bind.resolver import Resolver
from siddhi.planner.bind.scope import MultiScope, Scope, SourceScope
from siddhi.planner.plan.aggregations import AggregationReadPlan
from siddhi.planner.plan.expressions import TypedExpression
from siddhi.planner.plan.nodes import JoinPlan, SingleInputPlan, SourceKind
from siddhi.planner.problems import creation_error, located
from siddhi.query_api.input import JoinInput, SingleInput, Trigger, WindowHandler

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["JoinInputs", "plan_join"]


class JoinSide:
    """One side: its source, scope and handlers."""

    def __init__(self, catalog: Catalog, node: SingleInput, slot: int) -> None:
        self.node = node
        self.source: Source = catalog.source(node.source, node, is_inner=node.is_inner, is_fault=node.is_fault)
        _check_handlers(self.source, node)
        # Handlers and window read only their own source, in slot 0, by its id or its alias.
        own = SourceScope(self.source.label, self.source.attributes, what=self.source.what, also=node.alias)
        self.handlers: Handlers = plan_handlers(catalog, own, node.handlers, place="in a join")
        label = node.alias if node.alias is not None else self.source.label
        self.scope = SourceScope(label, own.attributes, what=self.source.what, slot=slot)

    @property
    def is_static(self) -> bool:
        """Whether this side never receives events (tables, aggregations)."""
        return self.source.kind in (SourceKind.TABLE, SourceKind.AGGREGATION)

    def finished(self) -> SingleInputPlan:
        """Return the plan of this side."""
        return SingleInputPlan(
            source=self.source.label,
            kind=self.source.kind,
            attributes=tuple(self.scope.attributes),
            source_width=len(self.source.attributes),
            before=tuple(self.handlers.before),
            window=self.handlers.window,
            after=tuple(self.handlers.after),
            alias=self.node.alias,
        )


class JoinInputs:
    """The two inputs of a join."""

    def __init__(
        self,
        node: JoinInput,
        left: JoinSide,
        right: JoinSide,
        on: TypedExpression | None,
        reading: AggregationReadPlan | None,
    ) -> None:
        self._node = node
        self._left = left
        self._right = right
        self._on = on
        self._reading = reading
        self.scope: Scope = MultiScope((left.scope, right.scope))

    def finished(self) -> JoinPlan:
        """Return the plan."""
        return JoinPlan(
            left=self._left.finished(),
            right=self._right.finished(),
            type=self._node.type,
            trigger=self._node.trigger,
            on=self._on,
            reading=self._reading,
        )


def plan_join(catalog: Catalog, node: JoinInput) -> JoinInputs:
    """Bind the inputs and the condition of a join.

    Raises:
        SiddhiAppError: a source is unknown, neither side can trigger, or the condition is invalid.
    """
    left = JoinSide(catalog, node.left, 0)
    right = JoinSide(catalog, node.right, 1)
    _check_triggers(node, left, right)
    reading = None
    aggregated = next((side for side in (left, right) if side.source.kind is SourceKind.AGGREGATION), None)
    if aggregated is not None:
        other = right if aggregated is left else left
        aggregation = catalog.aggregations[aggregated.source.label]
        reading = plan_reading(catalog, aggregation, node.within, node.per, other.scope, node)
    elif node.within or node.per is not None:
        raise creation_error(
            "E317",
            f"'within' and 'per' require an aggregation, but neither '{left.source.label}' nor "
            f"'{right.source.label}' is one",
            node,
        )
    on = None
    if node.on is not None:
        on = Resolver(catalog, MultiScope((left.scope, right.scope))).condition(
            "the condition of a join", node.on, node
        )
    return JoinInputs(node, left, right, on, reading)


def _check_handlers(source: Source, node: SingleInput) -> None:
    window = node.window
    if window is not None and source.kind in (SourceKind.WINDOW, SourceKind.TABLE, SourceKind.AGGREGATION):
        raise creation_error(
            "E314",
            f"'{source.label}' is a {source.kind.value}, which can't have a window in a join",
            located(window, node),
            "remove the window",
        )
    if source.kind in (SourceKind.TABLE, SourceKind.AGGREGATION) and node.handlers:
        first = node.handlers[0]
        raise creation_error(
            "E317",
            f"{source.what} can't have handlers in a join",
            located(first, node),
            "write the condition in 'on'",
        )
    if window is not None and not isinstance(node.handlers[-1], WindowHandler):
        last = node.handlers[-1]
        raise creation_error(
            "E317",
            "a side of a join can't have handlers after its window",
            located(last, node),
            "move it before the window",
        )


def _check_triggers(node: JoinInput, left: JoinSide, right: JoinSide) -> None:
    """Reject a join that no side can trigger."""
    if left.is_static and right.is_static:
        raise creation_error(
            "E317",
            f"nothing triggers a join of {left.source.what} with {right.source.what}",
            node,
            "one side must be a stream or a window; use an on-demand query to read tables",
        )
    for side, trigger in ((left, Trigger.LEFT), (right, Trigger.RIGHT)):
        if side.is_static and node.trigger is trigger:
            raise creation_error(
                "E317",
                f"{side.source.what} is marked 'unidirectional', but never triggers a join",
                located(side.node, node),
                "mark the other side, or remove 'unidirectional'",
            )
