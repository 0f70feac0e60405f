"""What an app says about each of its elements: state fits what says the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from siddhi.planner.nodes import NamedWindowPlan, Plan, StreamPlan, TablePlan
from siddhi.query_api.input import AnonymousInput
from siddhi.query_api.query import Partition, Query
from siddhi.query_api.span import Node
from siddhi.query_compiler.printer import to_siddhiql

__all__ = ["attribute_lines", "executions_by_name", "statement"]


def attribute_lines(plan: Plan) -> dict[str, str]:
    """The attributes of every stream, table and window, as a line each."""
    parts: list[StreamPlan | TablePlan | NamedWindowPlan] = [
        *plan.streams.values(),
        *plan.tables.values(),
        *plan.windows.values(),
    ]
    return {
        part.id: f"{part.id} ({', '.join(f'{attribute.name} {attribute.type}' for attribute in part.attributes)})"
        for part in parts
    }


def executions_by_name(plan: Plan) -> Iterator[tuple[str, Query | Partition]]:
    """The queries and partitions of the text by the names the plan gives them."""
    planned = iter(plan.executions)
    for node in plan.app.executions:
        yield next(planned).name, node
        # The queries inside a query are planned before it, each as one of its own.
        inner = node.input if isinstance(node, Query) else None
        while isinstance(inner, AnonymousInput):
            yield next(planned).name, node
            inner = inner.query.input


def statement(node: Node | None, attributes: dict[str, str]) -> str:
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
