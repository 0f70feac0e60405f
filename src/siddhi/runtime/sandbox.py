"""Apps without connectors to the outside."""

from __future__ import annotations

from siddhi._frozen import replace
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.app import SiddhiApp
from siddhi.query_api.definition import AggregationDefinition, StreamDefinition, TableDefinition
from siddhi.sandbox import ANY, SandboxPolicy

__all__ = ["SANDBOX", "sandboxed"]

SANDBOX = SandboxPolicy(sources={"inMemory": (ANY,)}, sinks={"inMemory": (ANY,)})
"""The policy of apps in a sandbox: closed except for in-memory topics, which serve as their input and output."""


def sandboxed(app: SiddhiApp) -> SiddhiApp:
    """Remove sources and sinks other than ``inMemory``, and the stores of tables and aggregations, from an app."""
    definitions = tuple(
        replace(definition, annotations=tuple(filter(_stays_inside, definition.annotations)))
        if isinstance(definition, (StreamDefinition, TableDefinition, AggregationDefinition))
        else definition
        for definition in app.definitions
    )
    return replace(app, definitions=definitions)


def _stays_inside(annotation: Annotation) -> bool:
    if annotation.name.lower() in ("source", "sink"):
        return annotation.element("type") == "inMemory"
    return annotation.name.lower() not in ("store", "partitionbyid")
