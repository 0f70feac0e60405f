"""Bind ``@source`` and ``@sink`` of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from siddhi.extension.connectors import (
    ConnectorMetadata,
    DistributionStrategyMetadata,
    SinkMapperMetadata,
    SinkMetadata,
    SourceMapperMetadata,
    SourceMetadata,
)
from siddhi.planner.bind.annotations import only
from siddhi.planner.bind.catalog import Catalog
from siddhi.planner.bind.connector_options import extension_of, options_of, require_options
from siddhi.planner.bind.references import resolved
from siddhi.planner.bind.templates import plan_template
from siddhi.planner.plan.connectors import (
    AttributeMappingPlan,
    DistributionPlan,
    OptionPlan,
    SinkErrorAction,
    SinkPlan,
    SourcePlan,
    TemplatePlan,
)
from siddhi.planner.problems import close_to, creation_error
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.definition import Attribute, StreamDefinition
from siddhi.query_api.span import Node

__all__ = ["plan_sinks", "plan_sources"]

_K = TypeVar("_K", bound=ConnectorMetadata)

_TRANSPORT = "trp:"


def plan_sources(catalog: Catalog, definition: StreamDefinition) -> tuple[SourcePlan, ...]:
    """Return the sources of a stream, in text order.

    Raises:
        SiddhiAppError: an extension is unknown, or an option or mapping is invalid.
    """
    return tuple(
        _source(catalog, definition, annotation)
        for annotation in definition.annotations
        if annotation.name.lower() == "source"
    )


def plan_sinks(catalog: Catalog, definition: StreamDefinition) -> tuple[SinkPlan, ...]:
    """Return the sinks of a stream, in text order.

    Raises:
        SiddhiAppError: as :func:`plan_sources`.
    """
    return tuple(
        _sink(catalog, definition, annotation)
        for annotation in definition.annotations
        if annotation.name.lower() == "sink"
    )


def _source(catalog: Catalog, definition: StreamDefinition, annotation: Annotation) -> SourcePlan:
    at = _place(annotation, definition)
    annotation = resolved(catalog, annotation, at)
    metadata = extension_of(catalog, SourceMetadata, annotation, "type", at)
    options = options_of(catalog, metadata, annotation.elements, (), at)
    require_options(catalog, metadata, [options], at)
    map_ = only(annotation.annotations, "map")
    mapper, mapper_options = _mapper(catalog, SourceMapperMetadata, map_, (), at)
    return SourcePlan(
        source=metadata,
        options=options,
        mapper=mapper,
        mapper_options=mapper_options,
        mappings=() if map_ is None else _mappings(map_, definition, at),
        config=catalog.extension_config(metadata),
        span=at.span,
    )


def _sink(catalog: Catalog, definition: StreamDefinition, annotation: Annotation) -> SinkPlan:
    at = _place(annotation, definition)
    annotation = resolved(catalog, annotation, at)
    metadata = extension_of(catalog, SinkMetadata, annotation, "type", at)
    attributes = definition.attributes
    elements = [element for element in annotation.elements if (element.key or "").lower() != "on.error"]
    options = options_of(catalog, metadata, elements, attributes, at)
    map_ = only(annotation.annotations, "map")
    mapper, mapper_options = _mapper(catalog, SinkMapperMetadata, map_, attributes, at)
    distribution = _distribution(catalog, metadata, annotation, options, attributes, at)
    require_options(catalog, metadata, [options] if distribution is None else distribution.clients, at)
    return SinkPlan(
        sink=metadata,
        options=options,
        mapper=mapper,
        mapper_options=mapper_options,
        payloads=() if map_ is None else _payloads(map_, attributes, at, plain=_is_plain(mapper, mapper_options)),
        on_error=_on_error(catalog, annotation, at),
        distribution=distribution,
        config=catalog.extension_config(metadata),
        span=at.span,
    )


def _mapper(
    catalog: Catalog, kind: type[_K], annotation: Annotation | None, attributes: Sequence[Attribute], at: Node
) -> tuple[_K, tuple[OptionPlan, ...]]:
    if annotation is None:
        found = catalog.registry.connector(kind, "passThrough")
        assert found is not None
        return found, ()
    place = _place(annotation, at)
    metadata = extension_of(catalog, kind, annotation, "type", place)
    options = options_of(catalog, metadata, annotation.elements, attributes, place)
    require_options(catalog, metadata, [options], place)
    return metadata, options


def _mappings(map_: Annotation, definition: StreamDefinition, at: Node) -> tuple[AttributeMappingPlan, ...]:
    annotation = only(map_.annotations, "attributes")
    if annotation is None or not annotation.elements:
        return ()
    place = _place(annotation, at)
    attributes = definition.attributes
    named = [element.key for element in annotation.elements if element.key is not None]
    if named and len(named) < len(annotation.elements):
        raise creation_error(
            "E315", "@attributes mixes elements with and without names", place, "name all elements, or none"
        )
    if not named:
        if len(annotation.elements) != len(attributes):
            raise creation_error(
                "E315",
                f"@attributes has {len(annotation.elements)} elements, but stream '{definition.id}' has {len(attributes)} attributes",
                place,
            )
        return tuple(
            _mapping(attribute.name, position, element.value)
            for position, (attribute, element) in enumerate(zip(attributes, annotation.elements, strict=True))
        )
    names = [attribute.name for attribute in attributes]
    for name in named:
        if name not in names:
            raise creation_error(
                "E315", f"stream '{definition.id}' has no attribute '{name}'", place, close_to(name, names)
            )
    missing = [name for name in names if name not in named]
    if missing:
        raise creation_error("E315", f"@attributes does not map {', '.join(missing)}", place, "map every attribute")
    return tuple(
        _mapping(element.key, names.index(element.key), element.value)
        for element in annotation.elements
        if element.key is not None
    )


def _mapping(name: str, position: int, mapping: str) -> AttributeMappingPlan:
    transport = mapping[len(_TRANSPORT) :] if mapping.startswith(_TRANSPORT) else None
    return AttributeMappingPlan(name, position, mapping, transport)


def _is_plain(mapper: SinkMapperMetadata, options: Iterable[OptionPlan]) -> bool:
    """Return whether the mapper reads the texts of ``@payload`` itself."""
    return any(
        option.name == mapper.plain_payload_if and str(option.templates[0].parts[0]).strip().lower() == "true"
        for option in options
    )


def _payloads(
    map_: Annotation, attributes: Sequence[Attribute], at: Node, *, plain: bool
) -> tuple[tuple[str, TemplatePlan], ...]:
    annotation = only(map_.annotations, "payload")
    if annotation is None:
        return ()
    place = _place(annotation, at)
    if not annotation.elements:
        raise creation_error("E315", "@payload is empty", place, "write @payload('...')")
    if len(annotation.elements) > 1 and any(element.key is None for element in annotation.elements):
        raise creation_error("E315", "@payload takes one value without a name, or values that all have names", place)
    return tuple(
        (
            element.key or "",
            TemplatePlan((element.value,))
            if plain
            else plan_template(element.value, attributes, _place(element, place)),
        )
        for element in annotation.elements
    )


def _on_error(catalog: Catalog, annotation: Annotation, at: Node) -> SinkErrorAction:
    value = annotation.element("on.error")
    if value is None:
        return SinkErrorAction.LOG
    for action in SinkErrorAction:
        if action.value == value.strip().upper():
            if action is SinkErrorAction.STORE:
                catalog.permissions.error_store(at)
            return action
    raise creation_error(
        "E315",
        f"invalid 'on.error' of @{annotation.name}: '{value}'",
        at,
        f"use one of {', '.join(action.value for action in SinkErrorAction)}",
    )


def _distribution(
    catalog: Catalog,
    metadata: SinkMetadata,
    annotation: Annotation,
    options: tuple[OptionPlan, ...],
    attributes: Sequence[Attribute],
    at: Node,
) -> DistributionPlan | None:
    found = only(annotation.annotations, "distribution")
    if found is None:
        return None
    place = _place(found, at)
    strategy = extension_of(catalog, DistributionStrategyMetadata, found, "strategy", place)
    strategy_options = options_of(catalog, strategy, found.elements, (), place, named_by="strategy")
    require_options(catalog, strategy, [strategy_options], place)
    destinations = [
        options_of(catalog, metadata, resolved(catalog, nested, place).elements, attributes, _place(nested, place))
        for nested in found.annotations
        if nested.name.lower() == "destination"
    ]
    if not destinations:
        raise creation_error(
            "E315", "@distribution has no @destination", place, "add @destination(...) for each destination"
        )
    if strategy.keyed:
        _check_key(strategy_options, attributes, place)
    # If destinations differ only in dynamic options, one client serves them all.
    names = [{option.name for option in destination} for destination in destinations]
    dynamic = {option.name for option in metadata.options if option.dynamic}
    if all(given <= dynamic for given in names) and all(given == names[0] for given in names):
        by_name = [{option.name: option.templates[0] for option in destination} for destination in destinations]
        own = tuple(
            OptionPlan(option.name, tuple(templates[option.name] for templates in by_name))
            for option in destinations[0]
        )
        clients = [_merged(options, own)]
    else:
        clients = [_merged(options, destination) for destination in destinations]
    return DistributionPlan(
        strategy=strategy, options=strategy_options, destinations=len(destinations), clients=tuple(clients)
    )


def _check_key(options: Iterable[OptionPlan], attributes: Sequence[Attribute], at: Node) -> None:
    names = [attribute.name for attribute in attributes]
    for option in options:
        if option.name == "partitionKey" and (key := str(option.templates[0].parts[0])) not in names:
            raise creation_error(
                "E326",
                f"unknown attribute '{key}' in 'partitionKey'",
                at,
                close_to(key, names) or f"the attributes are {', '.join(names)}",
            )


def _merged(options: Iterable[OptionPlan], own: Iterable[OptionPlan]) -> tuple[OptionPlan, ...]:
    """Return the options of a destination, completed with those of its sink."""
    return tuple({option.name.lower(): option for option in (*options, *own)}.values())


def _place(node: Node, otherwise: Node) -> Node:
    return node if node.span is not None else otherwise
