"""Check apps with policy 'correct': a replay of their input must repeat their output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from siddhi.planner.bind.catalog import Catalog
from siddhi.planner.plan.expressions import Call, TypedExpression
from siddhi.planner.plan.graph import expressions_of
from siddhi.planner.plan.nodes import (
    Action,
    FilterPlan,
    OnErrorAction,
    PartitionPlan,
    Playback,
    QueryPlan,
    SingleInputPlan,
    SourceKind,
    StreamFunctionPlan,
    StreamOrigin,
    StreamPlan,
    ValueKeyPlan,
)
from siddhi.planner.plan.walk import walk
from siddhi.planner.problems import creation_error
from siddhi.query_api.span import Node, Span

__all__ = ["refuse_uncorrectable"]

_REPEATABLE = ("eventTimestamp",)
"""Functions that depend on more than their arguments, but on nothing outside the app."""


def refuse_uncorrectable(
    catalog: Catalog, executions: Iterable[QueryPlan | PartitionPlan], playback: Playback | None
) -> None:
    """Reject what a replay would not repeat, or what it would repeat outside of the app; nothing without corrected streams.

    Raises:
        SiddhiAppCreationError: the app has such a part.
    """
    corrected = next((stream for stream in catalog.streams.values() if stream.correction is not None), None)
    if corrected is None:
        _refuse_actions(catalog)
        return
    found = list(executions)
    if playback is not None and playback.idle_time_ms:
        raise _refused(
            "idle.time of @app:playback", "its clock follows the system's", corrected.span, "remove it, or send CTIs"
        )
    filled = {query.output.target: query for query in _queries(found) if _inserts_into_stream(query)}
    for stream in catalog.streams.values():
        _check_stream(stream, filled.get(stream.id), corrected)
    for table in catalog.tables.values():
        if table.store is not None:
            raise _refused(
                f"store of table '{table.id}'",
                "what a replay writes and reads again lies outside of the app",
                table.span,
                "remove @store, or write to the store from a callback that handles retractions",
            )
    for query in _queries(found):
        for handler in query.input.before if isinstance(query.input, SingleInputPlan) else ():
            if isinstance(handler, StreamFunctionPlan) and handler.function.awaiting is not None:
                raise _refused(
                    f"asynchronous stream function '{handler.function.full_name}'",
                    "a replay would call it again, and its results come when the replay is over",
                    query.span,
                    "call it in an app of its own, and send its results as events",
                )
    for expression, at in _expressions(catalog, found):
        for node in walk(expression):
            if (
                isinstance(node, Call)
                and not (node.function.deterministic or node.function.reads_clock)
                and node.function.name not in _REPEATABLE
            ):
                raise _refused(
                    f"function '{node.function.name}'",
                    "a replay would get other results",
                    at,
                    "send the value as an attribute of the event",
                )


def _check_stream(stream: StreamPlan, filled_by: QueryPlan | None, corrected: StreamPlan) -> None:
    if stream.temporal is not None:
        raise creation_error(
            "E326",
            f"stream '{stream.id}' is temporal with lifetimes, and stream '{corrected.id}' corrects late events: "
            "both in one app are not supported yet",
            stream.span,
            "put them into apps of their own, connected by a callback"
            if filled_by is None
            else f"declare '{stream.id}' without @temporal: what follows from corrected streams is corrected, too",
        )
    if stream.correction is not None:
        if filled_by is not None:
            raise creation_error(
                "E326",
                f"query '{filled_by.name}' inserts into stream '{stream.id}' with policy 'correct': "
                "its events come from outside",
                filled_by.span,
                "insert into another stream: what follows from corrected streams is corrected, too",
            )
    elif filled_by is None and stream.origin is StreamOrigin.DEFINED:
        raise creation_error(
            "E326",
            f"stream '{stream.id}' is classical, and stream '{corrected.id}' corrects late events: "
            "a replay needs all input of the app in order of time",
            stream.span,
            f"declare '{stream.id}' with @temporal(model = 'point', policy = 'correct', bound = '...'), too",
        )
    if stream.async_settings is not None:
        raise _refused(
            f"@async on stream '{stream.id}'",
            "the order of its events is that of threads",
            stream.span,
            "remove @async",
        )
    if stream.on_error is not OnErrorAction.LOG:
        raise _refused(
            f"@OnError on stream '{stream.id}'",
            "a replay would handle its errors again",
            stream.span,
            "remove @OnError: errors go to the exception handler",
        )
    if stream.sources and stream.correction is None:
        raise _refused(
            f"source of stream '{stream.id}'",
            "its events come from outside",
            stream.span,
            "let the source fill a stream with policy 'correct'",
        )
    for sink in stream.sinks:
        if sink.action is None:
            raise creation_error(
                "E326",
                f"sink '{sink.sink.full_name}' of stream '{stream.id}' does not say which rows are retracted, "
                "in an app that corrects late events",
                sink.span or stream.span,
                "add corrections = 'op': an attribute 'op' at the end is 'insert' or 'delete'",
            )


def _refuse_actions(catalog: Catalog) -> None:
    """Reject sinks that wait for corrections in an app without them."""
    for stream in catalog.streams.values():
        for sink in stream.sinks:
            if sink.action is not None:
                raise creation_error(
                    "E315",
                    f"'corrections' of the sink of stream '{stream.id}' has no meaning: the app does not correct late events",
                    sink.span or stream.span,
                    "remove it, or declare the input streams with @temporal(policy = 'correct', ...)",
                )


def _refused(what: str, why: str, at: Node | Span | None, hint: str) -> Exception:
    return creation_error("E326", f"{what} is not supported in an app that corrects late events: {why}", at, hint)


def _queries(executions: Iterable[QueryPlan | PartitionPlan]) -> Iterator[QueryPlan]:
    for execution in executions:
        yield from (execution,) if isinstance(execution, QueryPlan) else execution.queries


def _inserts_into_stream(query: QueryPlan) -> bool:
    return query.output.action is Action.INSERT and query.output.kind is SourceKind.STREAM


def _expressions(
    catalog: Catalog, executions: Iterable[QueryPlan | PartitionPlan]
) -> Iterator[tuple[TypedExpression, Span | None]]:
    """Yield every expression of an app, with the place of its statement."""
    for query in _queries(executions):
        for expression in expressions_of(query):
            yield expression, query.span
    for execution in executions:
        if isinstance(execution, PartitionPlan):
            for key in execution.keys:
                found = (key.expression,) if isinstance(key, ValueKeyPlan) else [each for _, each in key.ranges]
                yield from ((expression, execution.span) for expression in found)
    for aggregation in catalog.aggregations.values():
        for handler in aggregation.input.before:
            if isinstance(handler, FilterPlan):
                yield handler.condition, aggregation.span
        for value in aggregation.base_values:
            if value.argument is not None:
                yield value.argument, aggregation.span
