"""Print the object model as SiddhiQL: ``parse(to_siddhiql(app)) == app``."""

from __future__ import annotations

import siddhi.query_compiler.print.queries  # noqa: F401 (registers its printers)
from siddhi.query_api import (
    AggregationDefinition,
    Attribute,
    Definition,
    FunctionDefinition,
    Node,
    SiddhiApp,
    StreamDefinition,
    TableDefinition,
    TriggerDefinition,
    WindowDefinition,
)
from siddhi.query_compiler.print.annotations import annotation_text
from siddhi.query_compiler.print.expressions import name_text, string_text, time_text
from siddhi.query_compiler.print.nodes import annotated, listed, node_text
from siddhi.query_compiler.script import script_end

__all__ = ["to_siddhiql"]


def to_siddhiql(node: Node) -> str:
    """Return SiddhiQL text that compiles to an equal node, with one clause of a query per line.

    Raises:
        ValueError: the node contains something that SiddhiQL can't express, such as a name with a back quote.
    """
    return node_text(node)


@node_text.register
def _(app: SiddhiApp) -> str:
    blocks = []
    if app.annotations:
        blocks.append("\n".join(annotation_text(annotation, "app:") for annotation in app.annotations))
    if app.definitions:
        blocks.append("\n".join(node_text(definition) + ";" for definition in app.definitions))
    blocks += [node_text(execution) + ";" for execution in app.executions]
    return "\n\n".join(blocks) + "\n"


@node_text.register
def _(attribute: Attribute) -> str:
    return f"{name_text(attribute.name)} {attribute.type}"


def _schema(kind: str, definition: Definition) -> str:
    return f"define {kind} {name_text(definition.id)} ({listed(definition.attributes)})"


@node_text.register
def _(definition: StreamDefinition) -> str:
    return annotated(definition.annotations, _schema("stream", definition))


@node_text.register
def _(definition: TableDefinition) -> str:
    return annotated(definition.annotations, _schema("table", definition))


@node_text.register
def _(definition: WindowDefinition) -> str:
    output = f" output {definition.output.value}" if definition.output else ""
    return annotated(definition.annotations, f"{_schema('window', definition)} {node_text(definition.window)}{output}")


@node_text.register
def _(definition: TriggerDefinition) -> str:
    if definition.every_ms is not None:
        at = f"every {time_text(definition.every_ms)}"
    elif definition.at is not None:
        at = string_text(definition.at)
    else:
        raise ValueError(f"the trigger '{definition.id}' has neither a time nor a schedule")
    return f"define trigger {name_text(definition.id, strict=True)} at {at}"


@node_text.register
def _(definition: FunctionDefinition) -> str:
    name, language = (name_text(name, strict=True) for name in (definition.id, definition.language))
    script = f"{{{definition.body}}}"
    if script_end(script, 0, definition.language) != len(script):
        raise ValueError(f"SiddhiQL can't express the script of '{definition.id}': its braces do not match")
    return f"define function {name}[{language}] return {definition.return_type} {script}"


@node_text.register
def _(definition: AggregationDefinition) -> str:
    lines = [
        f"define aggregation {name_text(definition.id, strict=True)}",
        f"from {node_text(definition.input)}",
        node_text(definition.selector),
    ]
    by = f" by {node_text(definition.aggregate_by)}" if definition.aggregate_by else ""
    every = ("..." if definition.is_range else ", ").join(duration.value for duration in definition.durations)
    return annotated(definition.annotations, "\n".join([*lines, f"aggregate{by} every {every}"]))
