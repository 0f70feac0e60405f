"""The app of a query over frames: the user's text without connectors, with the definitions that its inputs imply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from siddhi._frozen import Frozen, fields, replace
from siddhi.frames.schema import Column
from siddhi.planner.plan.endless import endless_parts
from siddhi.planner.plan.graph import aggregation_unit, unit_of
from siddhi.planner.plan.nodes import Plan
from siddhi.query_api.annotation import find_annotation
from siddhi.query_api.app import SiddhiApp
from siddhi.query_api.definition import Attribute, Definition, StreamDefinition
from siddhi.query_api.input import SingleInput
from siddhi.query_api.query import Partition, Query
from siddhi.query_api.selection import InsertInto, ReturnOutput
from siddhi.types import AttributeType

__all__ = [
    "attributes_of",
    "defined",
    "endless_reasons",
    "handles_errors",
    "objects_of",
    "output_streams",
    "stream_names",
    "with_definitions",
    "without_connectors",
]

_OF_CONNECTORS = frozenset({"source", "sink", "async"})


def stream_names(model: SiddhiApp) -> list[str]:
    """Return the names of the streams that can be inputs: those defined, and those that queries read or fill."""
    names = [one.id for one in model.definitions if isinstance(one, StreamDefinition)]
    other = {one.id for one in model.definitions} - set(names)
    for node in _nodes(model):
        if isinstance(node, SingleInput) and not (node.is_inner or node.is_fault):
            names.append(node.source)
        elif isinstance(node, InsertInto) and not (node.is_inner or node.is_fault):
            names.append(node.target)
    return [name for name in dict.fromkeys(names) if name not in other]


def defined(model: SiddhiApp) -> dict[str, str]:
    """Return what each defined name is: a ``stream``, ``table``, ``window``, ``trigger``, ``function`` or ``aggregation``."""
    return {one.id: type(one).__name__.removesuffix("Definition").lower() for one in model.definitions}


def attributes_of(model: SiddhiApp, stream: str) -> tuple[str, ...] | None:
    """Return the names of the attributes of a stream; None: the text does not define it."""
    for one in model.definitions:
        if one.id == stream and isinstance(one, Definition):
            return tuple(attribute.name for attribute in one.attributes)
    return None


def objects_of(model: SiddhiApp, stream: str) -> tuple[str, ...]:
    """Return the names of the attributes of type object of a stream that the text defines."""
    for one in model.definitions:
        if one.id == stream and isinstance(one, Definition):
            return tuple(each.name for each in one.attributes if each.type is AttributeType.OBJECT)
    return ()


def is_filled(model: SiddhiApp, stream: str) -> bool:
    """Return whether a query inserts into a stream."""
    return any(isinstance(node, InsertInto) and node.target == stream for node in _nodes(model))


def with_definitions(model: SiddhiApp, schemas: Mapping[str, Mapping[str, Column]]) -> SiddhiApp:
    """Return the app with definitions of streams for the columns of their inputs."""
    added = tuple(
        StreamDefinition(stream, tuple(Attribute(name, column.type) for name, column in columns.items()))
        for stream, columns in schemas.items()
    )
    return replace(model, definitions=(*added, *model.definitions))


def without_connectors(model: SiddhiApp) -> SiddhiApp:
    """Return the app without sources, sinks and ``@async``, and with a stream for the output of each query that returns it."""
    definitions = tuple(
        replace(one, annotations=tuple(each for each in one.annotations if each.name.lower() not in _OF_CONNECTORS))
        if isinstance(one, StreamDefinition)
        else one
        for one in model.definitions
    )
    executions: list[Query | Partition] = []
    number = 0
    for execution in model.executions:
        if isinstance(execution, Query):
            number += 1
            if isinstance(execution.output, ReturnOutput):
                target = execution.name or f"query_{number}"
                output = InsertInto(execution.output.event_type, target=target, span=execution.output.span)
                execution = replace(execution, output=output)
        executions.append(execution)
    return replace(model, definitions=definitions, executions=tuple(executions))


def handles_errors(model: SiddhiApp) -> frozenset[str]:
    """Return the streams whose failed events go to a fault stream or into the error store."""
    found = set()
    for one in model.definitions:
        on_error = find_annotation(one.annotations, "OnError") if isinstance(one, StreamDefinition) else None
        if on_error is not None and (on_error.element("action") or "").lower() in ("stream", "store"):
            found.add(one.id)
    return frozenset(found)


def output_streams(plan: Plan, inputs: Mapping[str, object]) -> list[str]:
    """Return the streams that queries fill and no other query reads, in text order; if there are none, all they fill."""
    units = [unit_of(execution) for execution in plan.executions]
    readers = [*units, *map(aggregation_unit, plan.aggregations.values())]
    filled = [
        name for unit in units for name in unit.writes if name in plan.streams and not name.startswith(("!", "#"))
    ]
    filled = [name for name in dict.fromkeys(filled) if name not in inputs] or list(dict.fromkeys(filled))
    read = {name for unit in readers for name in unit.reads}
    return [name for name in filled if name not in read] or filled


def endless_reasons(plan: Plan) -> str:
    """Return why timers keep the app busy without end; empty if they do not."""
    return "; ".join(part.reason for part in endless_parts(plan))


def _nodes(value: object) -> Iterator[object]:
    """Yield an element of an app and all elements in it."""
    if isinstance(value, tuple):
        for each in value:
            yield from _nodes(each)
    elif isinstance(value, Frozen):
        yield value
        for field in fields(value):
            yield from _nodes(getattr(value, field.name))
