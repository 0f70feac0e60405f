"""Definitions: streams, tables, windows, triggers, functions, aggregations."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from siddhi._frozen import frozen
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.query_api.expression import FunctionCall, Variable
    from siddhi.query_api.input import SingleInput
    from siddhi.query_api.selection import OutputEventType, Selector

__all__ = [
    "AggregationDefinition",
    "Attribute",
    "Definition",
    "Duration",
    "FunctionDefinition",
    "StreamDefinition",
    "TableDefinition",
    "TriggerDefinition",
    "WindowDefinition",
]


@frozen
class Attribute(Node):
    """``name type`` of a schema."""

    name: str
    type: AttributeType


@frozen
class Definition(Node):
    """Base of the definitions that have attributes."""

    id: str
    attributes: tuple[Attribute, ...]
    annotations: tuple[Annotation, ...] = ()


@frozen
class StreamDefinition(Definition):
    """``define stream``."""


@frozen
class TableDefinition(Definition):
    """``define table``."""


@frozen(kw_only=True)
class WindowDefinition(Definition):
    """``define window``: a window shared by several queries. ``output`` None means all events."""

    window: FunctionCall
    output: OutputEventType | None = None


@frozen
class TriggerDefinition(Node):
    """``define trigger``: exactly one of ``every_ms`` (ms) and ``at`` (``start`` or a cron expression) is set."""

    id: str
    every_ms: int | None = None
    at: str | None = None


@frozen
class FunctionDefinition(Node):
    """``define function f[language] return type { body }``; the body is the text between the braces, untrimmed."""

    id: str
    language: str
    return_type: AttributeType
    body: str


class Duration(Enum):
    """Bucket lengths of an incremental aggregation, finest first."""

    SECONDS = "sec"
    MINUTES = "min"
    HOURS = "hour"
    DAYS = "day"
    MONTHS = "month"
    YEARS = "year"


@frozen(kw_only=True)
class AggregationDefinition(Node):
    """``define aggregation``. ``durations`` are as written; with ``is_range`` they are the two ends of ``sec ... year``."""

    id: str
    annotations: tuple[Annotation, ...] = ()
    input: SingleInput
    selector: Selector
    aggregate_by: Variable | None = None
    durations: tuple[Duration, ...] = ()
    is_range: bool = False
