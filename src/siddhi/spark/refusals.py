"""What can't run on Spark, found before Spark is touched; and what a user should know."""

from __future__ import annotations

from collections.abc import Iterator

from siddhi.errors import SiddhiAppCreationError, SiddhiAppError, SparkLoweringError
from siddhi.planner.nodes import OnErrorAction, Plan, QueryPlan
from siddhi.query_api.app import SiddhiApp
from siddhi.query_api.span import Span
from siddhi.spark.islands import Layout

__all__ = ["refuse", "warnings_of"]


def refuse(plan: Plan, layout: Layout, *, flush: bool) -> None:
    """Raise what speaks against running the app, all at once.

    Raises:
        SparkLoweringError: something does; its ``refusals`` have places and hints.
    """
    found = [error.located(source=plan.app.source, app=plan.app.name) for error in _refusals(plan, layout, flush=flush)]
    if found:
        raise SparkLoweringError(found)


def _error(code: str, message: str, span: Span | None, hint: str) -> SiddhiAppError:
    return SiddhiAppCreationError(message, code=code, span=span, hint=hint)


def _refusals(plan: Plan, layout: Layout, *, flush: bool) -> Iterator[SiddhiAppError]:
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
    written = {t for i in layout.islands for e in i.elements for t in e.tables} - set(layout.read_only)
    for table in plan.tables.values():
        if table.store is not None and table.owner is None:
            verb = "written to by every worker" if table.id in written else "read by every worker on its own"
            yield _error(
                "E403",
                f"table '{table.id}' is kept by store '{table.store.store.full_name}', which would be {verb}",
                table.span,
                "give its rows with bind_table, or write a stream with Spark",
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
        for island in layout.islands:
            for element in island.elements:
                if element.endless:
                    yield _error(
                        "E404",
                        f"'{element.name}' never comes to rest: {element.endless}",
                        element.span,
                        "use end_of_input='hold'",
                    )


def warnings_of(layout: Layout, *, strict: bool, app: SiddhiApp) -> list[str]:
    """What a user should know, a sentence each.

    Raises:
        SparkLoweringError: there is something, and ``strict`` makes errors of it.
    """
    found: list[tuple[str, Span | None, str]] = []
    for island in layout.islands:
        if island.is_single:
            assert island.blame is not None
            message = f"{', '.join(island.names)} run on one shard: {island.reason}"
            found.append((message, island.blame.span, "partition by a key to run in parallel"))
    if strict and found:
        errors = [_error("E410", message, span, hint) for message, span, hint in found]
        raise SparkLoweringError([error.located(source=app.source, app=app.name) for error in errors])
    return [message for message, _, _ in found]
