"""``@store`` and ``@PartitionById`` of an aggregation: where its rows are kept, and whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.planner.bind.annotations import boolean, only
from siddhi.planner.bind.stores import plan_store
from siddhi.planner.plan.connectors import StoreErrorAction, StorePlan
from siddhi.planner.problems import creation_error
from siddhi.query_api.annotation import find_annotation
from siddhi.query_api.definition import AggregationDefinition, Attribute, TableDefinition
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["SHARD", "plan_shard", "plan_stores"]

SHARD = Attribute("SHARD_ID", AttributeType.STRING)
"""Which node a row is of: the second attribute of tables that nodes share."""


def plan_stores(
    catalog: Catalog, definition: AggregationDefinition, tables: tuple[str, ...], attributes: tuple[Attribute, ...]
) -> dict[str, StorePlan]:
    """Where each table of an aggregation is kept; empty: in memory.

    Args:
        tables: their ids.
        attributes: of each of them.

    Raises:
        SiddhiAppError: there is no such store, or an option is wrong.
    """
    annotation = only(definition.annotations, "store")
    if annotation is None:
        return {}
    at = annotation if annotation.span is not None else definition
    if annotation.element("table.name") is not None:
        raise creation_error(
            "E325",
            f"the {len(tables)} tables of aggregation '{definition.id}' can't all have one name",
            at,
            f"leave 'table.name' out: they are called {', '.join(tables)}",
        )
    if (annotation.element("on.error") or "retry").strip().upper() != StoreErrorAction.RETRY.value:
        raise creation_error(
            "E325", "an aggregation waits until its store is back: 'on.error' is RETRY", at, "leave 'on.error' out"
        )
    if find_annotation(annotation.annotations, "cache") is not None:
        raise creation_error(
            "E325", "an aggregation has no @cache: what it reads often is in memory", at, "leave it out"
        )
    found = {}
    for table in tables:
        store = plan_store(catalog, TableDefinition(table, attributes, (annotation,), span=definition.span))
        assert store is not None
        found[table] = store
    return found


def plan_shard(catalog: Catalog, definition: AggregationDefinition) -> str | None:
    """The name of this node, where several share the tables of the aggregation; else None.

    Raises:
        SiddhiAppError: it has no name, or nothing is shared.
    """
    annotation = only(definition.annotations, "PartitionById")
    at = annotation if annotation is not None and annotation.span is not None else definition
    shared = catalog.properties.get("partitionById", "").strip().lower() == "true"
    if annotation is not None:
        enable = annotation.element("enable")
        # The property is for all apps of the system: none of them opts out.
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
            f"nodes share aggregation '{definition.id}', and the name of this one, 'shardId', is not given",
            at,
            "write @PartitionById(shardId = '${NODE}'), or set the property",
        )
    return shard
