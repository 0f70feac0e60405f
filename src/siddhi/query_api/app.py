"""A whole Siddhi app."""

from __future__ import annotations

from siddhi._frozen import field, frozen
from siddhi.query_api.annotation import Annotation, find_annotation
from siddhi.query_api.definition import (
    AggregationDefinition,
    FunctionDefinition,
    StreamDefinition,
    TableDefinition,
    TriggerDefinition,
    WindowDefinition,
)
from siddhi.query_api.query import Partition, Query
from siddhi.query_api.span import Node, Span

__all__ = ["AnyDefinition", "SiddhiApp"]

AnyDefinition = (
    StreamDefinition
    | TableDefinition
    | WindowDefinition
    | TriggerDefinition
    | FunctionDefinition
    | AggregationDefinition
)


@frozen(kw_only=True)
class SiddhiApp(Node):
    """App annotations (without their ``app:`` prefix), definitions and queries/partitions, each in text order.

    ``source`` is the compiled text, with ``${variables}`` replaced; error messages quote it. ``open_comment`` is the start
    of an unclosed comment, which extends to the end of the text.
    """

    annotations: tuple[Annotation, ...] = ()
    definitions: tuple[AnyDefinition, ...] = ()
    executions: tuple[Query | Partition, ...] = ()
    source: str | None = field(default=None, compare=False, shown=False)
    open_comment: Span | None = field(default=None, compare=False, shown=False)

    @property
    def name(self) -> str | None:
        """The name given by ``@app:name('...')``, or None."""
        annotation = find_annotation(self.annotations, "name")
        if annotation is None or not annotation.elements:
            return None
        return annotation.elements[0].value
