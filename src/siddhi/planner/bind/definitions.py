"""Bind definitions: streams (with their fault streams), tables, windows, triggers, script functions."""

from __future__ import annotations

from collections.abc import Iterable

from siddhi.extension.metadata import ScriptLanguageMetadata
from siddhi.planner.bind.aggregations.definition import plan_aggregation
from siddhi.planner.bind.annotations import only, positive, required
from siddhi.planner.bind.catalog import Catalog, same_schema
from siddhi.planner.bind.connectors import plan_sinks, plan_sources
from siddhi.planner.bind.handlers import check_cron, plan_window
from siddhi.planner.bind.limits import refuse_limit
from siddhi.planner.bind.scope import SourceScope
from siddhi.planner.bind.tables import plan_table
from siddhi.planner.bind.temporal.declaration import plan_correction, plan_temporal
from siddhi.planner.bind.temporal.passing import passing_lifetimes
from siddhi.planner.plan.nodes import (
    AsyncSettings,
    NamedWindowPlan,
    OnErrorAction,
    StreamOrigin,
    StreamPlan,
    TriggerPlan,
)
from siddhi.planner.problems import (
    creation_error,
    duplicate_attribute,
    duplicate_definition,
    located,
    schema_text,
    unknown_extension,
)
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.app import SiddhiApp
from siddhi.query_api.definition import (
    AggregationDefinition,
    Attribute,
    Definition,
    FunctionDefinition,
    StreamDefinition,
    TableDefinition,
    TriggerDefinition,
    WindowDefinition,
)
from siddhi.query_api.selection import OutputEventType
from siddhi.types import AttributeType

__all__ = ["DEFAULT_BUFFER_SIZE", "plan_definitions"]

DEFAULT_BUFFER_SIZE = 1024
"""Default buffer size of an ``@async`` stream, in events; a larger buffer is delivered in chunks of as many by default."""

_TRIGGERED = (Attribute("triggered_time", AttributeType.LONG),)
_ERROR = Attribute("_error", AttributeType.OBJECT)


def plan_definitions(app: SiddhiApp, catalog: Catalog) -> None:
    """Add the definitions of an app to the catalog, in text order.

    Raises:
        SiddhiAppError: an id is duplicated, or an annotation or argument is invalid.
    """
    windows: list[WindowDefinition] = []
    aggregations: list[AggregationDefinition] = []
    for definition in app.definitions:
        if not isinstance(definition, (AggregationDefinition, TableDefinition)):
            refuse_limit(definition)
        if isinstance(definition, StreamDefinition):
            _add_stream(catalog, definition)
        elif isinstance(definition, TableDefinition):
            _add_table(catalog, definition)
        elif isinstance(definition, WindowDefinition):
            _add_window(catalog, definition)
            windows.append(definition)
        elif isinstance(definition, TriggerDefinition):
            _add_trigger(catalog, definition)
        elif isinstance(definition, FunctionDefinition):
            _add_function(catalog, definition)
        elif isinstance(definition, AggregationDefinition):
            aggregations.append(definition)
    # Aggregations last: they can read streams that are defined after them.
    for aggregation in aggregations:
        plan_aggregation(catalog, aggregation)


def _add_stream(catalog: Catalog, definition: StreamDefinition) -> None:
    _refuse_repeated_attributes("stream", definition)
    id_ = definition.id
    if id_ in catalog.tables:
        raise duplicate_definition(f"'{id_}' is already defined as a table", definition)
    taken = catalog.streams.get(id_) or catalog.windows.get(id_)
    if taken is not None:
        if same_schema(taken.attributes, definition.attributes) and id_ in catalog.streams:
            return
        if not same_schema(taken.attributes, definition.attributes):
            raise _other_definition("stream", id_, taken.attributes, definition)
    temporal = plan_temporal(definition)
    on_error = _on_error(catalog, definition)
    async_settings = _async_settings(catalog, definition)
    sources = plan_sources(catalog, definition, has_fault=on_error is OnErrorAction.STREAM)
    sinks = plan_sinks(catalog, definition)
    if temporal is not None:
        temporal, sources, sinks = passing_lifetimes(temporal, sources, sinks)
    catalog.streams[id_] = StreamPlan(
        id=id_,
        attributes=definition.attributes,
        on_error=on_error,
        async_settings=async_settings,
        sources=sources,
        sinks=sinks,
        temporal=temporal,
        correction=plan_correction(definition),
        annotations=definition.annotations,
        span=definition.span,
    )
    if on_error is OnErrorAction.STREAM:
        if any(attribute.name == _ERROR.name for attribute in definition.attributes):
            raise duplicate_attribute(
                f"attribute name '{_ERROR.name}' is reserved: the fault stream adds it", definition, "rename it"
            )
        catalog.streams[f"!{id_}"] = StreamPlan(
            id=f"!{id_}",
            attributes=(*definition.attributes, _ERROR),
            origin=StreamOrigin.FAULT,
            span=definition.span,
        )


def _add_table(catalog: Catalog, definition: TableDefinition) -> None:
    _refuse_repeated_attributes("table", definition)
    id_ = definition.id
    for holders, kind in ((catalog.streams, "stream"), (catalog.windows, "window")):
        if id_ in holders:
            raise duplicate_definition(f"'{id_}' is already defined as a {kind}", definition)
    taken = catalog.tables.get(id_)
    if taken is not None:
        if same_schema(taken.attributes, definition.attributes):
            return
        raise _other_definition("table", id_, taken.attributes, definition)
    catalog.tables[id_] = plan_table(catalog, definition)


def _add_window(catalog: Catalog, definition: WindowDefinition) -> None:
    _refuse_repeated_attributes("window", definition)
    id_ = definition.id
    if id_ in catalog.tables:
        raise duplicate_definition(f"'{id_}' is already defined as a table", definition)
    if id_ in catalog.windows:
        raise duplicate_definition(f"window '{id_}' is already defined", definition)
    stream = catalog.streams.get(id_)
    if stream is not None and not same_schema(stream.attributes, definition.attributes):
        raise _other_definition("stream", id_, stream.attributes, definition)
    scope = SourceScope(id_, definition.attributes, what=f"window '{id_}'")
    catalog.windows[id_] = NamedWindowPlan(
        id=id_,
        attributes=definition.attributes,
        window=plan_window(catalog, scope, definition.window, definition),
        output=OutputEventType.ALL if definition.output is None else definition.output,
        annotations=definition.annotations,
        span=definition.span,
    )


def _add_trigger(catalog: Catalog, definition: TriggerDefinition) -> None:
    id_ = definition.id
    if id_ in catalog.triggers:
        raise duplicate_definition(f"trigger '{id_}' is already defined", definition)
    for holders, kind in ((catalog.tables, "table"), (catalog.windows, "window")):
        if id_ in holders:
            raise duplicate_definition(f"'{id_}' is already defined as a {kind}", definition)
    stream = catalog.streams.get(id_)
    if stream is not None and not same_schema(stream.attributes, _TRIGGERED):
        raise _other_definition("stream", id_, stream.attributes, definition)
    if definition.every_ms is not None and definition.every_ms <= 0:
        raise creation_error("E305", f"invalid period of trigger '{id_}': {definition.every_ms} ms", definition)
    at = None if definition.at is None else definition.at.strip()
    starts = at is not None and at.lower() == "start"
    if at is not None and not starts:
        check_cron(at, definition)
    catalog.triggers[id_] = TriggerPlan(
        id=id_,
        every_ms=definition.every_ms,
        at_start=starts,
        cron=None if starts else at,
        span=definition.span,
    )
    if stream is None:
        catalog.streams[id_] = StreamPlan(
            id=id_, attributes=_TRIGGERED, origin=StreamOrigin.TRIGGER, span=definition.span
        )


def _add_function(catalog: Catalog, definition: FunctionDefinition) -> None:
    if definition.id in catalog.functions:
        raise duplicate_definition(f"function '{definition.id}' is already defined", definition)
    catalog.permissions.script(definition)
    if catalog.registry.script_language(definition.language) is None:
        known = catalog.registry.names(ScriptLanguageMetadata)
        error = unknown_extension("script language", definition.language, known, definition)
        error.hint = error.hint or (f"registered: {', '.join(known)}" if known else "register one with the manager")
        raise catalog.permissions.not_found(error, catalog.registry, definition.language, ScriptLanguageMetadata)
    catalog.functions[definition.id] = definition


def _refuse_repeated_attributes(kind: str, definition: Definition) -> None:
    seen: set[str] = set()
    for attribute in definition.attributes:
        if attribute.name in seen:
            raise duplicate_attribute(
                f"duplicate attribute '{attribute.name}' in {kind} '{definition.id}'",
                located(attribute, definition),
            )
        seen.add(attribute.name)


def _other_definition(
    kind: str, id_: str, has: Iterable[Attribute], definition: Definition | TriggerDefinition
) -> Exception:
    return duplicate_definition(f"{kind} '{id_}' is already defined as {schema_text(has)}", definition)


def _on_error(catalog: Catalog, definition: StreamDefinition) -> OnErrorAction:
    annotation = only(definition.annotations, "OnError")
    if annotation is None:
        return OnErrorAction.LOG
    action = required(annotation, "action", definition)
    location = located(annotation, definition)
    for known in OnErrorAction:
        if known.value == action.strip().lower():
            if known is OnErrorAction.STORE:
                catalog.permissions.error_store(location)
            return known
    raise creation_error("E315", f"unknown action '{action}' of @OnError", location, "use 'log', 'stream' or 'store'")


def _async_settings(catalog: Catalog, definition: StreamDefinition) -> AsyncSettings | None:
    annotation = only(definition.annotations, "async")
    if annotation is None:
        return None
    buffer_size = _setting(annotation, "buffer.size", DEFAULT_BUFFER_SIZE, definition)
    if buffer_size & (buffer_size - 1):
        location = located(annotation, definition)
        raise creation_error(
            "E315",
            f"'buffer.size' of @async must be a power of two, not {buffer_size}",
            location,
            f"use '{1 << buffer_size.bit_length()}'",
        )
    settings = AsyncSettings(
        buffer_size,
        _setting(annotation, "workers", 1, definition),
        _setting(annotation, "batch.size.max", min(buffer_size, DEFAULT_BUFFER_SIZE), definition),
    )
    others = (stream.async_settings for stream in catalog.streams.values())
    workers = settings.workers + sum(other.workers for other in others if other is not None)
    catalog.permissions.limit("max_events", buffer_size, "'buffer.size' of @async", definition)
    catalog.permissions.limit("max_threads", workers, "the number of workers of @async", definition)
    return settings


def _setting(annotation: Annotation, key: str, default: int, definition: StreamDefinition) -> int:
    value = annotation.element(key)
    return default if value is None else positive(annotation, key, value, definition)
