"""Bind temporal windows: their arguments, and the selection of their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi._frozen import replace
from siddhi.errors import SiddhiAppError
from siddhi.planner.bind.resolver import Resolver
from siddhi.planner.bind.scope import Scope
from siddhi.planner.plan.expressions import OUTPUT_SLOT, Aggregate, Attr, Const, TypedExpression
from siddhi.planner.plan.nodes import SelectorPlan
from siddhi.planner.plan.temporal import LIFETIME_SLOT, RANK, TEMPORAL_WINDOWS, TemporalWindowPlan, WindowKind
from siddhi.planner.plan.walk import children, has_aggregate, walk
from siddhi.planner.problems import creation_error, located
from siddhi.query_api.input import WindowHandler
from siddhi.query_api.query import Query
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["plan_window"]

_FOREVER = {"minForever": "min", "maxForever": "max"}
"""Aggregators that count rows which are over, and those that give the same over rows that are not."""


def plan_window(
    catalog: Catalog,
    scope: Scope,
    handler: WindowHandler,
    selector: SelectorPlan,
    query: Query,
    conditions: tuple[TypedExpression, ...] = (),
    fixed: frozenset[int] = frozenset(),
) -> tuple[TemporalWindowPlan, SelectorPlan]:
    """Bind a temporal window; return it and the selection without what the window does.

    Args:
        conditions: the filters behind the window.
        fixed: positions of the attributes that are equal in all rows of a partition key.

    Raises:
        SiddhiAppCreationError: an argument is invalid, or results would depend on the order of arrival.
    """
    at = located(handler.call, handler)
    window = _window(catalog, scope, handler, at)
    order = tuple((item.key.position, item.order) for item in selector.order_by)
    for item in selector.order_by:
        if item.key.slot != OUTPUT_SLOT or item.key.type is AttributeType.OBJECT:
            raise creation_error(
                "E321",
                f"a temporal window can't be ordered by '{item.key.name}'",
                located(query.selector, query),
                "select it",
            )
    place = located(query.selector, query)
    used = [node for expression in selector.expressions() for node in walk(expression)]
    ranks = any(isinstance(node, Attr) and node.slot == LIFETIME_SLOT and node.position == RANK for node in used)
    for node in used:
        if isinstance(node, Aggregate):
            _check_aggregate(node, place)
    if selector.has_aggregates or (selector.group_by and not order):
        keys = fixed | {key.position for key in selector.group_by}
        if order or selector.limit is not None or ranks:
            raise creation_error(
                "E326",
                "'order by', 'limit' and temporal:rank() on aggregates of a temporal window are not supported yet",
                place,
                "aggregate in one query, and order in a second one with #window.snapshot()",
            )
        for column in selector.columns:
            for node in _outside_aggregates(column.expression):
                if isinstance(node, Attr) and node.slot == 0 and node.position not in keys:
                    raise creation_error(
                        "E321",
                        f"'{node.name}' is neither aggregated nor in 'group by': its value would depend on the order of arrival",
                        place,
                        f"write 'group by {node.name}', or aggregate it",
                    )
    elif (selector.limit is not None or ranks) and not order:
        raise creation_error(
            "E321", "'limit' and temporal:rank() in a temporal window need 'order by'", place, "add 'order by ... desc'"
        )
    else:
        _check_rows(selector, place)
    aggregates = selector.has_aggregates or bool(selector.group_by and not order)
    window = replace(
        window,
        conditions=conditions,
        group_by=tuple(key.position for key in selector.group_by),
        aggregates=aggregates,
        order_by=order,
        limit=selector.limit,
    )
    return window, replace(selector, group_by=(), order_by=(), limit=None)


def _check_rows(selector: SelectorPlan, place: Node) -> None:
    """Reject an order or ``having`` of rows that reads what only their results have."""
    late = {
        position
        for position, column in enumerate(selector.columns)
        if any(isinstance(node, Attr) and node.slot == LIFETIME_SLOT for node in walk(column.expression))
    }
    read = [item.key for item in selector.order_by]
    if selector.having is not None:
        read += [node for node in walk(selector.having) if isinstance(node, Attr)]
    for attribute in read:
        if attribute.slot == LIFETIME_SLOT or (attribute.slot == OUTPUT_SLOT and attribute.position in late):
            raise creation_error(
                "E321",
                f"'{attribute.name}' is known when rows have been chosen and ordered: 'having' and 'order by' can't read it",
                place,
                "filter or order by it in a second query, on the output of this one",
            )


def _check_aggregate(node: Aggregate, place: Node) -> None:
    alive = _FOREVER.get(node.aggregator.builtin or "")
    if alive is not None:
        raise creation_error(
            "E326",
            f"aggregator '{node.aggregator.full_name}' counts rows that are over, and a temporal window has those that are valid",
            place,
            f"make rows valid without end before the window, with #temporal:alterDuration(temporal:infinity()), and use {alive}",
        )
    if (node.aggregator.builtin or "").startswith("ta:"):
        raise creation_error(
            "E326",
            f"'{node.aggregator.full_name}' in a temporal query is not supported yet: an indicator follows events, not lifetimes",
            place,
            "select it in a classical query",
        )
    if any(has_aggregate(argument) for argument in node.arguments):
        raise creation_error(
            "E326",
            f"an aggregator inside another one ('{node.aggregator.full_name}') in a temporal window is not supported yet",
            place,
            "aggregate in one query, and again in a second one",
        )


def _window(catalog: Catalog, scope: Scope, handler: WindowHandler, at: Node) -> TemporalWindowPlan:
    call = handler.call
    arguments = [Resolver(catalog, scope)(argument) for argument in call.arguments]
    values = [argument.value if isinstance(argument, Const) else None for argument in arguments]
    least, most = {"snapshot": (0, 0), "countByStartTime": (1, 1), "tumbling": (1, 3), "hopping": (2, 4)}[call.name]

    def refused(problem: str) -> SiddhiAppError:
        return creation_error(
            "E303", f"temporal window '{call.name}': {problem}", at, f"write #window.{TEMPORAL_WINDOWS[call.name]}"
        )

    if not least <= len(values) <= most:
        takes = str(least) if least == most else f"{least} to {most}"
        raise refused(f"it takes {takes} argument{'' if takes == '1' else 's'}, not {len(values)}")
    names = ("n",) if call.name == "countByStartTime" else ("size", "hop")
    for name, value in zip(names, values[:least], strict=False):
        if not _positive(value):
            raise refused(f"'{name}' must be a positive constant")
    if call.name == "snapshot":
        return TemporalWindowPlan(kind=WindowKind.SNAPSHOT)
    first = int(str(values[0]))
    if call.name == "countByStartTime":
        catalog.permissions.limit("max_events", first, "the number of starts of a counting window", at)
        return TemporalWindowPlan(kind=WindowKind.COUNT_BY_START, count=first)
    alignment = values[least] if len(values) > least else 0
    output = values[least + 1] if len(values) > least + 1 else "point"
    if not isinstance(alignment, int) or isinstance(alignment, bool):
        raise refused("'alignment' must be a constant time in milliseconds")
    if output not in ("point", "clip"):
        raise refused("the output must be 'point' or 'clip'")
    catalog.permissions.limit("max_duration_ms", first, f"the size of window '{call.name}'", at)
    return TemporalWindowPlan(
        kind=WindowKind.HOPPING,
        size_ms=first,
        hop_ms=int(str(values[least - 1])),
        alignment_ms=alignment,
        clip=output == "clip",
    )


def _positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 1 << 61


def _outside_aggregates(expression: TypedExpression) -> list[TypedExpression]:
    if isinstance(expression, Aggregate):
        return []
    found: list[TypedExpression] = [expression]
    for child in children(expression):
        found += _outside_aggregates(child)
    return found
