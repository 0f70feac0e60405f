"""Bind ``@store`` of a table."""

from __future__ import annotations

from siddhi._frozen import replace
from siddhi.extension.connectors import StoreMetadata
from siddhi.extension.jdbc import is_jdbc, url_of_jdbc
from siddhi.planner.bind.annotations import duration_ms, only, positive, required
from siddhi.planner.bind.catalog import Catalog
from siddhi.planner.bind.connector_options import extension_of, options_of, require_options
from siddhi.planner.bind.references import resolved
from siddhi.planner.plan.connectors import CachePlan, StoreErrorAction, StorePlan
from siddhi.planner.plan.warning import AppWarning
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
    if (annotation.element("type") or "").lower() == "rdbms":
        annotation = _translated(catalog, resolved(catalog, annotation, at, "datasource"), at)
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


def _translated(catalog: Catalog, annotation: Annotation, at: Node) -> Annotation:
    """Return a store of an SQL database with the option ``url`` in place of ``jdbc.url``."""
    elements = []
    for element in annotation.elements:
        if (element.key or "").lower() not in ("url", "jdbc.url"):
            elements.append(element)
            continue
        location: Node = located(element, at)
        if (element.key or "").lower() == "jdbc.url" and annotation.element("url") is not None:
            raise creation_error("E326", "store 'rdbms' has both 'url' and 'jdbc.url'", location, "remove one of them")
        url = element.value
        if is_jdbc(url):
            try:
                url, ignored = url_of_jdbc(url)
            except ValueError as error:
                message, hint = error.args
                raise creation_error(
                    "E326", f"invalid '{element.key}' of store 'rdbms': {message}", location, hint
                ) from None
            for name in ignored:
                catalog.note(
                    AppWarning(
                        f"parameter '{name}' in '{element.key}' of store 'rdbms' has no effect",
                        location,
                        "remove it, or write a parameter of the Python driver into a 'url' of SQLAlchemy",
                    )
                )
        elements.append(replace(element, key="url", value=url))
    return replace(annotation, elements=tuple(elements))


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
