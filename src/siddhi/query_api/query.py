"""Queries and partitions."""

from __future__ import annotations

from siddhi._frozen import frozen
from siddhi.query_api.annotation import Annotation, find_annotation
from siddhi.query_api.expression import Expression
from siddhi.query_api.input import Input
from siddhi.query_api.selection import Output, OutputRate, Selector
from siddhi.query_api.span import Node

__all__ = ["Partition", "PartitionKey", "Query", "RangeKey", "ValueKey"]


@frozen(kw_only=True)
class Query(Node):
    """``from input select ... output ... insert into ...``."""

    input: Input
    selector: Selector
    output: Output
    rate: OutputRate | None = None
    annotations: tuple[Annotation, ...] = ()

    @property
    def name(self) -> str | None:
        """The name given by ``@info(name='...')``, or None."""
        info = find_annotation(self.annotations, "info")
        return None if info is None else info.element("name")


@frozen
class PartitionKey(Node):
    """Base of the keys: how the key of an event of one stream is computed."""

    stream: str


@frozen(kw_only=True)
class ValueKey(PartitionKey):
    """``expression of Stream``."""

    expression: Expression


@frozen(kw_only=True)
class RangeKey(PartitionKey):
    """``condition as 'label' or ... of Stream``."""

    ranges: tuple[tuple[str, Expression], ...]


@frozen(kw_only=True)
class Partition(Node):
    """``partition with (keys) begin queries end``: the queries have separate state for each key."""

    keys: tuple[PartitionKey, ...]
    queries: tuple[Query, ...]
    annotations: tuple[Annotation, ...] = ()
