"""The statement of each element of an app: state fits elements with the same statement.

It is the text without annotations that hold no state (``@purge``, ``@limit``), the attributes of the streams, tables and windows
that it names, the bodies of the script functions that it calls, the base values of incremental aggregators of extensions, and the
time zone of buckets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

from siddhi._frozen import Frozen, fields, replace
from siddhi.planner.plan.aggregations import ZONE
from siddhi.planner.plan.nodes import NamedWindowPlan, PartitionPlan, Plan, StreamPlan, TablePlan
from siddhi.planner.plan.text import kept_lines, zone_lines
from siddhi.query_api.annotation import Annotation, find_annotation
from siddhi.query_api.definition import AggregationDefinition, FunctionDefinition, TableDefinition
from siddhi.query_api.expression import Constant, FunctionCall
from siddhi.query_api.input import AnonymousInput
from siddhi.query_api.query import Partition, Query
from siddhi.query_api.span import Node
from siddhi.query_compiler.print.app import to_siddhiql

__all__ = ["Statements", "executions_by_name"]

_Planned = TypeVar("_Planned")
_Node = TypeVar("_Node")
_Limited = TypeVar("_Limited", Query, Partition, AggregationDefinition, TableDefinition)
_CALLED = re.compile(r"(\w+)\s*\(")


class Statements:
    """The statements of an app.

    Args:
        plan: plan of the app.

    Attributes:
        attributes: attributes of every stream, table and window, one line each.
    """

    def __init__(self, plan: Plan) -> None:
        parts: list[StreamPlan | TablePlan | NamedWindowPlan] = [
            *plan.streams.values(),
            *plan.tables.values(),
            *plan.windows.values(),
        ]
        self.attributes = {part.id: _attribute_line(part) for part in parts}
        self._app = plan.app  # keeps the nodes alive, whose ids are keys
        self._texts: dict[int, str] = {}
        self._kept = {
            aggregation.id: [*kept_lines(aggregation)]
            for aggregation in plan.aggregations.values()
            if aggregation.extended
        }
        says_zone = find_annotation(plan.app.annotations, ZONE) is not None
        self._zones = {
            aggregation.id: [*zone_lines(aggregation)] if says_zone else []
            for aggregation in plan.aggregations.values()
        }
        self._scripts = {
            definition.id: to_siddhiql(definition)
            for definition in plan.app.definitions
            if isinstance(definition, FunctionDefinition)
        }

    def of(self, node: Node) -> str:
        """Return the statement of a definition, query or partition of the app."""
        text = self._texts.get(id(node))
        if text is None:
            text = self._texts[id(node)] = self._of(node, [])
        return text

    def of_added(self, node: Node) -> str:
        """Return the statement of a query that was added to the app later; nothing is kept."""
        return self._of(node, [])

    def of_partition(self, node: Partition, plan: PartitionPlan, stateful: Sequence[bool]) -> str:
        """Return the statement of a partition, whose stateless queries may change.

        Args:
            plan: its plan.
            stateful: whether each query of the plan holds state.
        """
        by_query = zip(_planned(iter(plan.queries), node.queries), stateful, strict=True)
        kept = {id(query) for (_, query), holds_state in by_query if holds_state}
        node = replace(node, queries=tuple(query for query in node.queries if id(query) in kept))
        names = set(_names(node))
        return self._of(node, [_attribute_line(inner) for inner in plan.inner_streams if inner.id[1:] in names])

    def _of(self, node: Node, inside: list[str]) -> str:
        node = _untuned(node)
        names, called = set(_names(node)), set(_called(node)) if self._scripts else ()
        read = [line for id_, line in self.attributes.items() if id_ in names and id_ != getattr(node, "id", None)]
        read += inside
        if isinstance(node, AggregationDefinition):
            read += self._kept.get(node.id, [])
        read += [text for id_, text in self._scripts.items() if id_ in called]
        behind = self._zones[node.id] if isinstance(node, AggregationDefinition) else []
        try:
            return "\n".join([*read, to_siddhiql(node), *behind])
        except RecursionError:
            # A chain of operators is a tree as deep as it is long, so its nodes stand for the text.
            return "\n".join([*read, *_names(node)])


def executions_by_name(plan: Plan) -> Iterator[tuple[str, Query | Partition]]:
    """Return the queries and partitions of the text by the names that the plan gives them."""
    return ((planned.name, node) for planned, node in _planned(iter(plan.executions), plan.classical_nodes()))


def _planned(planned: Iterator[_Planned], nodes: Sequence[_Node]) -> Iterator[tuple[_Planned, _Node]]:
    """Return each planned element with its node of the text."""
    for node in nodes:
        yield next(planned), node
        # Inner queries are planned before the query that reads them, as queries of their own.
        inner = node.input if isinstance(node, Query) else None
        while isinstance(inner, AnonymousInput):
            yield next(planned), node
            inner = inner.query.input


def _attribute_line(part: StreamPlan | TablePlan | NamedWindowPlan) -> str:
    return f"{part.id} ({', '.join(f'{attribute.name} {attribute.type}' for attribute in part.attributes)})"


def _untuned(node: Node) -> Node:
    """Return a node without the annotations that may change while the state stays."""
    if isinstance(node, (Partition, AggregationDefinition)):
        node = replace(node, annotations=_without(node.annotations, "purge"))
    if isinstance(node, Partition):
        node = replace(node, queries=tuple(_unlimited(query) for query in node.queries))
        return _unlimited(node)
    if isinstance(node, Query):
        return _unlimited(node)
    if isinstance(node, AggregationDefinition):
        return _unlimited(node)
    return _unlimited(node) if isinstance(node, TableDefinition) else node


def _unlimited(node: _Limited) -> _Limited:
    return replace(node, annotations=_without(node.annotations, "limit"))


def _without(annotations: tuple[Annotation, ...], name: str) -> tuple[Annotation, ...]:
    return tuple(annotation for annotation in annotations if annotation.name.lower() != name)


def _names(node: object) -> Iterator[str]:
    """Yield everything a node consists of as texts."""
    return (type(item).__qualname__ if isinstance(item, Frozen) else str(item) for item in _items(node))


def _called(node: object) -> Iterator[str]:
    """Yield the functions that a node calls, also in conditions inside strings."""
    for item in _items(node):
        if isinstance(item, FunctionCall) and item.namespace is None:
            yield item.name
        elif isinstance(item, Constant) and isinstance(item.value, str):
            yield from _CALLED.findall(item.value)


def _items(node: object) -> Iterator[object]:
    """Yield a node and everything it consists of, without recursion: it may be as deep as it is long."""
    pending = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, tuple):
            pending += item
            continue
        yield item
        if isinstance(item, Frozen):
            pending += [getattr(item, part.name) for part in fields(item) if part.shown]
