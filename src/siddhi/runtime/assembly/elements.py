"""What of an app holds state, and what the app says about each such element: its state fits what says the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

from siddhi.planner.nodes import NamedWindowPlan, Plan, StreamPlan, TablePlan
from siddhi.query_api.input import AnonymousInput
from siddhi.query_api.query import Partition, Query
from siddhi.query_api.span import Node
from siddhi.query_compiler.printer import to_siddhiql
from siddhi.runtime.state import Element, Stateful

if TYPE_CHECKING:
    from siddhi.runtime.assembly.app import Assembly

__all__ = ["stateful_elements"]


def stateful_elements(assembly: Assembly) -> dict[str, Element]:
    """The elements of an app that hold state, by a name that is the same whenever the app is built."""
    plan = assembly.plan
    definitions: dict[str, Node] = {definition.id: definition for definition in plan.app.definitions}
    executions = dict(_executions(plan))
    parts: list[StreamPlan | TablePlan | NamedWindowPlan] = [
        *plan.streams.values(),
        *plan.tables.values(),
        *plan.windows.values(),
    ]
    attributes = {
        part.id: f"{part.id} ({', '.join(f'{attribute.name} {attribute.type}' for attribute in part.attributes)})"
        for part in parts
    }
    found: dict[str, Element] = {}

    def add(name: str, said: Node | str | None, steps: dict[str, Stateful]) -> None:
        if name in found:
            found[name].steps.update(steps)
        elif steps:
            found[name] = Element(lambda: said if isinstance(said, str) else _text(said, attributes), steps)

    for name, partition in assembly.partitions.items():
        add(f"partition '{name}'", executions[name], {"keys": partition.keys})
    for id_, rows in assembly.tables.states().items():
        add(f"table '{id_}'", definitions.get(id_, attributes[id_]), {"rows": rows})
    for id_, stream in assembly.async_streams.items():
        add(f"buffer of stream '{id_}'", attributes[id_], {"buffer": stream.buffer})
    for id_, trigger in assembly.triggers.items():
        add(f"trigger '{id_}'", definitions[id_], {"trigger": trigger})
    for id_, window in assembly.windows.items():
        add(f"window '{id_}'", definitions[id_], dict(window.stateful))
    for id_, aggregation in assembly.aggregations.items():
        add(f"aggregation '{id_}'", definitions[id_], dict(aggregation.stateful))
    for path, query in assembly.built_queries().items():
        name, _, inner = path.partition("/")
        if inner and name in assembly.partitions:
            add(f"partition '{name}'", None, {f"{inner}/{step}": it for step, it in query.stateful.items()})
        else:
            add(f"query '{path}'", executions[path], dict(query.stateful))
    for name, connector in assembly.connectors.states().items():
        add(name, connector.kind, {"state": connector})
    return found


def _executions(plan: Plan) -> Iterator[tuple[str, Query | Partition]]:
    """The queries and partitions of the text by the names the plan gives them."""
    planned = iter(plan.executions)
    for node in plan.app.executions:
        yield next(planned).name, node
        # The queries inside a query are planned before it, each as one of its own.
        inner = node.input if isinstance(node, Query) else None
        while isinstance(inner, AnonymousInput):
            yield next(planned).name, node
            inner = inner.query.input


def _text(node: Node | None, attributes: dict[str, str]) -> str:
    """What an app says of an element, with the attributes of the streams, tables and windows it names."""
    names = set(_names(node))
    read = [line for id_, line in attributes.items() if id_ in names and id_ != getattr(node, "id", None)]
    try:
        assert node is not None
        return "\n".join([*read, to_siddhiql(node)])
    except RecursionError:
        # A chain of operators is a tree as deep as it is long: such a text is told apart by what it consists of.
        return "\n".join([*read, *_names(node)])


def _names(node: object) -> Iterator[str]:
    """Everything a node consists of, as texts, in a loop."""
    pending = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, tuple):
            pending += item
        elif is_dataclass(item):
            yield type(item).__qualname__
            pending += [getattr(item, part.name) for part in fields(item) if part.repr]
        else:
            yield str(item)
