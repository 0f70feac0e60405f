"""Check the numbers in the text of an app against the limits of its sandbox policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from siddhi._frozen import fields
from siddhi.planner.bind.permissions import Permissions
from siddhi.planner.plan.expressions import Const, TypedExpression
from siddhi.query_api.annotation import find_annotation
from siddhi.query_api.app import SiddhiApp
from siddhi.query_api.definition import AggregationDefinition
from siddhi.query_api.input import AbsentState, CountState, Pattern
from siddhi.query_api.input import Sequence as SequenceInput
from siddhi.query_api.query import Partition, Query
from siddhi.query_api.selection import EventRate, SnapshotRate, TimeRate
from siddhi.query_api.span import Node, Span
from siddhi.sandbox import SandboxPolicy

if TYPE_CHECKING:
    from siddhi.extension.metadata import WindowMetadata
    from siddhi.planner.bind.app_annotations import AppSettings

__all__ = ["limit_text", "limit_window", "refuse_excess"]

_LENGTHS = frozenset({"window.length", "event.count"})
_TIMES = frozenset({"window.time", "window.delay", "session.gap", "allowed.latency", "timeout"})


def limit_text(policy: SandboxPolicy, text: str, what: str) -> None:
    """Reject a text that is too long, before it is parsed.

    Raises:
        SiddhiAppCreationError: E341.
    """
    Permissions(policy).limit("max_text", len(text), f"the number of characters of {what}", Span(1, 0, 1, 1))


def refuse_excess(permissions: Permissions, app: SiddhiApp, settings: AppSettings) -> None:
    """Reject app annotations and numbers in queries that exceed the policy; :func:`limit_window` checks windows.

    Raises:
        SiddhiAppCreationError: E340: a name or reporter is not allowed; E341: a number exceeds a limit.
    """
    if permissions.allows_all:
        return
    permissions.app_name(app.name, find_annotation(app.annotations, "name") or app)
    statistics = settings.statistics
    if statistics is not None:
        permissions.statistics((statistics.element("reporter") or "console").lower(), statistics)
    queries = partitions = 0
    for node in nodes_of(app):
        if isinstance(node, (Query, AggregationDefinition)):
            queries += 1
            permissions.limit("max_queries", queries, "the number of queries", node)
        elif isinstance(node, Partition):
            partitions += 1
            permissions.limit("max_partitions", partitions, "the number of partitions", node)
        elif isinstance(node, (Pattern, SequenceInput)) and node.within_ms is not None:
            permissions.limit("max_duration_ms", node.within_ms, "'within'", node)
        elif isinstance(node, AbsentState) and node.for_ms is not None:
            permissions.limit("max_duration_ms", node.for_ms, "'for'", node)
        elif isinstance(node, CountState):
            most = None if node.max < 0 else max(node.min, node.max)
            permissions.limit("max_events", most, "the number of events of this state", node)
        elif isinstance(node, EventRate):
            permissions.limit("max_events", node.events, "the output rate", node)
        elif isinstance(node, (TimeRate, SnapshotRate)):
            permissions.limit("max_duration_ms", node.every_ms, "the output rate", node)


def limit_window(
    permissions: Permissions, window: WindowMetadata, arguments: Sequence[TypedExpression], at: Node
) -> None:
    """Reject a window with more events, or a longer duration, than the policy allows.

    Raises:
        SiddhiAppCreationError: E341.
    """
    for position, argument in enumerate(arguments):
        if not isinstance(argument, Const) or type(argument.value) is not int:
            continue
        names = {
            overload.parameters[position].name
            for overload in window.overloads
            if position < len(overload.parameters) and argument.type in overload.parameters[position].types
        }
        what = f"'{' or '.join(sorted(names))}' of window '{window.full_name}'"
        if names & _LENGTHS:
            permissions.limit("max_events", argument.value, what, at)
        if names & _TIMES:
            permissions.limit("max_duration_ms", argument.value, what, at)


def nodes_of(app: SiddhiApp) -> Iterator[Node]:
    """Yield all nodes of the app, in the order of its text."""
    pending: list[Any] = [app]
    while pending:
        item = pending.pop()
        if isinstance(item, Node):
            yield item
            pending += [getattr(item, each.name) for each in reversed(fields(item)) if each.name != "span"]
        elif isinstance(item, tuple):
            pending += reversed(item)
