"""Bind partitions of temporal streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from siddhi._frozen import replace
from siddhi.planner.bind.annotations import only
from siddhi.planner.bind.partitions import plan_keys, plan_purge
from siddhi.planner.bind.temporal.keyed import KeyedStreams
from siddhi.planner.bind.temporal.queries import plan_temporal_query
from siddhi.planner.plan.expressions import Aggregate, Call, InTable
from siddhi.planner.plan.nodes import StreamPlan, ValueKeyPlan
from siddhi.planner.plan.temporal import TemporalPartitionPlan, TemporalQueryPlan
from siddhi.planner.plan.walk import walk
from siddhi.planner.plan.warning import AppWarning
from siddhi.planner.problems import creation_error, located
from siddhi.query_api.query import Partition

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["plan_temporal_partition"]


def plan_temporal_partition(
    catalog: Catalog, node: Partition, name: str, query_names: Sequence[str], position: int
) -> tuple[TemporalPartitionPlan, list[TemporalQueryPlan]] | None:
    """Bind a partition whose queries are temporal, and these queries; None: they are classical.

    Args:
        name: name of the partition.
        query_names: names of its queries.
        position: index of the partition among the executions of the app.

    Raises:
        SiddhiAppError: a query is invalid, or some are temporal and some classical.
    """
    if not any(stream.temporal for stream in catalog.streams.values()):
        return None
    keys = plan_keys(catalog, node)
    purge = plan_purge(node)
    keyed = KeyedStreams(catalog, name, keys, purge)
    queries: list[TemporalQueryPlan] = []
    classical = None
    inner: dict[str, StreamPlan] = {}
    catalog.inner = inner
    try:
        for query, query_name in zip(node.queries, query_names, strict=True):
            planned = plan_temporal_query(catalog, query, f"{name}/{query_name}", position, keyed)
            if planned is not None:
                queries.append(planned)
            elif classical is None:
                classical = (query, query_name)
    finally:
        catalog.inner = None
    if not queries:
        return None
    if classical is not None:
        raise creation_error(
            "E326",
            f"partition '{name}' has temporal queries, and query '{classical[1]}' is classical",
            classical[0],
            "write two partitions, one of them with the classical queries",
        )
    limit = only(node.annotations, "limit")
    if limit is not None:
        raise creation_error(
            "E326",
            "@limit of a temporal partition is not supported: a key whose lifetimes are over has no state",
            located(limit, node),
            "remove @limit, and bound lifetimes with alterDuration or clip, or use @purge",
        )
    if purge is not None and not keyed.has_idle_state:
        catalog.note(
            AppWarning(
                f"@purge of temporal partition '{name}' has no effect: it has neither countByStartTime nor pointToSignal, and "
                "a key whose lifetimes are over has no other state",
                located(only(node.annotations, "purge") or node, node),
                "remove it",
            )
        )
    used = tuple(key for key in keys if key.stream in keyed.used)
    for key in used:
        conditions = [key.expression] if isinstance(key, ValueKeyPlan) else [condition for _, condition in key.ranges]
        for part in (part for condition in conditions for part in walk(condition)):
            read = "a table, whose rows have no lifetimes" if isinstance(part, InTable) else None
            if isinstance(part, Call) and part.function.reads_clock:
                read = "the clock"
            elif isinstance(part, Aggregate):
                read = "an aggregator, which depends on the order of arrival"
            if read is not None:
                raise creation_error(
                    "E326",
                    f"the partition key of temporal stream '{key.stream}' reads {read}",
                    node,
                    "compute the key from attributes of the stream",
                )
    inner_streams = tuple(
        replace(stream, id=keyed.id_of(label), attributes=(*stream.attributes, keyed.attribute))
        for label, stream in inner.items()
    )
    plan = TemporalPartitionPlan(
        name=name,
        position=position,
        keys=used,
        key_type=keyed.type,
        inner_streams=inner_streams,
        purge=purge,
        span=node.span,
    )
    return plan, queries
