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
from siddhi.planner.bind.templates import plan_payload
from siddhi.planner.plan.connectors import (
    AttributeMappingPlan,
    DistributionPlan,
    OptionPlan,
    SinkErrorAction,
    SinkPlan,
    SourceErrorAction,
    SourcePlan,
    TemplatePlan,
)
from siddhi.planner.plan.warning import AppWarning
from siddhi.planner.problems import close_to, creation_error, located
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.definition import Attribute, StreamDefinition
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

__all__ = ["plan_sinks", "plan_sources"]

_K = TypeVar("_K", bound=ConnectorMetadata)

_TRANSPORT = "trp:"
_ON_MAPPING_ERROR = "on.mapping.error"
_OF_EVERY_SINK = ("on.error", "corrections")


def plan_sources(catalog: Catalog, definition: StreamDefinition, *, has_fault: bool) -> tuple[SourcePlan, ...]:
    """Return the sources of a stream, in text order.

    Args:
        catalog: the names of the app.
        definition: the stream.
        has_fault: whether the stream has a fault stream.

    Raises:
        SiddhiAppError: an extension is unknown, or an option or mapping is invalid.
    """
    return tuple(
        _source(catalog, definition, annotation, has_fault=has_fault)
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


def _source(catalog: Catalog, definition: StreamDefinition, annotation: Annotation, *, has_fault: bool) -> SourcePlan:
    at = located(annotation, definition)
    annotation = resolved(catalog, annotation, at)
    metadata = extension_of(catalog, SourceMetadata, annotation, "type", at)
    elements = [element for element in annotation.elements if (element.key or "").lower() != _ON_MAPPING_ERROR]
    options = options_of(catalog, metadata, elements, (), at)
    require_options(catalog, metadata, [options], at)
    map_ = only(annotation.annotations, "map")
    mapper, mapper_options = _mapper(catalog, SourceMapperMetadata, map_, (), at)
    return SourcePlan(
        source=metadata,
        options=options,
        mapper=mapper,
        mapper_options=mapper_options,
        mappings=() if map_ is None else _mappings(catalog, map_, definition, at),
        config=catalog.extension_config(metadata),
        on_mapping_error=_on_mapping_error(annotation, definition, at, has_fault=has_fault),
        app_is_named=catalog.app_is_named,
        span=at.span,
    )


def _sink(catalog: Catalog, definition: StreamDefinition, annotation: Annotation) -> SinkPlan:
    at = located(annotation, definition)
    annotation = resolved(catalog, annotation, at)
    metadata = extension_of(catalog, SinkMetadata, annotation, "type", at)
    action = annotation.element("corrections")
    attributes = definition.attributes if action is None else _with_action(definition, action, at)
    elements = [element for element in annotation.elements if (element.key or "").lower() not in _OF_EVERY_SINK]
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
        action=action,
        config=catalog.extension_config(metadata),
        span=at.span,
    )


def _with_action(definition: StreamDefinition, name: str, at: Node) -> tuple[Attribute, ...]:
    """Return the attributes of a sink that says of each row what it does."""
    if not name.isidentifier() or any(attribute.name == name for attribute in definition.attributes):
        raise creation_error(
            "E315",
            f"'corrections' of @sink names an additional attribute: '{name}' is "
            f"{'one of the stream already' if name.isidentifier() else 'not a name'}",
            at,
            "write corrections = 'op', or another name",
        )
    return (*definition.attributes, Attribute(name, AttributeType.STRING))


def _mapper(
    catalog: Catalog, kind: type[_K], annotation: Annotation | None, attributes: Sequence[Attribute], at: Node
) -> tuple[_K, tuple[OptionPlan, ...]]:
    if annotation is None:
        found = catalog.registry.connector(kind, "passThrough")
        assert found is not None
        return found, ()
    location = located(annotation, at)
    metadata = extension_of(catalog, kind, annotation, "type", location)
    options = options_of(catalog, metadata, annotation.elements, attributes, location)
    require_options(catalog, metadata, [options], location)
    return metadata, options


def _mappings(
    catalog: Catalog, map_: Annotation, definition: StreamDefinition, at: Node
) -> tuple[AttributeMappingPlan, ...]:
    annotation = only(map_.annotations, "attributes")
    if annotation is None or not annotation.elements:
        return ()
    location = located(annotation, at)
    attributes = definition.attributes
    named = [element.key for element in annotation.elements if element.key is not None]
    if named and len(named) < len(annotation.elements):
        raise creation_error(
            "E315", "@attributes mixes elements with and without names", location, "name all elements, or none"
        )
    if not named:
        if len(annotation.elements) != len(attributes):
            raise creation_error(
                "E315",
                f"@attributes has {len(annotation.elements)} elements, but stream '{definition.id}' has {len(attributes)} attributes",
                location,
            )
        return tuple(
            _mapping(attribute.name, position, element.value)
            for position, (attribute, element) in enumerate(zip(attributes, annotation.elements, strict=True))
        )
    names = [attribute.name for attribute in attributes]
    missing = [name for name in names if name not in named]
    for name in named:
        if name not in names:
            problem, hint = f"stream '{definition.id}' has no attribute '{name}'", close_to(name, names)
            if missing:
                raise creation_error("E315", problem, location, hint)
            catalog.note(AppWarning(f"@attributes: {problem}", location, hint))
    if missing:
        raise creation_error("E315", f"@attributes does not map {', '.join(missing)}", location, "map every attribute")
    return tuple(
        _mapping(element.key, names.index(element.key), element.value)
        for element in annotation.elements
        if element.key is not None and element.key in names
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
    location = located(annotation, at)
    if not annotation.elements:
        raise creation_error("E315", "@payload is empty", location, "write @payload('...')")
    if len(annotation.elements) > 1 and any(element.key is None for element in annotation.elements):
        raise creation_error("E315", "@payload takes one value without a name, or values that all have names", location)
    return tuple(
        (
            element.key or "",
            TemplatePlan((element.value,))
            if plain
            else plan_payload(element.value, attributes, located(element, location)),
        )
        for element in annotation.elements
    )


def _on_mapping_error(
    annotation: Annotation, definition: StreamDefinition, at: Node, *, has_fault: bool
) -> SourceErrorAction:
    value = annotation.element(_ON_MAPPING_ERROR)
    if value is None:
        return SourceErrorAction.STORE
    action = next((one for one in SourceErrorAction if one.value == value.strip().upper()), None)
    if action is None:
        raise creation_error(
            "E315",
            f"invalid '{_ON_MAPPING_ERROR}' of @source: '{value}'",
            at,
            f"use one of {', '.join(one.value for one in SourceErrorAction)}",
        )
    if action is SourceErrorAction.STREAM and not has_fault:
        raise creation_error(
            "E315",
            f"'{_ON_MAPPING_ERROR}' = 'STREAM' needs a fault stream of '{definition.id}'",
            at,
            "define the stream with @OnError(action = 'stream')",
        )
    return action


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
    location = located(found, at)
    strategy = extension_of(catalog, DistributionStrategyMetadata, found, "strategy", location)
    strategy_options = options_of(catalog, strategy, found.elements, (), location, named_by="strategy")
    require_options(catalog, strategy, [strategy_options], location)
    destinations = [
        options_of(
            catalog, metadata, resolved(catalog, nested, location).elements, attributes, located(nested, location)
        )
        for nested in found.annotations
        if nested.name.lower() == "destination"
    ]
    if not destinations:
        raise creation_error(
            "E315", "@distribution has no @destination", location, "add @destination(...) for each destination"
        )
    if strategy.keyed:
        _check_key(strategy_options, attributes, location)
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
