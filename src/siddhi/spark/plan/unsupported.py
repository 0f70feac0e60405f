"""Find what can't run on Spark before Spark is used, and what users should be warned of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from siddhi.errors import SiddhiAppCreationError, SiddhiAppError, SparkLoweringError, SparkSetupError, did_you_mean
from siddhi.extension.metadata import FunctionMetadata
from siddhi.planner.plan.expressions import Call
from siddhi.planner.plan.graph import expressions_of
from siddhi.planner.plan.nodes import OnErrorAction, PartitionPlan, Plan, QueryPlan
from siddhi.planner.plan.walk import walk
from siddhi.query_api.span import Span
from siddhi.spark.plan.fragments import EngineFragment, Layout
from siddhi.spark.plan.naming import INPUT_STREAM, TRACE
from siddhi.spark.plan.ranges import by_ranges

__all__ = ["refuse", "refuse_stored_aggregations", "require_batches", "require_jvm", "warnings_of"]


_OWN_NAMES = (INPUT_STREAM, TRACE)
"""Prefixes of the streams and queries that fragments add to the app."""


def refuse(plan: Plan, layout: Layout, *, flush: bool, tells_case: bool = False) -> None:
    """Raise everything that prevents an app from running, at once.

    Args:
        plan: plan of the app.
        layout: layout of the plan.
        flush: whether time advances until no timer is left.
        tells_case: whether Spark's column names are case-sensitive.

    Raises:
        SparkLoweringError: something does; its ``refusals`` have places and hints.
    """
    errors = [*_unsupported(plan, layout, flush=flush), *_names_taken(plan, layout, tells_case=tells_case)]
    found = [error.located(source=plan.app.source, app=plan.app.name) for error in errors]
    if found:
        raise SparkLoweringError(found)


def _error(code: str, message: str, span: Span | None, hint: str) -> SiddhiAppError:
    return SiddhiAppCreationError(message, code=code, span=span, hint=hint)


def _unsupported(plan: Plan, layout: Layout, *, flush: bool) -> Iterator[SiddhiAppError]:
    for trigger in plan.triggers.values():
        if trigger.every_ms is None:
            yield _error(
                "E401",
                f"trigger '{trigger.id}' fires at {'start' if trigger.at_start else 'times of the wall clock'}, "
                "and apps on Spark run in event time",
                trigger.span,
                "use 'at every <time>', or bind a stream of the times",
            )
    for execution in plan.executions:
        for query in (execution,) if isinstance(execution, QueryPlan) else execution.queries:
            windows = [getattr(query.input, "window", None)]
            windows += [getattr(getattr(query.input, side, None), "window", None) for side in ("left", "right")]
            if any(window is not None and window.window.takes_cron for window in windows):
                yield _error(
                    "E402",
                    "a cron window follows the wall clock, and apps on Spark run in event time",
                    query.span,
                    "use timeBatch",
                )
    for window in plan.windows.values():
        if window.window.window.takes_cron:
            yield _error(
                "E402",
                "a cron window follows the wall clock, and apps on Spark run in event time",
                window.span,
                "use timeBatch",
            )
    written = {t for i in layout.fragments for e in i.elements for t in e.tables} - set(layout.read_only)
    for table in plan.tables.values():
        if table.store is not None and table.owner is None:
            verb = "would write" if table.id in written else "would read"
            yield _error(
                "E403",
                f"table '{table.id}' is in store '{table.store.store.full_name}', which every worker {verb}",
                table.span,
                "bind its rows with bind_table, or write a stream with Spark",
            )
        if table.limit is not None and table.id in layout.read_only:
            yield _error(
                "E413",
                f"table '{table.id}' is limited to {table.limit.rows} rows, and no query writes it: all its rows are bound",
                table.span,
                "bind fewer rows, and remove @limit or @app:limits(table.rows)",
            )
    for stream in plan.streams.values():
        if stream.temporal is not None:
            yield _error(
                "E414",
                f"stream '{stream.id}' is temporal: lifetimes and CTIs do not run on Spark yet",
                stream.span,
                "run the app with SiddhiManager, or remove @temporal and its operators",
            )
        if stream.correction is not None:
            yield _error(
                "E414",
                f"stream '{stream.id}' corrects late events: corrections do not run on Spark",
                stream.span,
                "run the app with SiddhiManager, or remove @temporal and let the watermark wait for late events",
            )
        if stream.on_error is OnErrorAction.STORE:
            yield _error(
                "E406",
                f"@OnError(action='store') of '{stream.id}': workers have no error store",
                stream.span,
                f"use action='stream' and take !{stream.id} as an output",
            )
    if flush:
        for fragment in layout.fragments:
            for element in fragment.elements:
                if element.endless:
                    yield _error(
                        "E404",
                        f"'{element.name}' never stops emitting: {element.endless}",
                        element.span,
                        "use end_of_input='hold'",
                    )


def _names_taken(plan: Plan, layout: Layout, *, tells_case: bool) -> Iterator[SiddhiAppError]:
    """Yield errors for names that the workers or Spark use otherwise."""
    definitions: list[tuple[str, Span | None]] = [(found.id, found.span) for found in plan.streams.values()]
    definitions += [(found.id, found.span) for found in plan.tables.values()]
    definitions += [(found.id, found.span) for found in plan.windows.values()]
    definitions += [(found.id, found.span) for found in plan.aggregations.values()]
    for name, span in definitions:
        if name.startswith(_OWN_NAMES):
            message = f"the name '{name}' is reserved for streams of workers"
            yield _error("E411", message, span, "use another name")
    for execution in plan.executions:
        for query in (execution,) if isinstance(execution, QueryPlan) else execution.queries:
            if query.name.startswith(_OWN_NAMES):
                message = f"the query name '{query.name}' is reserved for queries of workers"
                yield _error("E411", message, query.span, "use another name")
    for name in layout.read_only:
        if f"{name}__rows" in plan.streams:
            message = f"workers fill table '{name}' by a stream '{name}__rows', which the app defines"
            yield _error("E411", message, plan.streams[f"{name}__rows"].span, "use another name for the stream")
    if tells_case:
        return
    made = {stream for step in layout.steps for stream in step.produced}
    read = [stream for stream in plan.streams.values() if stream.id not in made]
    holders = [(found.id, found.attributes, found.span) for found in read]
    tables = (plan.tables[name] for name in layout.read_only)
    holders += [(found.id, found.attributes, found.span) for found in tables]
    for name, attributes, span in holders:
        met: dict[str, str] = {}
        for attribute in attributes:
            other = met.setdefault(attribute.name.lower(), attribute.name)
            if other != attribute.name:
                message = (
                    f"attributes '{other}' and '{attribute.name}' of '{name}' differ in case only, which Spark ignores"
                )
                yield _error("E411", message, span, "rename one, or set spark.sql.caseSensitive to true")


def refuse_stored_aggregations(plan: Plan, fragments: Iterable[EngineFragment]) -> None:
    """Check that no fragment fills the tables of a store.

    Raises:
        SparkLoweringError: one does.
    """
    found = []
    for name in (name for fragment in fragments for name in fragment.names if name in plan.aggregations):
        aggregation = plan.aggregations[name]
        store = next(
            (found_store for table in aggregation.tables if (found_store := plan.tables[table].store) is not None), None
        )
        if store is not None:
            message = f"aggregation '{name}' is in store '{store.store.full_name}', which every worker would write"
            hint = "remove @store; in batch, runtime.aggregation(...) returns its rows"
            error = _error("E403", message, aggregation.span, hint)
            found.append(error.located(source=plan.app.source, app=plan.app.name))
    if found:
        raise SparkLoweringError(found)


_BATCHES = ("availableNow", "once", "processingTime")
_WITHOUT_BATCHES = ("continuous", "realTime")


def require_batches(trigger: Mapping[str, object]) -> None:
    """Check that a trigger runs micro-batches.

    Raises:
        ValueError: it does not, or is unknown.
        TypeError: it is not a mapping.
    """
    if not isinstance(trigger, Mapping):
        raise TypeError(f"invalid trigger {trigger!r}: expected a dict such as {{'availableNow': True}}")
    for name in trigger:
        if name not in (*_BATCHES, *_WITHOUT_BATCHES):
            raise ValueError(f"unknown trigger {name!r}{did_you_mean(str(name), _BATCHES)}")
        if name in _WITHOUT_BATCHES:
            raise ValueError(
                f"trigger {name!r} runs no micro-batches, which engines need: use 'processingTime' or 'availableNow'"
            )


def require_running(spark: object) -> None:
    """Check that a session has not been stopped.

    Raises:
        SparkSetupError: it has.
    """
    context = getattr(spark, "_sc", None)
    if getattr(spark, "is_stopped", False) or (context is not None and context._jsc is None):
        raise SparkSetupError("the session has been stopped: create a session, and a runtime with it")


def require_jvm(spark: object, what: str) -> None:
    """Check that a session runs in this process.

    Raises:
        SparkSetupError: it is a session of Spark Connect.
    """
    if "connect" in type(spark).__module__.split("."):
        raise SparkSetupError(
            f"{what} does not run over Spark Connect, as it reads and writes checkpoints from this process: use a session of this "
            "process; batch, and output(...) of streams, run over Spark Connect"
        )


def warnings_of(plan: Plan, layout: Layout, *, strict: bool, shards: int) -> list[str]:
    """Return what users should be warned of, a sentence each.

    Raises:
        SparkLoweringError: there is a warning, and ``strict`` turns warnings into errors.
    """
    found: list[tuple[str, Span | None, str]] = []
    for name, function, span in _not_repeatable(plan):
        message = (
            f"{name} calls {function}(), which is not deterministic: a task that Spark repeats may have other results"
        )
        found.append((message, span, "declare a function that depends on its arguments only with deterministic=True"))
    for fragment in layout.fragments:
        if fragment.is_single:
            assert fragment.blame is not None
            runs = "runs" if len(fragment.names) == 1 else "run"
            message = f"{', '.join(fragment.names)} {runs} on one shard: {fragment.reason}"
            hint = "partition by a key to run in parallel"
            if by_ranges(fragment.blame):
                hint = (
                    "if no row is in two ranges, partition by their name: with (ifThenElse(..., 'high', 'low') of ...)"
                )
            found.append((message, fragment.blame.span, hint))
        elif not fragment.stateless and shards > 1:
            found += _purged_by_shard(plan, fragment)
    if strict and found:
        errors = [_error("E410", message, span, hint) for message, span, hint in found]
        raise SparkLoweringError([error.located(source=plan.app.source, app=plan.app.name) for error in errors])
    return [message for message, _, _ in found]


def _purged_by_shard(plan: Plan, fragment: EngineFragment) -> Iterator[tuple[str, Span | None, str]]:
    for partition in plan.executions:
        if isinstance(partition, PartitionPlan) and partition.purge is not None and partition.name in fragment.names:
            message = (
                f"{partition.name} purges idle keys at times counted from the first event of each shard, so the results of a key that "
                "returns may depend on the number of shards"
            )
            hint = "remove @purge, limit windows by time, or run on one shard (shards=1)"
            yield message, partition.span, hint


def _not_repeatable(plan: Plan) -> Iterator[tuple[str, str, Span | None]]:
    """Yield queries that call nondeterministic functions; UUIDs are seeded."""
    for execution in plan.executions:
        for query in (execution,) if isinstance(execution, QueryPlan) else execution.queries:
            for node in (node for expression in expressions_of(query) for node in walk(expression)):
                if isinstance(node, Call) and _is_random(node.function):
                    yield query.name, node.function.full_name, query.span


def _is_random(function: FunctionMetadata) -> bool:
    """Return whether a repeated task gets other results of a function."""
    if function.builtin is None:
        return not function.deterministic
    return function.namespace is not None and not function.deterministic and not function.reads_clock
