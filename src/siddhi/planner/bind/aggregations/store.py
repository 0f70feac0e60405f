"""Bind ``@store`` and ``@PartitionById`` of an aggregation: where its rows are stored, and which node owns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.planner.bind.annotations import boolean, only
from siddhi.planner.bind.stores import plan_store
from siddhi.planner.plan.connectors import StoreErrorAction, StorePlan
from siddhi.planner.problems import creation_error, located
from siddhi.query_api.annotation import find_annotation
from siddhi.query_api.definition import AggregationDefinition, Attribute, TableDefinition
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["SHARD", "plan_shard", "plan_stores"]

SHARD = Attribute("SHARD_ID", AttributeType.STRING)
"""The node that owns a row: the second attribute of tables that nodes share."""


def plan_stores(
    catalog: Catalog, definition: AggregationDefinition, tables: tuple[str, ...], attributes: tuple[Attribute, ...]
) -> dict[str, StorePlan]:
    """Return the store of each table of an aggregation; empty: the tables are in memory.

    Args:
        tables: the ids of the tables.
        attributes: the attributes of each table.

    Raises:
        SiddhiAppError: the store is unknown, or an option is invalid.
    """
    annotation = only(definition.annotations, "store")
    if annotation is None:
        return {}
    at = located(annotation, definition)
    if annotation.element("table.name") is not None:
        raise creation_error(
            "E325",
            f"'table.name' is not allowed in @store of aggregation '{definition.id}', which has {len(tables)} tables",
            at,
            f"remove 'table.name': the tables are named {', '.join(tables)}",
        )
    if (annotation.element("on.error") or "retry").strip().upper() != StoreErrorAction.RETRY.value:
        raise creation_error("E325", "'on.error' of the store of an aggregation must be RETRY", at, "remove 'on.error'")
    if find_annotation(annotation.annotations, "cache") is not None:
        raise creation_error(
            "E325",
            "@cache is not allowed on the store of an aggregation",
            at,
            "remove it: recent buckets are in memory",
        )
    found = {}
    for table in tables:
        store = plan_store(catalog, TableDefinition(table, attributes, (annotation,), span=definition.span))
        assert store is not None
        found[table] = store
    return found


def plan_shard(catalog: Catalog, definition: AggregationDefinition) -> str | None:
    """Return the name of this node where several nodes share the tables of the aggregation, else None.

    Raises:
        SiddhiAppError: the node has no name, or the tables are in memory.
    """
    annotation = only(definition.annotations, "PartitionById")
    at = annotation if annotation is not None and annotation.span is not None else definition
    shared = catalog.properties.get("partitionById", "").strip().lower() == "true"
    if annotation is not None:
        enable = annotation.element("enable")
        # The system property applies to all apps: no app can opt out.
        shared = enable is None or boolean(annotation, "enable", enable, at) or shared
    if not shared:
        return None
    if only(definition.annotations, "store") is None:
        raise creation_error(
            "E325", f"nodes can't share aggregation '{definition.id}', which is kept in memory", at, "add @store(...)"
        )
    named = None if annotation is None else annotation.element("shardId")
    shard = named if named is not None else catalog.properties.get("shardId")
    if not shard:
        raise creation_error(
            "E325",
            f"missing 'shardId' of aggregation '{definition.id}', which several nodes share",
            at,
            "write @PartitionById(shardId = '${NODE}'), or set the property 'shardId'",
        )
    return shard
