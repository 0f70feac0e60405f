"""Bind partitions: keys, inner streams, queries, purging."""

from __future__ import annotations

from collections.abc import Sequence

from siddhi.planner.bind.annotations import boolean, duration_ms, only, required
from siddhi.planner.bind.catalog import Catalog, Source
from siddhi.planner.bind.limits import partition_limit
from siddhi.planner.bind.queries import plan_query
from siddhi.planner.bind.resolver import Resolver
from siddhi.planner.bind.scope import SourceScope
from siddhi.planner.plan.nodes import (
    PartitionPlan,
    PurgePlan,
    QueryPlan,
    RangeKeyPlan,
    SourceKind,
    StreamPlan,
    ValueKeyPlan,
)
from siddhi.planner.problems import creation_error, duplicate_name, located
from siddhi.query_api.query import Partition, PartitionKey, RangeKey, ValueKey

__all__ = ["DEFAULT_PURGE_INTERVAL_MS", "plan_keys", "plan_partition", "plan_purge"]

DEFAULT_PURGE_INTERVAL_MS = 300_000
"""Default interval of ``@purge``."""


def plan_partition(catalog: Catalog, node: Partition, name: str, query_names: Sequence[str]) -> PartitionPlan:
    """Bind a partition.

    Args:
        name: the name of the partition.
        query_names: the names of its queries.

    Raises:
        SiddhiAppError: a key or a query is invalid.
    """
    keys = plan_keys(catalog, node)
    purge = plan_purge(node)
    limit = partition_limit(node, catalog)
    inner: dict[str, StreamPlan] = {}
    queries: list[QueryPlan] = []
    catalog.inner = inner
    try:
        for query, query_name in zip(node.queries, query_names, strict=True):
            queries += plan_query(catalog, query, query_name)
    finally:
        catalog.inner = None
    return PartitionPlan(
        name=name,
        keys=keys,
        inner_streams=tuple(inner.values()),
        queries=tuple(queries),
        purge=purge,
        limit=limit,
        span=node.span,
    )


def plan_keys(catalog: Catalog, node: Partition) -> tuple[ValueKeyPlan | RangeKeyPlan, ...]:
    """Bind the keys of a partition.

    Raises:
        SiddhiAppError: there is none, or one is invalid.
    """
    if not node.keys:
        raise creation_error("E318", "a partition needs at least one key", node)
    keys = tuple(_plan_key(catalog, key, node) for key in node.keys)
    keyed: set[str] = set()
    for key, written in zip(keys, node.keys, strict=True):
        if key.stream in keyed:
            location = located(written, node)
            raise duplicate_name(f"duplicate partition key for '{key.stream}'", location)
        keyed.add(key.stream)
    return keys


def _plan_key(catalog: Catalog, key: PartitionKey, node: Partition) -> ValueKeyPlan | RangeKeyPlan:
    location = located(key, node)
    source: Source = catalog.source(key.stream, location)
    if source.kind not in (SourceKind.STREAM, SourceKind.WINDOW):
        raise creation_error("E318", f"only streams and windows can have a partition key, not {source.what}", location)
    scope = SourceScope(source.label, source.attributes, what=source.what)
    resolver = Resolver(catalog, scope)
    if isinstance(key, ValueKey):
        return ValueKeyPlan(source.label, source.kind, resolver(key.expression))
    assert isinstance(key, RangeKey)
    return RangeKeyPlan(
        source.label,
        source.kind,
        tuple(
            (label, resolver.condition(f"the range '{label}'", condition, location)) for label, condition in key.ranges
        ),
    )


def plan_purge(node: Partition) -> PurgePlan | None:
    """Bind ``@purge``; None: there is none, or it is disabled.

    Raises:
        SiddhiAppCreationError: an element is missing or invalid.
    """
    annotation = only(node.annotations, "purge")
    if annotation is None:
        return None
    enabled = boolean(annotation, "enable", required(annotation, "enable", node), node)
    idle = duration_ms(annotation, "idle.period", required(annotation, "idle.period", node), node)
    interval = annotation.element("interval")
    interval_ms = DEFAULT_PURGE_INTERVAL_MS if interval is None else duration_ms(annotation, "interval", interval, node)
    return PurgePlan(interval_ms, idle) if enabled else None
