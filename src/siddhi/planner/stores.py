"""``@store`` of a table → its plan."""

from __future__ import annotations

from siddhi.extension.connectors import StoreMetadata
from siddhi.planner.annotations import only
from siddhi.planner.catalog import Catalog
from siddhi.planner.connector_options import extension_of, options_of, require_options
from siddhi.planner.connectors_plan import StoreErrorAction, StorePlan
from siddhi.planner.problems import creation_error, unsupported
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.definition import TableDefinition
from siddhi.query_api.span import Node

__all__ = ["plan_store"]


def plan_store(catalog: Catalog, definition: TableDefinition) -> StorePlan | None:
    """Where a table is kept; None: in memory.

    Raises:
        SiddhiAppError: there is no such store, or an option is wrong.
    """
    annotation = only(definition.annotations, "store")
    if annotation is None:
        return None
    at: Node = annotation if annotation.span is not None else definition
    metadata = extension_of(catalog, StoreMetadata, annotation, "type", at)
    cache = only(annotation.annotations, "cache")
    if cache is not None:
        place: Node = cache if cache.span is not None else at
        raise unsupported("caches of stores (@cache)", place, "leave @cache out: every read asks the store")
    elements = [element for element in annotation.elements if (element.key or "").lower() != "on.error"]
    options = options_of(catalog, metadata, elements, (), at)
    require_options(metadata, [options], at)
    return StorePlan(store=metadata, options=options, on_error=_on_error(annotation, at), span=at.span)


def _on_error(annotation: Annotation, at: Node) -> StoreErrorAction:
    value = annotation.element("on.error")
    if value is None:
        return StoreErrorAction.RETRY
    for action in StoreErrorAction:
        if action.value == value.strip().upper():
            return action
    raise creation_error(
        "E315",
        f"'on.error' of @{annotation.name} can't be '{value}'",
        at,
        f"use one of {', '.join(action.value for action in StoreErrorAction)}",
    )
