"""Choose the operator of a selection: a stateless projection, or a selector and when it computes its output.

A projection needs neither states nor the end of the chunk. After a window that keeps the events of a chunk until the chunk
ends, a selector that emits only the last event per group can compute the output there, once per group instead of once per
event, if all its aggregators can be read without an event.
"""

from __future__ import annotations

from siddhi.planner.plan.expressions import Aggregate
from siddhi.planner.plan.nodes import (
    Plan,
    QueryPlan,
    SelectionOperator,
    SelectMode,
    SelectorPlan,
    SingleInputPlan,
)
from siddhi.planner.plan.on_demand import OnDemandPlan
from siddhi.planner.plan.rewrite import map_queries, replaced
from siddhi.planner.plan.walk import has_side_effects, walk
from siddhi.query_api.selection import OutputEventType

__all__ = ["choose_on_demand_selection", "choose_selections"]

_READABLE = frozenset({"sum", "avg", "count", "distinctCount", "unionSet"})
"""Aggregators whose value can be read without an event."""

_RELEASE_AT_CHUNK_END = frozenset({"batch", "lengthBatch", "timeBatch"})
"""Windows that keep the events of a chunk until the chunk ends."""


def choose_selections(plan: Plan) -> Plan:
    """Set :attr:`QueryPlan.selection`."""
    return map_queries(plan, lambda query, _: replaced(query, selection=_operator(query)))


def choose_on_demand_selection(plan: OnDemandPlan) -> OnDemandPlan:
    """Set :attr:`OnDemandPlan.selection`."""
    projects = _is_stateless(plan.selector)
    return replaced(plan, selection=SelectionOperator.PROJECTION if projects else SelectionOperator.SELECTOR)


def _operator(plan: QueryPlan) -> SelectionOperator:
    current = plan.output.event_type is OutputEventType.CURRENT and plan.rate is None
    if current and _is_stateless(plan.selector):
        return SelectionOperator.PROJECTION
    if current and plan.fused is None and _ends_with_chunk(plan):
        return SelectionOperator.SELECTOR_AT_CHUNK_END
    return SelectionOperator.SELECTOR


def _is_stateless(selection: SelectorPlan) -> bool:
    return (
        selection.mode is SelectMode.EACH
        and not selection.has_aggregates
        and selection.having is None
        and not selection.order_by
        and selection.limit is None
        and not selection.offset
    )


def _ends_with_chunk(plan: QueryPlan) -> bool:
    """Return whether the output can be computed at the end of the chunk, from the last event of each group alone."""
    selection, input_ = plan.selector, plan.input
    # A key dropped within a chunk takes its aggregates with it, so its row can't be selected when the chunk ends.
    limits_keys = plan.limit is not None and (plan.limit.keys is not None or plan.limit.ttl_ms is not None)
    return (
        isinstance(input_, SingleInputPlan)
        and input_.window is not None
        and input_.window.window.builtin in _RELEASE_AT_CHUNK_END
        and not limits_keys
        and selection.mode is not SelectMode.EACH
        and selection.having is None
        and not has_side_effects(selection)
        and all(
            node.aggregator.builtin in _READABLE
            for expression in selection.expressions()
            for node in walk(expression)
            if isinstance(node, Aggregate)
        )
    )
