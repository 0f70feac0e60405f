"""Rewrite plans: replace every query or every expression. Unchanged nodes stay the same objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from siddhi._frozen import replace
from siddhi.planner.plan.aggregations import AggregationPlan
from siddhi.planner.plan.expressions import TypedExpression
from siddhi.planner.plan.nodes import (
    FilterPlan,
    HandlerPlan,
    JoinPlan,
    OutputPlan,
    PartitionPlan,
    Plan,
    QueryPlan,
    RangeKeyPlan,
    SelectorPlan,
    SingleInputPlan,
    ValueKeyPlan,
    WindowPlan,
)
from siddhi.planner.plan.patterns import PatternPlan, SlotPlan

if TYPE_CHECKING:
    from _typeshed import DataclassInstance  # the type of frozen classes for type checkers

    Node = TypeVar("Node", bound=DataclassInstance)

__all__ = ["map_expressions", "map_output", "map_queries", "map_selector", "replaced"]

Change = Callable[[TypedExpression], TypedExpression]
"""Function from an expression to its replacement. A plain attribute must stay unchanged."""


def replaced(node: Node, **fields: Any) -> Node:
    """Return the node with these fields; the node itself if they already have the same values."""
    for name, value in fields.items():
        old = getattr(node, name)
        if old is not value and not _same_items(old, value):
            return replace(node, **fields)
    return node


def _same_items(old: object, new: object) -> bool:
    """Return whether two tuples or dictionaries contain the same objects."""
    if isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
        return all(one is other or _same_items(one, other) for one, other in zip(old, new, strict=True))
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(new[key] is value for key, value in old.items())
    return False


def map_queries(plan: Plan, change: Callable[[QueryPlan, bool], QueryPlan]) -> Plan:
    """Return the plan with every query replaced.

    Args:
        change: receives a query, and whether it is in a partition.
    """
    executions: list[QueryPlan | PartitionPlan] = []
    for execution in plan.executions:
        if isinstance(execution, QueryPlan):
            executions.append(change(execution, False))
        else:
            executions.append(replaced(execution, queries=tuple([change(query, True) for query in execution.queries])))
    return replaced(plan, executions=tuple(executions))


def map_expressions(plan: Plan, change: Change) -> Plan:
    """Return the plan with every expression replaced, including those that windows compile from events."""
    plan = map_queries(plan, lambda query, _: _map_query(query, change))
    return replaced(
        plan,
        windows={id_: replaced(named, window=_map_window(named.window, change)) for id_, named in plan.windows.items()},
        aggregations={id_: _map_aggregation(found, change) for id_, found in plan.aggregations.items()},
        executions=tuple(
            [found if isinstance(found, QueryPlan) else _map_keys(found, change) for found in plan.executions]
        ),
    )


def map_selector(selector: SelectorPlan, change: Change) -> SelectorPlan:
    """Return the selection with every expression replaced."""
    return replaced(
        selector,
        columns=tuple([replaced(column, expression=change(column.expression)) for column in selector.columns]),
        having=_map_optional(selector.having, change),
    )


def map_output(output: OutputPlan, change: Change) -> OutputPlan:
    """Return the output clause with every expression replaced."""
    if output.condition is None:
        return output
    assignments = output.set
    if assignments is not None:
        assignments = tuple([replaced(set_, value=change(set_.value)) for set_ in assignments])
    return replaced(output, condition=change(output.condition), set=assignments)


def _map_query(query: QueryPlan, change: Change) -> QueryPlan:
    input_ = query.input
    changed: SingleInputPlan | JoinPlan | PatternPlan
    if isinstance(input_, SingleInputPlan):
        changed = _map_single(input_, change)
    elif isinstance(input_, JoinPlan):
        changed = _map_join(input_, change)
    else:
        changed = replaced(input_, slots=tuple([_map_slot(slot, change) for slot in input_.slots]))
    return replaced(
        query,
        input=changed,
        selector=map_selector(query.selector, change),
        output=map_output(query.output, change),
    )


def _map_single(input_: SingleInputPlan, change: Change) -> SingleInputPlan:
    return replaced(
        input_,
        before=tuple([_map_handler(handler, change) for handler in input_.before]),
        window=None if input_.window is None else _map_window(input_.window, change),
        after=tuple([_map_handler(handler, change) for handler in input_.after]),
    )


def _map_join(input_: JoinPlan, change: Change) -> JoinPlan:
    reading = input_.reading
    if reading is not None:
        reading = replaced(reading, within=_map_all(reading.within, change), per=change(reading.per))
    return replaced(
        input_,
        left=_map_single(input_.left, change),
        right=_map_single(input_.right, change),
        on=_map_optional(input_.on, change),
        reading=reading,
    )


def _map_slot(slot: SlotPlan, change: Change) -> SlotPlan:
    return replaced(
        slot,
        alone=_map_all(slot.alone, change),
        conditions=_map_all(slot.conditions, change),
        keys=tuple([replaced(key, own=change(key.own), earlier=change(key.earlier)) for key in slot.keys]),
    )


def _map_handler(handler: HandlerPlan, change: Change) -> HandlerPlan:
    if isinstance(handler, FilterPlan):
        return replaced(handler, condition=change(handler.condition))
    return replaced(handler, arguments=_map_all(handler.arguments, change))


def _map_window(window: WindowPlan, change: Change) -> WindowPlan:
    plan_condition = window.plan_condition
    found = replaced(
        window, arguments=_map_all(window.arguments, change), condition=_map_optional(window.condition, change)
    )
    if plan_condition is None:
        return found
    return replaced(found, plan_condition=lambda text: change(plan_condition(text)))


def _map_aggregation(plan: AggregationPlan, change: Change) -> AggregationPlan:
    return replaced(
        plan,
        input=_map_single(plan.input, change),
        base_values=tuple([replaced(base, argument=_map_optional(base.argument, change)) for base in plan.base_values]),
        outputs=tuple(
            [replaced(output, expression=_map_optional(output.expression, change)) for output in plan.outputs]
        ),
    )


def _map_keys(plan: PartitionPlan, change: Change) -> PartitionPlan:
    return replaced(plan, keys=tuple([_map_key(key, change) for key in plan.keys]))


def _map_key(key: ValueKeyPlan | RangeKeyPlan, change: Change) -> ValueKeyPlan | RangeKeyPlan:
    if isinstance(key, ValueKeyPlan):
        return replaced(key, expression=change(key.expression))
    return replaced(key, ranges=tuple([(label, change(condition)) for label, condition in key.ranges]))


def _map_all(expressions: tuple[TypedExpression, ...], change: Change) -> tuple[TypedExpression, ...]:
    return tuple([change(expression) for expression in expressions])


def _map_optional(expression: TypedExpression | None, change: Change) -> TypedExpression | None:
    return None if expression is None else change(expression)
