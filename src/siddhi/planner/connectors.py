"""``@source`` and ``@sink`` of a stream → their plans."""

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
from siddhi.planner.annotations import only
from siddhi.planner.catalog import Catalog
from siddhi.planner.connectors_plan import (
    AttributeMappingPlan,
    DistributionPlan,
    OptionPlan,
    SinkErrorAction,
    SinkPlan,
    SourcePlan,
    TemplatePlan,
)
from siddhi.planner.problems import close_to, creation_error, unknown_extension, unsupported
from siddhi.planner.templates import plan_template
from siddhi.query_api.annotation import Annotation, Element
from siddhi.query_api.definition import Attribute, StreamDefinition
from siddhi.query_api.span import Node

__all__ = ["plan_sinks", "plan_sources"]

_K = TypeVar("_K", bound=ConnectorMetadata)

_TRANSPORT = "trp:"
_DEPLOYMENT = "dep:"


def plan_sources(catalog: Catalog, definition: StreamDefinition) -> tuple[SourcePlan, ...]:
    """The sources of a stream, in text order.

    Raises:
        SiddhiAppError: one is unknown, or an option or mapping is wrong.
    """
    return tuple(
        _source(catalog, definition, annotation)
        for annotation in definition.annotations
        if annotation.name.lower() == "source"
    )


def plan_sinks(catalog: Catalog, definition: StreamDefinition) -> tuple[SinkPlan, ...]:
    """The sinks of a stream, in text order.

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
    metadata = _extension(catalog, SourceMetadata, annotation, "type", at)
    options = _options(catalog, metadata, annotation.elements, (), at)
    _require(metadata, [options], at)
    map_ = only(annotation.annotations, "map")
    mapper, mapper_options = _mapper(catalog, SourceMapperMetadata, map_, (), at)
    return SourcePlan(
        source=metadata,
        options=options,
        mapper=mapper,
        mapper_options=mapper_options,
        mappings=() if map_ is None else _mappings(map_, definition, at),
        span=at.span,
    )


def _sink(catalog: Catalog, definition: StreamDefinition, annotation: Annotation) -> SinkPlan:
    at = _place(annotation, definition)
    metadata = _extension(catalog, SinkMetadata, annotation, "type", at)
    attributes = definition.attributes
    elements = [element for element in annotation.elements if (element.key or "").lower() != "on.error"]
    options = _options(catalog, metadata, elements, attributes, at)
    map_ = only(annotation.annotations, "map")
    mapper, mapper_options = _mapper(catalog, SinkMapperMetadata, map_, attributes, at)
    distribution = _distribution(catalog, metadata, annotation, options, attributes, at)
    _require(metadata, [options] if distribution is None else distribution.clients, at)
    return SinkPlan(
        sink=metadata,
        options=options,
        mapper=mapper,
        mapper_options=mapper_options,
        payloads=() if map_ is None else _payloads(map_, attributes, at),
        on_error=_on_error(annotation, at),
        distribution=distribution,
        span=at.span,
    )


def _extension(catalog: Catalog, kind: type[_K], annotation: Annotation, key: str, at: Node) -> _K:
    """The extension an annotation names."""
    name = annotation.element(key)
    if name is None:
        names = ", ".join(catalog.registry.names(kind))
        raise creation_error("E315", f"@{annotation.name} lacks the element '{key}'", at, f"registered: {names}")
    if name.count(":") > 1:
        raise creation_error("E315", f"'{name}' is no name of a {kind.title}", at, "write name or namespace:name")
    metadata = catalog.registry.connector(kind, name)
    if metadata is None:
        known = catalog.registry.names(kind)
        error = unknown_extension(kind.title, name, known, at)
        registered = f"registered: {', '.join(known) or 'none'}"
        error.hint = f"{error.hint} ({registered})" if error.hint else registered
        raise error
    catalog.note_use(metadata)
    return metadata


def _mapper(
    catalog: Catalog, kind: type[_K], annotation: Annotation | None, attributes: Sequence[Attribute], at: Node
) -> tuple[_K, tuple[OptionPlan, ...]]:
    if annotation is None:
        found = catalog.registry.connector(kind, "passThrough")
        assert found is not None
        return found, ()
    place = _place(annotation, at)
    metadata = _extension(catalog, kind, annotation, "type", place)
    options = _options(catalog, metadata, annotation.elements, attributes, place)
    _require(metadata, [options], place)
    return metadata, options


def _options(
    catalog: Catalog,
    metadata: ConnectorMetadata,
    elements: Iterable[Element],
    attributes: Sequence[Attribute],
    at: Node,
    *,
    named_by: str = "type",
) -> tuple[OptionPlan, ...]:
    """The options of an annotation; attributes may stand in those that its extension calls dynamic."""
    found: dict[str, OptionPlan] = {}
    what = f"{metadata.title} '{metadata.full_name}'"
    for element in elements:
        name, place = element.key, _place(element, at)
        if name is None:
            raise creation_error("E315", f"an option of {what} has no name: '{element.value}'", place)
        if name.lower() == named_by:
            continue
        if name.lower() == "ref":
            raise unsupported("references to a configuration (ref)", place, "write the options here")
        if name.lower().startswith(_DEPLOYMENT):
            raise creation_error("E326", f"{what} offers no service, so that it can't take '{name}'", place)
        if name.lower() in found:
            raise creation_error("E315", f"{what} has the option '{name}' twice", place)
        known = metadata.option(name)
        if known is None and metadata.options:
            catalog.note(f"{what} knows no option '{name}'{_close(name, metadata)}")
        template = TemplatePlan((element.value,))
        if attributes and known is not None and known.dynamic:
            template = plan_template(element.value, attributes, place)
        elif not plan_template(element.value, None, place).is_static:
            dynamic = [option.name for option in metadata.options if option.dynamic]
            raise creation_error(
                "E326",
                f"option '{name}' of {what} can't hold attributes",
                place,
                f"{' and '.join(dynamic)} can" if dynamic and attributes else None,
            )
        found[name.lower()] = OptionPlan(name if known is None else known.name, (template,))
    return tuple(found.values())


def _close(name: str, metadata: ConnectorMetadata) -> str:
    hint = close_to(name, [option.name for option in metadata.options])
    return f": {hint}" if hint else ""


def _require(metadata: ConnectorMetadata, options: Iterable[Iterable[OptionPlan]], at: Node) -> None:
    """Refuse where an option is missing that must be there."""
    for given in options:
        names = {option.name for option in given}
        for option in metadata.options:
            if option.required and option.name not in names:
                raise creation_error(
                    "E326",
                    f"{metadata.title} '{metadata.full_name}' lacks the option '{option.name}'",
                    at,
                    option.description or None,
                )


def _mappings(map_: Annotation, definition: StreamDefinition, at: Node) -> tuple[AttributeMappingPlan, ...]:
    annotation = only(map_.annotations, "attributes")
    if annotation is None or not annotation.elements:
        return ()
    place = _place(annotation, at)
    attributes = definition.attributes
    named = [element.key for element in annotation.elements if element.key is not None]
    if named and len(named) < len(annotation.elements):
        raise creation_error("E315", "@attributes mixes elements with and without name", place, "name all, or none")
    if not named:
        if len(annotation.elements) != len(attributes):
            raise creation_error(
                "E315",
                f"@attributes has {len(annotation.elements)} elements, stream '{definition.id}' {len(attributes)} attributes",
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
        raise creation_error("E315", f"@attributes lacks {', '.join(missing)}", place, "map every attribute")
    return tuple(
        _mapping(element.key, names.index(element.key), element.value)
        for element in annotation.elements
        if element.key is not None
    )


def _mapping(name: str, position: int, mapping: str) -> AttributeMappingPlan:
    transport = mapping[len(_TRANSPORT) :] if mapping.startswith(_TRANSPORT) else None
    return AttributeMappingPlan(name, position, mapping, transport)


def _payloads(map_: Annotation, attributes: Sequence[Attribute], at: Node) -> tuple[tuple[str, TemplatePlan], ...]:
    annotation = only(map_.annotations, "payload")
    if annotation is None:
        return ()
    place = _place(annotation, at)
    if not annotation.elements:
        raise creation_error("E315", "@payload holds nothing", place, "write @payload('...')")
    if len(annotation.elements) > 1 and any(element.key is None for element in annotation.elements):
        raise creation_error("E315", "@payload holds one text, or texts that all have names", place)
    return tuple(
        (element.key or "", plan_template(element.value, attributes, _place(element, place)))
        for element in annotation.elements
    )


def _on_error(annotation: Annotation, at: Node) -> SinkErrorAction:
    value = annotation.element("on.error")
    if value is None:
        return SinkErrorAction.LOG
    for action in SinkErrorAction:
        if action.value == value.strip().upper():
            return action
    raise creation_error(
        "E315",
        f"'on.error' of @{annotation.name} can't be '{value}'",
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
    strategy = _extension(catalog, DistributionStrategyMetadata, found, "strategy", place)
    strategy_options = _options(catalog, strategy, found.elements, (), place, named_by="strategy")
    _require(strategy, [strategy_options], place)
    destinations = [
        _options(catalog, metadata, nested.elements, attributes, _place(nested, place))
        for nested in found.annotations
        if nested.name.lower() == "destination"
    ]
    if not destinations:
        raise creation_error("E315", "@distribution has no @destination", place, "write one for each of them")
    if strategy.keyed:
        _check_key(strategy_options, attributes, place)
    # Where all that tells destinations apart can change from event to event, one client serves them all.
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
                f"the stream has no attribute '{key}' to be the partitionKey",
                at,
                close_to(key, names) or f"the attributes are {', '.join(names)}",
            )


def _merged(options: Iterable[OptionPlan], own: Iterable[OptionPlan]) -> tuple[OptionPlan, ...]:
    """A destination's options, with those of its sink where it does not say."""
    return tuple({option.name.lower(): option for option in (*options, *own)}.values())


def _place(node: Node, otherwise: Node) -> Node:
    return node if node.span is not None else otherwise
