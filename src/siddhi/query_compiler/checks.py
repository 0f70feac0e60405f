"""Check that the names of an app are unique."""

from __future__ import annotations

from typing import Any

from siddhi._frozen import replace
from siddhi.errors import DuplicateAnnotationError, DuplicateDefinitionError, SiddhiAppValidationError
from siddhi.query_api import (
    Annotation,
    AnyDefinition,
    Definition,
    FunctionDefinition,
    Partition,
    Query,
    SiddhiApp,
    StreamDefinition,
    TableDefinition,
    TriggerDefinition,
    WindowDefinition,
    find_annotation,
)
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

__all__ = ["check_names"]

KINDS = {
    "StreamDefinition": "stream",
    "TableDefinition": "table",
    "WindowDefinition": "window",
    "TriggerDefinition": "trigger",
    "FunctionDefinition": "function",
    "AggregationDefinition": "aggregation",
}


def check_names(app: SiddhiApp) -> SiddhiApp:
    """Reject duplicate names; keep one of two identical definitions of a stream or table.

    Raises:
        DuplicateDefinitionError: two different definitions share an id (functions have a separate namespace).
        DuplicateAnnotationError: an app annotation or ``@info`` occurs twice.
        SiddhiAppValidationError: two queries or partitions have the same ``@info(name='...')``.
    """
    definitions = _unique_definitions(app)
    _check_execution_names(app)
    _check_once(app, app.annotations, prefix="app:")
    return app if len(definitions) == len(app.definitions) else replace(app, definitions=tuple(definitions))


def _unique_definitions(app: SiddhiApp) -> list[AnyDefinition]:
    kept: list[AnyDefinition] = []
    by_id: dict[tuple[bool, str], list[AnyDefinition]] = {}
    for definition in app.definitions:
        # Functions have a namespace of their own; all other definitions share one.
        earlier = by_id.setdefault((isinstance(definition, FunctionDefinition), definition.id), [])
        for other in earlier:
            if not _agree(other, definition):
                kind, known = KINDS[type(definition).__name__], KINDS[type(other).__name__]
                where = f" in line {other.span.line}" if other.span else ""
                article = "an" if known[0] in "aeiou" else "a"
                message = f"the {kind} '{definition.id}' can't be defined: {article} {known} of this name is already defined{where}"
                raise _at(definition, app, DuplicateDefinitionError(message))
        if not any(type(other) is type(definition) for other in earlier):
            kept.append(definition)
        earlier.append(definition)
    return kept


def _agree(first: AnyDefinition, second: AnyDefinition) -> bool:
    """Return whether two definitions may share an id."""
    if type(first) is type(second):
        return isinstance(first, (StreamDefinition, TableDefinition)) and first == second
    by_kind = {type(first): first, type(second): second}
    stream: Any = by_kind.get(StreamDefinition)
    if stream is None:
        return False
    if TriggerDefinition in by_kind:
        return [(a.name, a.type) for a in stream.attributes] == [("triggered_time", AttributeType.LONG)]
    window: Any = by_kind.get(WindowDefinition)
    return isinstance(window, Definition) and window.attributes == stream.attributes


def _check_execution_names(app: SiddhiApp) -> None:
    seen: dict[str, Query | Partition] = {}
    for execution in app.executions:
        _check_once(app, tuple(a for a in execution.annotations if a.name.lower() == "info"))
        info = find_annotation(execution.annotations, "info")
        name = None if info is None else info.element("name")
        if info is None or name is None:
            continue
        if name in seen:
            kind = "partition" if isinstance(execution, Partition) else "query"
            error = SiddhiAppValidationError(f"duplicate {kind} name '{name}'", code="E208")
            raise _at(info, app, error)
        seen[name] = execution


def _check_once(app: SiddhiApp, annotations: tuple[Annotation, ...], prefix: str = "") -> None:
    seen = set()
    for annotation in annotations:
        name = annotation.name.lower()
        if name in seen:
            raise _at(annotation, app, DuplicateAnnotationError(f"duplicate annotation @{prefix}{annotation.name}"))
        seen.add(name)


def _at(node: Node, app: SiddhiApp, error: SiddhiAppValidationError) -> SiddhiAppValidationError:
    error.located(span=node.span, source=app.source, app=app.name)
    return error
