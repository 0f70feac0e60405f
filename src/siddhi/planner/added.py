"""Plan queries that are added to an app whose plan is known: they alone, against its names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from siddhi._frozen import replace
from siddhi.extension.registry import Registry
from siddhi.planner.bind.aggregations.zone import app_zone
from siddhi.planner.bind.catalog import Catalog, Configuration
from siddhi.planner.bind.limits import app_limits
from siddhi.planner.bind.patterns.limit import app_limit
from siddhi.planner.bind.queries import plan_query
from siddhi.planner.plan.graph import Unit, unit_of
from siddhi.planner.plan.nodes import (
    Action,
    Plan,
    PredicateIndex,
    QueryPlan,
    SingleInputPlan,
    SourceKind,
    StreamFunctionPlan,
)
from siddhi.planner.plan.warning import AppWarning
from siddhi.planner.rules import applied_alone
from siddhi.planner.rules.batch_safety import batch_plans, units_of
from siddhi.planner.rules.file_queries import FEWEST_QUERIES, can_be_filed, file_alone
from siddhi.planner.warnings import query_advice
from siddhi.query_api.input import SingleInput
from siddhi.query_api.query import Query

__all__ = ["AddedQueries", "is_alone", "plan_added", "units_of", "with_batches"]


class AddedQueries(NamedTuple):
    """The plans of added queries, the predicate indexes of the streams that they read, and warnings about them."""

    queries: tuple[QueryPlan, ...]
    indexes: Mapping[str, PredicateIndex]
    warnings: tuple[AppWarning, ...]


def plan_added(
    plan: Plan,
    added: Sequence[tuple[str, Query]],
    values: Mapping[str, Counter[int]],
    *,
    registry: Registry,
    properties: Mapping[str, str] | None,
    config: Configuration | None,
) -> AddedQueries | None:
    """Plan queries that are added behind those of an app.

    Args:
        plan: the plan of the app, which has no sandbox policy.
        added: the queries with their names.
        values: under how many values queries are filed, by stream and attribute.
        registry, properties, config: as :func:`siddhi.planner.app.plan`.

    Returns:
        Their plans; None: the app has to be planned as a whole, since they change more of it than themselves.

    Raises:
        SiddhiAppError: a query is invalid.
    """
    if not all(isinstance(node.input, SingleInput) for _, node in added):
        return None
    catalog = _catalog(plan, registry, properties, config)
    streams = len(catalog.streams)
    planned = [query for name, node in added for query in plan_query(catalog, node, name)]
    if len(catalog.streams) != streams:
        return None
    alone = replace(plan, executions=tuple(planned), aggregations={}, batches=())
    queries: list[QueryPlan] = []
    indexes: dict[str, PredicateIndex] = {}
    for query in applied_alone(alone).executions:
        if not isinstance(query, QueryPlan) or not is_alone(plan, query):
            return None
        assert isinstance(query.input, SingleInputPlan)
        source = query.input.source
        if can_be_filed(query):
            index = indexes.get(source, plan.streams[source].predicate_index)
            if index is not None:
                query, indexes[source] = file_alone(query, index, values.get(source, Counter()))
            elif _reaches_number(plan, source, len(planned)):
                return None
        queries.append(query)
    advice = [warning for _, node in added for warning in query_advice(plan.app, node)]
    return AddedQueries(tuple(queries), indexes, (*advice, *catalog.warnings))


def is_alone(plan: Plan, query: QueryPlan) -> bool:
    """Return whether a query can be added and removed without a change of anything else.

    It reads one stream, inserts into a stream or returns its events, and shares no state with other queries.
    """
    input_, output = query.input, query.output
    if not isinstance(input_, SingleInputPlan) or input_.kind is not SourceKind.STREAM or query.limit is not None:
        return False
    if output.action is not Action.RETURN and (
        output.action is not Action.INSERT or output.kind is not SourceKind.STREAM or output.target not in plan.streams
    ):
        return False
    if any(isinstance(each, StreamFunctionPlan) and each.function.awaiting is not None for each in input_.before):
        return False
    unit = unit_of(query)
    return not unit.uses and not unit.changes


def with_batches(plan: Plan, units: Sequence[Unit]) -> Plan:
    """Return a plan that says how batches run with these units; :func:`units_of` returns those of a plan."""
    return replace(plan, batches=batch_plans(plan, units))


def _catalog(
    plan: Plan, registry: Registry, properties: Mapping[str, str] | None, config: Configuration | None
) -> Catalog:
    """Return a catalog with everything that the app has."""
    app = plan.app
    catalog = Catalog(registry, (), properties, config)
    catalog.app_is_named = app.name is not None
    catalog.partial_matches = app_limit(app.annotations, app, None)
    catalog.limits = app_limits(app.annotations, catalog.permissions, app)
    catalog.time_zone = app_zone(app.annotations, app)
    catalog.streams = dict(plan.streams)
    catalog.tables = plan.tables
    catalog.windows = plan.windows
    catalog.aggregations = plan.aggregations
    catalog.triggers = plan.triggers
    catalog.functions = plan.functions
    return catalog


def _reaches_number(plan: Plan, stream: str, added: int) -> bool:
    """Return whether so many queries more suffice for a predicate index of a stream."""
    found = added
    for query in plan.executions:
        if found >= FEWEST_QUERIES:
            return True
        if (
            isinstance(query, QueryPlan)
            and (not isinstance(query.input, SingleInputPlan) or query.input.source == stream)
            and can_be_filed(query)
        ):
            found += 1
    return found >= FEWEST_QUERIES
