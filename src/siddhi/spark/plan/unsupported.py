"""What can't run on Spark, found before Spark is touched; and what a user should know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from siddhi.errors import SiddhiAppCreationError, SiddhiAppError, SparkLoweringError, SparkSetupError, did_you_mean
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
"""How streams and queries begin that islands have beside those of the app."""


def refuse(plan: Plan, layout: Layout, *, flush: bool, tells_case: bool = False) -> None:
    """Raise what speaks against running the app, all at once.

    Args:
        plan: of the app.
        layout: of the plan.
        flush: whether time goes on until nothing waits for it.
        tells_case: whether Spark tells columns apart whose names differ by case alone.

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
                "which Spark's event time does not know",
                trigger.span,
                "use 'at every <time>', or bind a stream with the instants",
            )
    for execution in plan.executions:
        for query in (execution,) if isinstance(execution, QueryPlan) else execution.queries:
            windows = [getattr(query.input, "window", None)]
            windows += [getattr(getattr(query.input, side, None), "window", None) for side in ("left", "right")]
            if any(window is not None and window.window.takes_cron for window in windows):
                yield _error(
                    "E402", "a cron window follows the wall clock, not event time", query.span, "use timeBatch"
                )
    for window in plan.windows.values():
        if window.window.window.takes_cron:
            yield _error("E402", "a cron window follows the wall clock, not event time", window.span, "use timeBatch")
    written = {t for i in layout.fragments for e in i.elements for t in e.tables} - set(layout.read_only)
    for table in plan.tables.values():
        if table.store is not None and table.owner is None:
            verb = "written to by every worker" if table.id in written else "read by every worker on its own"
            yield _error(
                "E403",
                f"table '{table.id}' is kept by store '{table.store.store.full_name}', which would be {verb}",
                table.span,
                "give its rows with bind_table, or write a stream with Spark",
            )
        if table.limit is not None and table.id in layout.read_only:
            yield _error(
                "E413",
                f"table '{table.id}' has a limit of {table.limit.rows} rows, and no query writes it: all its rows are bound",
                table.span,
                "bind fewer rows, and leave @limit or @app:limits(table.rows) out",
            )
    for stream in plan.streams.values():
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
                        f"'{element.name}' never comes to rest: {element.endless}",
                        element.span,
                        "use end_of_input='hold'",
                    )


def _names_taken(plan: Plan, layout: Layout, *, tells_case: bool) -> Iterator[SiddhiAppError]:
    """Names that mean something else where parts of the app run."""
    definitions: list[tuple[str, Span | None]] = [(found.id, found.span) for found in plan.streams.values()]
    definitions += [(found.id, found.span) for found in plan.tables.values()]
    definitions += [(found.id, found.span) for found in plan.windows.values()]
    definitions += [(found.id, found.span) for found in plan.aggregations.values()]
    for name, span in definitions:
        if name.startswith(_OWN_NAMES):
            message = f"'{name}' begins like the streams by which rows come to workers"
            yield _error("E411", message, span, "give it another name")
    for execution in plan.executions:
        for query in (execution,) if isinstance(execution, QueryPlan) else execution.queries:
            if query.name.startswith(_OWN_NAMES):
                message = f"query '{query.name}' begins like those by which rows come to workers"
                yield _error("E411", message, query.span, "give it another name")
    for name in layout.read_only:
        if f"{name}__rows" in plan.streams:
            message = f"the rows of table '{name}' come to workers by a stream '{name}__rows', which the app has"
            yield _error("E411", message, plan.streams[f"{name}__rows"].span, "give the stream another name")
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
                    f"attributes '{other}' and '{attribute.name}' of '{name}' differ by case alone, and are one column"
                )
                yield _error("E411", message, span, "rename one, or set spark.sql.caseSensitive to true")


def refuse_stored_aggregations(plan: Plan, fragments: Iterable[EngineFragment]) -> None:
    """Whether islands would have their workers fill tables of one store.

    Raises:
        SparkLoweringError: they would.
    """
    found = []
    for name in (name for fragment in fragments for name in fragment.names if name in plan.aggregations):
        aggregation = plan.aggregations[name]
        store = next((held for table in aggregation.tables if (held := plan.tables[table].store) is not None), None)
        if store is not None:
            message = (
                f"aggregation '{name}' is kept by store '{store.store.full_name}', which every worker would write to"
            )
            hint = "leave @store out: in batch, runtime.aggregation(...) gives its rows"
            error = _error("E403", message, aggregation.span, hint)
            found.append(error.located(source=plan.app.source, app=plan.app.name))
    if found:
        raise SparkLoweringError(found)


_BATCHES = ("availableNow", "once", "processingTime")
_WITHOUT_BATCHES = ("continuous", "realTime")


def require_batches(trigger: Mapping[str, object]) -> None:
    """Whether a stream is cut into micro-batches.

    Raises:
        ValueError: it is not, or there is no such trigger.
        TypeError: it is not a mapping.
    """
    if not isinstance(trigger, Mapping):
        raise TypeError(f"trigger is a dict, such as {{'availableNow': True}}, not {trigger!r}")
    for name in trigger:
        if name not in (*_BATCHES, *_WITHOUT_BATCHES):
            raise ValueError(f"there is no trigger {name!r}{did_you_mean(str(name), _BATCHES)}")
        if name in _WITHOUT_BATCHES:
            raise ValueError(
                f"trigger {name!r} knows no micro-batches, in which engines run: take 'processingTime' or 'availableNow'"
            )


def require_running(spark: object) -> None:
    """Whether a session has not been stopped.

    Raises:
        SparkSetupError: it has.
    """
    context = getattr(spark, "_sc", None)
    if getattr(spark, "is_stopped", False) or (context is not None and context._jsc is None):
        raise SparkSetupError("the session has been stopped: make another one, and a runtime with it")


def require_jvm(spark: object, what: str) -> None:
    """Whether the session is in this process.

    Raises:
        SparkSetupError: it is one of Spark Connect.
    """
    if "connect" in type(spark).__module__.split("."):
        raise SparkSetupError(
            f"{what} does not run over Spark Connect yet, as checkpoints are reached from here: take a session of this "
            "process; batch, and output(...) of streams, do"
        )


def warnings_of(plan: Plan, layout: Layout, *, strict: bool, shards: int) -> list[str]:
    """What a user should know, a sentence each.

    Raises:
        SparkLoweringError: there is something, and ``strict`` makes errors of it.
    """
    found: list[tuple[str, Span | None, str]] = []
    for name, function, span in _not_repeatable(plan):
        message = (
            f"{name} calls {function}(), which is not deterministic: work that Spark does again may come out otherwise"
        )
        found.append((message, span, "a function of its arguments alone is declared deterministic=True"))
    for fragment in layout.fragments:
        if fragment.is_single:
            assert fragment.blame is not None
            runs = "runs" if len(fragment.names) == 1 else "run"
            message = f"{', '.join(fragment.names)} {runs} on one shard: {fragment.reason}"
            hint = "partition by a key to run in parallel"
            if by_ranges(fragment.blame):
                hint = "where no row is in two ranges, partition by their name: with (ifThenElse(..., 'high', 'low') of ...)"
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
                f"{partition.name} purges idle keys at times counted from the first event of each shard, so that what it "
                "puts out for a key that comes back may depend on the number of shards"
            )
            hint = "leave @purge out, let windows forget by time, or run on one shard (shards=1)"
            yield message, partition.span, hint


def _not_repeatable(plan: Plan) -> Iterator[tuple[str, str, Span | None]]:
    """Queries that call functions of extensions which give something else each time; UUIDs are seen to."""
    for execution in plan.executions:
        for query in (execution,) if isinstance(execution, QueryPlan) else execution.queries:
            for node in (node for expression in expressions_of(query) for node in walk(expression)):
                if isinstance(node, Call) and node.function.native is None and not node.function.deterministic:
                    yield query.name, node.function.full_name, query.span
