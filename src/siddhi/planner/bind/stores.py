"""Bind ``@store`` of a table."""

from __future__ import annotations

from siddhi.extension.connectors import StoreMetadata
from siddhi.planner.bind.annotations import duration_ms, only, positive, required
from siddhi.planner.bind.catalog import Catalog
from siddhi.planner.bind.connector_options import extension_of, options_of, require_options
from siddhi.planner.bind.references import resolved
from siddhi.planner.plan.connectors import CachePlan, StoreErrorAction, StorePlan
from siddhi.planner.problems import close_to, creation_error, located
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.definition import TableDefinition
from siddhi.query_api.span import Node

__all__ = ["plan_store"]

_POLICIES = ("FIFO", "LRU", "LFU")
_CACHE_ELEMENTS = ("size", "cache.policy", "retention.period", "purge.interval")


def plan_store(catalog: Catalog, definition: TableDefinition) -> StorePlan | None:
    """Return the store of a table; None: the table is in memory.

    Raises:
        SiddhiAppError: the store is unknown, or an option is invalid.
    """
    annotation = only(definition.annotations, "store")
    if annotation is None:
        return None
    at: Node = located(annotation, definition)
    annotation = resolved(catalog, annotation, at)
    metadata = extension_of(catalog, StoreMetadata, annotation, "type", at)
    elements = [element for element in annotation.elements if (element.key or "").lower() != "on.error"]
    options = options_of(catalog, metadata, elements, (), at)
    require_options(catalog, metadata, [options], at)
    return StorePlan(
        store=metadata,
        options=options,
        on_error=_on_error(catalog, annotation, at),
        cache=_cache(catalog, annotation, at),
        config=catalog.extension_config(metadata),
        app_is_named=catalog.app_is_named,
        span=at.span,
    )


def _cache(catalog: Catalog, store: Annotation, at: Node) -> CachePlan | None:
    annotation = only(store.annotations, "cache")
    if annotation is None:
        return None
    location: Node = located(annotation, at)
    for element in annotation.elements:
        name = (element.key or "").lower()
        if name not in _CACHE_ELEMENTS:
            raise creation_error(
                "E315",
                f"unknown element '{element.key or element.value}' in @cache",
                located(element, location),
                close_to(name, _CACHE_ELEMENTS) or f"the elements are {', '.join(_CACHE_ELEMENTS)}",
            )
    policy = (annotation.element("cache.policy") or _POLICIES[0]).strip().upper()
    if policy not in _POLICIES:
        raise creation_error(
            "E315", f"invalid 'cache.policy' of @cache: '{policy}'", location, f"use one of {', '.join(_POLICIES)}"
        )
    retention, purge = annotation.element("retention.period"), annotation.element("purge.interval")
    size = positive(annotation, "size", required(annotation, "size", at), at)
    catalog.permissions.limit("max_events", size, "'size' of @cache", location)
    return CachePlan(
        size,
        policy,
        None if retention is None else duration_ms(annotation, "retention.period", retention, at),
        None if purge is None else duration_ms(annotation, "purge.interval", purge, at),
    )


def _on_error(catalog: Catalog, annotation: Annotation, at: Node) -> StoreErrorAction:
    value = annotation.element("on.error")
    if value is None:
        return StoreErrorAction.RETRY
    for action in StoreErrorAction:
        if action.value == value.strip().upper():
            if action is StoreErrorAction.STORE:
                catalog.permissions.error_store(at)
            return action
    raise creation_error(
        "E315",
        f"invalid 'on.error' of @{annotation.name}: '{value}'",
        at,
        f"use one of {', '.join(action.value for action in StoreErrorAction)}",
    )
