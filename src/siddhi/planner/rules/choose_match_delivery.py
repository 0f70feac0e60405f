"""Choose how the matches of a join reach the selection: whether it must know where those of one event end.

A selection that orders, limits or reduces the matches of an event is called at their end. A projection whose expressions
can't fail writes all matches of a chunk into the columns of a batch callback as they are found.
"""

from __future__ import annotations

from siddhi.planner.plan.expressions import And, Attr, Comparison, Const, IsNull, IsNullEvent, Not, Or, Widen
from siddhi.planner.plan.nodes import FilterPlan, JoinPlan, Plan, QueryPlan, SelectionOperator, SelectMode
from siddhi.planner.plan.rewrite import map_queries, replaced
from siddhi.planner.plan.walk import walk

__all__ = ["choose_match_delivery"]

_INFALLIBLE = (Attr, Const, Widen, Comparison, And, Or, Not, IsNull, IsNullEvent)


def choose_match_delivery(plan: Plan) -> Plan:
    """Set :attr:`JoinPlan.ends_matches` and :attr:`JoinPlan.fills_columns`."""
    return map_queries(plan, lambda query, _: _delivered(query))


def _delivered(plan: QueryPlan) -> QueryPlan:
    join = plan.input
    if not isinstance(join, JoinPlan):
        return plan
    projects = plan.selection is SelectionOperator.PROJECTION
    return replaced(
        plan,
        input=replaced(
            join,
            ends_matches=not projects and _depends_on_end(plan),
            fills_columns=projects and _cannot_fail(plan, join),
        ),
    )


def _depends_on_end(plan: QueryPlan) -> bool:
    """Return whether the selection depends on where the matches of one event end."""
    selection = plan.selector
    return (
        selection.mode is not SelectMode.EACH
        or bool(selection.order_by or selection.group_by or selection.offset)
        or selection.limit is not None
    )


def _cannot_fail(plan: QueryPlan, join: JoinPlan) -> bool:
    """Return whether no expression that is evaluated between an event and its output can fail."""
    handlers = (*join.left.before, *join.right.before)
    evaluated = [column.expression for column in plan.selector.columns]
    evaluated += [handler.condition for handler in handlers if isinstance(handler, FilterPlan)]
    if join.on is not None:
        evaluated.append(join.on)
    return (
        join.reading is None
        and all(isinstance(handler, FilterPlan) for handler in handlers)
        and all(isinstance(node, _INFALLIBLE) for expression in evaluated for node in walk(expression))
    )
