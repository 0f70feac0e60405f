"""Bind ``within`` and ``per``: which rows of an aggregation a query reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.planner.bind.query_parameters import typed_parameter
from siddhi.planner.bind.resolver import Resolver
from siddhi.planner.plan.aggregations import AggregationPlan, AggregationReadPlan
from siddhi.planner.plan.expressions import Const, TypedExpression
from siddhi.planner.plan.time import duration_named, kept_duration, time_range
from siddhi.planner.problems import a_type, creation_error, located, unsupported_type
from siddhi.query_api.expression import Expression
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.errors import SiddhiAppError
    from siddhi.planner.bind.catalog import Catalog
    from siddhi.planner.bind.scope import Scope

__all__ = ["plan_reading"]

_WITHIN_TYPES = (AttributeType.LONG, AttributeType.INT, AttributeType.STRING)


def plan_reading(
    catalog: Catalog,
    aggregation: AggregationPlan,
    within: tuple[Expression, ...],
    per: Expression | None,
    scope: Scope,
    at: Node,
) -> AggregationReadPlan:
    """Bind the time range and the duration; check them here where they are constant.

    Args:
        scope: the names that the expressions can use.
        at: the query, the location of errors in nodes without a span.

    Raises:
        SiddhiAppError: ``within`` or ``per`` is missing or invalid.
    """
    if not within or per is None:
        missing = "within" if not within else "per"
        raise creation_error(
            "E325",
            f"missing '{missing}' for aggregation '{aggregation.id}'",
            at,
            "write within '2017-06-** **:**:**' per 'hours'",
        )
    resolve = Resolver(catalog, scope)
    ends = tuple(_end(resolve, expression, at) for expression in within)
    length = typed_parameter(catalog, resolve(per), AttributeType.STRING)
    location = located(per, at)
    if length.type is not AttributeType.STRING:
        raise unsupported_type(f"'per' takes a string, not {a_type(length.type)}", location, "write per 'hours'")
    duration = None
    if isinstance(length, Const):
        try:
            duration = duration_named(length.value)
            kept_duration(duration, aggregation.durations, aggregation.id)
        except ValueError as error:
            raise _explained(error, location) from error
    known = None
    if all(isinstance(end, Const) for end in ends):
        values = [end.value for end in ends if isinstance(end, Const)]
        try:
            known = time_range(*values)
        except ValueError as error:
            raise _explained(error, located(within[0], at)) from error
    return AggregationReadPlan(ends, length, known, duration)


def _end(resolve: Resolver, expression: Expression, at: Node) -> TypedExpression:
    typed = typed_parameter(resolve.catalog, resolve(expression), AttributeType.LONG)
    if typed.type not in _WITHIN_TYPES:
        location = located(expression, at)
        raise unsupported_type(f"'within' takes a long or a string, not {a_type(typed.type)}", location)
    return typed


def _explained(error: ValueError, at: Node) -> SiddhiAppError:
    return creation_error("E325", str(error.args[0]), at, str(error.args[1]) if len(error.args) > 1 else None)
