"""Plan a whole app."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from siddhi.errors import SiddhiAppCreationError, SiddhiAppError
from siddhi.extension.registry import Registry, shared_registry
from siddhi.planner.bind.aggregations.zone import app_zone
from siddhi.planner.bind.annotations import only
from siddhi.planner.bind.app_annotations import plan_app_annotations
from siddhi.planner.bind.catalog import Catalog, Configuration
from siddhi.planner.bind.definitions import plan_definitions
from siddhi.planner.bind.limits import app_limits
from siddhi.planner.bind.outputs import target_label
from siddhi.planner.bind.partitions import plan_partition
from siddhi.planner.bind.patterns.limit import app_limit
from siddhi.planner.bind.queries import plan_query
from siddhi.planner.bind.resources import resources_of
from siddhi.planner.bind.sandbox_limits import refuse_excess
from siddhi.planner.bind.temporal.corrections import refuse_uncorrectable
from siddhi.planner.bind.temporal.ends import check_selected_ends
from siddhi.planner.bind.temporal.fills import check_classical_inserts, released_streams
from siddhi.planner.bind.temporal.imports import check_imports
from siddhi.planner.bind.temporal.partitions import plan_temporal_partition
from siddhi.planner.bind.temporal.queries import (
    plan_temporal_query,
    warn_of_mixed_inputs,
)
from siddhi.planner.plan.nodes import PartitionPlan, Plan, Playback, QueryPlan
from siddhi.planner.plan.temporal import TemporalPartitionPlan, TemporalQueryPlan
from siddhi.planner.plan.warning import AppWarning
from siddhi.planner.problems import creation_error, duplicate_name
from siddhi.planner.rules import applied
from siddhi.planner.warnings import advice
from siddhi.query_api.app import SiddhiApp
from siddhi.query_api.query import Partition, Query
from siddhi.query_api.selection import InsertInto
from siddhi.sandbox import SandboxPolicy

__all__ = ["plan"]


def plan(
    app: SiddhiApp,
    *,
    registry: Registry | None = None,
    source: str | None = None,
    properties: Mapping[str, str] | None = None,
    config: Configuration | None = None,
    policy: SandboxPolicy | None = None,
) -> Plan:
    """Resolve names, infer types and check every parameter of an app.

    Args:
        app: the app.
        registry: the extensions that the app can use; None: those of the process.
        source: the text of the app for error messages, if ``app.source`` is None.
        properties: settings of the system; ``aggTimeZone`` is the default time zone of the buckets of aggregations
            (GMT without it).
        config: the configuration of extensions.
        policy: the sandbox policy of the app; None: trusted.

    Returns:
        The plan. An app without ``@app:name`` gets a random name.

    Raises:
        SiddhiAppError: the app is invalid or not supported; the error has a location and a hint.
    """
    try:
        return _plan(app, shared_registry() if registry is None else registry, properties, config, policy)
    except SiddhiAppError as error:
        error.located(source=source if app.source is None else app.source, app=app.name)
        raise


def _plan(
    app: SiddhiApp,
    registry: Registry,
    properties: Mapping[str, str] | None,
    config: Configuration | None,
    policy: SandboxPolicy | None,
) -> Plan:
    settings = plan_app_annotations(app)
    catalog = Catalog(registry, _filled(app), properties, config, policy)
    refuse_excess(catalog.permissions, app, settings)
    catalog.resources = resources_of(app)
    catalog.app_is_named = settings.name is not None
    catalog.partial_matches = app_limit(app.annotations, app, None if policy is None else policy.max_events)
    catalog.limits = app_limits(app.annotations, catalog.permissions, app)
    catalog.time_zone = app_zone(app.annotations, app)
    plan_definitions(app, catalog)
    names = _Names(app)
    executions: list[QueryPlan | PartitionPlan] = []
    partitions = 0
    temporal_queries: list[TemporalQueryPlan] = []
    temporal_partitions: list[TemporalPartitionPlan] = []
    for position, execution in enumerate(app.executions):
        if isinstance(execution, Query):
            query_name = names.of(execution, top_level=True)
            temporal_query = plan_temporal_query(catalog, execution, query_name, position)
            if temporal_query is not None:
                temporal_queries.append(temporal_query)
            else:
                executions += plan_query(catalog, execution, query_name)
        else:
            name = names.of_partition(execution, partitions)
            partitions += 1
            query_names = [names.of(query) for query in execution.queries]
            temporal_partition = plan_temporal_partition(catalog, execution, name, query_names, position)
            if temporal_partition is not None:
                temporal_partitions.append(temporal_partition[0])
                temporal_queries += temporal_partition[1]
            else:
                executions.append(plan_partition(catalog, execution, name, query_names))
    check_classical_inserts(catalog, executions)
    warn_of_mixed_inputs(catalog, executions)
    check_imports(catalog.streams, temporal_queries, temporal_partitions, released_streams(catalog, executions))
    check_selected_ends(catalog.streams, temporal_queries, temporal_partitions, released_streams(catalog, executions))
    refuse_uncorrectable(catalog, executions, settings.playback)
    temporal = next((stream for stream in catalog.streams.values() if stream.temporal or stream.correction), None)
    corrected = next((stream for stream in catalog.streams.values() if stream.correction), None)
    if corrected is not None and policy is not None:
        raise creation_error(
            "E326",
            f"stream '{corrected.id}' has the policy 'correct', which is not supported in a sandbox yet: no limit of a "
            "SandboxPolicy counts the events, rows and checkpoints that corrections keep",
            corrected.span,
            f"declare '{corrected.id}' with policy = 'drop' and send CTIs: results wait for them, and need no corrections; or "
            "run the app outside of a sandbox",
        )
    playback = settings.playback
    if playback is not None and playback.idle_time_ms and temporal is not None:
        raise creation_error(
            "E326",
            f"stream '{temporal.id}' is temporal, and idle.time of @app:playback moves the clock with the system's: results would "
            "depend on when events come",
            temporal.span,
            "leave out idle.time and increment: CTIs move the clock",
        )
    if playback is None and temporal is not None:
        playback = Playback()  # an app with a temporal stream runs on event time
    bound = Plan(
        name=settings.name if settings.name is not None else str(uuid.uuid4()),
        app=app,
        playback=playback,
        statistics=settings.statistics,
        streams=catalog.streams,
        tables=catalog.tables,
        windows=catalog.windows,
        aggregations=catalog.aggregations,
        triggers=catalog.triggers,
        functions=catalog.functions,
        executions=tuple(executions),
        temporal_queries=tuple(temporal_queries),
        temporal_partitions=tuple(temporal_partitions),
        warnings=tuple(sorted([*advice(app), *catalog.warnings], key=AppWarning.order)),
        policy=policy,
    )
    return applied(bound)


def _filled(app: SiddhiApp) -> set[str]:
    """Return the streams that queries insert into."""
    queries = [
        query
        for execution in app.executions
        for query in ((execution,) if isinstance(execution, Query) else execution.queries)
    ]
    outputs = (query.output for query in queries)
    return {target_label(output) or "" for output in outputs if isinstance(output, InsertInto)}


class _Names:
    """Names of queries and partitions: as written, else by their number in the text."""

    def __init__(self, app: SiddhiApp) -> None:
        self._count = 0
        self._given: set[str] = set()
        for execution in app.executions:
            name = execution.name if isinstance(execution, Query) else _partition_name(execution)
            if name is None:
                continue
            if name in self._given:
                raise duplicate_name(f"duplicate query or partition name '{name}'", execution)
            self._given.add(name)

    def of(self, query: Query, *, top_level: bool = False) -> str:
        """Return the name of the next query in text order."""
        self._count += 1
        if query.name is not None:
            return query.name
        name = f"query_{self._count}"
        if top_level and name in self._given:
            raise SiddhiAppCreationError(
                f"the default name '{name}' of a query without a name is already used",
                code="E208",
                span=query.span,
                hint="name the query with @info(name='...')",
            )
        return name

    def of_partition(self, partition: Partition, number: int) -> str:
        """Return the name of a partition; ``number`` counts partitions from 0."""
        return _partition_name(partition) or f"partition_{number}"


def _partition_name(partition: Partition) -> str | None:
    info = only(partition.annotations, "info")
    return None if info is None else info.element("name")
