"""Bind tables: attributes, primary key and indexes."""

from __future__ import annotations

from siddhi.planner.bind.annotations import only
from siddhi.planner.bind.catalog import Catalog
from siddhi.planner.bind.limits import table_limit
from siddhi.planner.bind.stores import plan_store
from siddhi.planner.plan.nodes import TablePlan
from siddhi.planner.problems import check_key, creation_error, duplicate_annotation, located, unknown_attribute
from siddhi.query_api.annotation import find_annotation
from siddhi.query_api.definition import TableDefinition
from siddhi.query_api.span import Node

__all__ = ["plan_table"]


def plan_table(catalog: Catalog, definition: TableDefinition) -> TablePlan:
    """Return the plan of a table, in memory or in a store.

    Raises:
        SiddhiAppError: a key, index or store annotation is invalid.
    """
    obsolete = find_annotation(definition.annotations, "IndexBy")
    if obsolete is not None:
        raise creation_error(
            "E315", "@IndexBy is no longer supported", located(obsolete, definition), "use @Index or @PrimaryKey"
        )
    store = plan_store(catalog, definition)
    indexes = _indexes(definition, several=store is not None)
    return TablePlan(
        id=definition.id,
        attributes=definition.attributes,
        primary_key=_primary_key(definition),
        indexes=tuple(positions[0] for positions in indexes) if store is None else (),
        store=store,
        store_indexes=() if store is None else indexes,
        limit=table_limit(definition, catalog, stored=store is not None),
        annotations=definition.annotations,
        span=definition.span,
    )


def _primary_key(definition: TableDefinition) -> tuple[int, ...]:
    annotation = only(definition.annotations, "PrimaryKey")
    if annotation is None:
        return ()
    if not annotation.elements:
        raise creation_error(
            "E315",
            "@PrimaryKey requires at least one attribute",
            located(annotation, definition),
            "write @PrimaryKey('attribute')",
        )
    check_key("a primary key", [element if element.span else annotation for element in annotation.elements], definition)
    positions: list[int] = []
    for element in annotation.elements:
        position = _position(definition, element.value, located(element, annotation))
        if position in positions:
            raise duplicate_annotation(f"attribute '{element.value}' in @PrimaryKey", located(annotation, definition))
        positions.append(position)
    return tuple(positions)


def _indexes(definition: TableDefinition, *, several: bool) -> tuple[tuple[int, ...], ...]:
    """Return the attributes of each index; ``several``: an index can have more than one."""
    found: list[tuple[int, ...]] = []
    for annotation in definition.annotations:
        if annotation.name.lower() != "index":
            continue
        location = located(annotation, definition)
        if not annotation.elements or (len(annotation.elements) > 1 and not several):
            raise creation_error(
                "E315", "@Index requires exactly one attribute", location, "use one @Index per attribute"
            )
        positions = tuple(_position(definition, element.value, annotation) for element in annotation.elements)
        if positions in found:
            raise duplicate_annotation(f"@Index of '{annotation.elements[0].value}'", location)
        found.append(positions)
    return tuple(found)


def _position(definition: TableDefinition, name: str, at: Node) -> int:
    names = [attribute.name for attribute in definition.attributes]
    if name not in names:
        raise unknown_attribute(name, f"table '{definition.id}'", names, located(at, definition))
    return names.index(name)
