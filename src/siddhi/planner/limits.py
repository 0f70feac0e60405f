"""Reading ``@app:limits`` and ``@limit``, and refusing limits that an element cannot hold."""

from __future__ import annotations

from dataclasses import replace

from siddhi.planner.annotations import duration_ms, only, positive
from siddhi.planner.expressions import Aggregate
from siddhi.planner.limits_plan import AppLimits, KeyLimitPlan, OnFull, RowLimitPlan
from siddhi.planner.liveness import selection_expressions
from siddhi.planner.nodes import JoinPlan, QueryPlan, SingleInputPlan, SourceKind, StreamFunctionPlan
from siddhi.planner.patterns_plan import PatternPlan
from siddhi.planner.problems import close_to, creation_error
from siddhi.planner.walk import walk
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.app import AnyDefinition
from siddhi.query_api.query import Partition, ValueKey
from siddhi.query_api.selection import OutputEventType
from siddhi.query_api.span import Node

__all__ = ["app_limits", "limited", "partition_limit", "refuse_limit", "table_limit"]

_APP = ("keys", "values", "ttl", "partition.keys", "table.rows", "on.full")
_QUERY = ("keys", "values", "ttl", "on.full")
_PARTITION = ("keys", "on.full")
_TABLE = ("rows", "on.full")
_COUNTING_VALUES = frozenset({"distinctCount", "unionSet"})
_END_WITH_THEIR_ROWS = frozenset(
    {"sum", "avg", "count", "min", "max", "stdDev", "and", "or", "distinctCount", "unionSet"}
)
"""Aggregators that hold nothing of a group whose last row has left the window."""


def app_limits(annotations: tuple[Annotation, ...], at: Node) -> AppLimits:
    """What ``@app:limits(...)`` says.

    Raises:
        SiddhiAppError: an element is unknown, missing or wrong.
    """
    annotation = _read(annotations, "limits", _APP, at)
    if annotation is None:
        return AppLimits()
    return AppLimits(
        keys=_number(annotation, "keys", at),
        values=_number(annotation, "values", at),
        ttl_ms=_duration(annotation, at),
        partition_keys=_number(annotation, "partition.keys", at),
        table_rows=_number(annotation, "table.rows", at),
        on_full=_on_full(annotation, at),
    )


def limited(plan: QueryPlan, of_app: AppLimits, at: Node) -> QueryPlan:
    """The plan of a query with its limit, if it has one.

    Raises:
        SiddhiAppError: ``@limit`` is wrong, or the query cannot hold what it or ``@app:limits`` says.
    """
    annotation = _read(plan.annotations, "limit", _QUERY, at)
    if annotation is not None:
        limit = KeyLimitPlan(
            keys=_number(annotation, "keys", at),
            values=_number(annotation, "values", at),
            ttl_ms=_duration(annotation, at),
            on_full=_on_full(annotation, at),
        )
        _check_kinds(plan, limit, annotation if annotation.span is not None else at)
    # What the query says in part, the app completes where it applies.
    own = KeyLimitPlan() if annotation is None else limit
    by_app = _applicable(plan, of_app)
    complete = KeyLimitPlan(
        keys=own.keys if own.keys is not None else by_app.keys,
        values=own.values if own.values is not None else by_app.values,
        ttl_ms=own.ttl_ms if own.ttl_ms is not None else by_app.ttl_ms,
        on_full=own.on_full if annotation is not None and annotation.element("on.full") else of_app.on_full,
        annotation="@limit" if own.keys is not None or own.values is not None else "@app:limits",
    )
    if complete.keys is None and complete.values is None and complete.ttl_ms is None:
        return plan
    _check_rows(plan, complete, annotation if annotation is not None and annotation.span is not None else at)
    return replace(plan, limit=complete)


def partition_limit(node: Partition, of_app: AppLimits) -> KeyLimitPlan | None:
    """The limit of a partition's keys.

    Raises:
        SiddhiAppError: ``@limit`` is wrong, or the partition has as many keys as ranges.
    """
    found = only(node.annotations, "limit")
    hint = None
    if found is not None and found.element("ttl") is not None:
        hint = "write @purge(enable = 'true', interval = '1 min', idle.period = '1 hour') to forget idle keys"
    annotation = _read(node.annotations, "limit", _PARTITION, node, hint)
    valued = any(isinstance(key, ValueKey) for key in node.keys)
    if annotation is None:
        if of_app.partition_keys is None or not valued:
            return None
        return KeyLimitPlan(keys=of_app.partition_keys, on_full=of_app.on_full, annotation="@app:limits")
    keys = _number(annotation, "keys", node)
    if keys is None:
        raise _lacks(annotation, "keys", node)
    if not valued:
        place = annotation if annotation.span is not None else node
        raise creation_error("E328", "@limit limits nothing: the keys of the partition are its ranges", place)
    on_full = _on_full(annotation, node) if annotation.element("on.full") is not None else of_app.on_full
    return KeyLimitPlan(keys=keys, on_full=on_full)


def table_limit(
    annotations: tuple[Annotation, ...], of_app: AppLimits, at: Node, *, stored: bool
) -> RowLimitPlan | None:
    """The limit of a table's rows; ``stored``: a store keeps them.

    Raises:
        SiddhiAppError: ``@limit`` is wrong, or stands on a table that a store keeps.
    """
    annotation = _read(annotations, "limit", _TABLE, at)
    if annotation is None:
        if of_app.table_rows is None or stored:
            return None
        return RowLimitPlan(rows=of_app.table_rows, on_full=of_app.on_full, annotation="@app:limits")
    if stored:
        raise creation_error(
            "E328",
            "@limit cannot hold a table whose rows a store keeps",
            annotation if annotation.span is not None else at,
            "limit the rows in the store itself",
        )
    rows = _number(annotation, "rows", at)
    if rows is None:
        raise _lacks(annotation, "rows", at)
    on_full = _on_full(annotation, at) if annotation.element("on.full") is not None else of_app.on_full
    return RowLimitPlan(rows=rows, on_full=on_full)


def refuse_limit(definition: AnyDefinition) -> None:
    """Refuse ``@limit`` on a definition other than that of a table.

    Raises:
        SiddhiAppCreationError: there is one.
    """
    annotation = only(getattr(definition, "annotations", ()), "limit")
    if annotation is not None:
        raise creation_error(
            "E315",
            f"@limit cannot stand on the definition of '{definition.id}'",
            annotation if annotation.span is not None else definition,
            "put it on a query with 'group by', on a partition or on a table",
        )


# --- reading


def _read(
    annotations: tuple[Annotation, ...], name: str, known: tuple[str, ...], at: Node, hint: str | None = None
) -> Annotation | None:
    annotation = only(annotations, name)
    if annotation is None:
        return None
    shown = "@app:limits" if name == "limits" else "@limit"
    for element in annotation.elements:
        if (element.key or "").lower() not in known:
            word = element.key if element.key is not None else element.value
            place = element if element.span is not None else annotation if annotation.span is not None else at
            likely = close_to(word, known) if element.key is not None else None
            takes = f"it takes {', '.join(known)} here"
            raise creation_error("E315", f"{shown} has no element '{word}'", place, hint or likely or takes)
    if all((element.key or "").lower() == "on.full" for element in annotation.elements):
        raise creation_error(
            "E315",
            f"{shown} limits nothing",
            annotation if annotation.span is not None else at,
            f"give {' or '.join(key for key in known if key != 'on.full')}",
        )
    return annotation


def _number(annotation: Annotation, key: str, at: Node) -> int | None:
    value = annotation.element(key)
    return None if value is None else positive(annotation, key, value, at)


def _duration(annotation: Annotation, at: Node) -> int | None:
    value = annotation.element("ttl")
    return None if value is None else duration_ms(annotation, "ttl", value, at)


def _on_full(annotation: Annotation, at: Node) -> OnFull:
    value = annotation.element("on.full")
    if value is None:
        return OnFull.ERROR
    for known in OnFull:
        if known.value == value.strip().lower():
            return known
    words = [known.value for known in OnFull]
    raise creation_error(
        "E315",
        f"'on.full' of @{annotation.name} must be {', '.join(map(repr, words[:-1]))} or '{words[-1]}', not '{value}'",
        annotation if annotation.span is not None else at,
        close_to(value, words),
    )


def _lacks(annotation: Annotation, key: str, at: Node) -> Exception:
    place = annotation if annotation.span is not None else at
    return creation_error("E315", f"@limit lacks the element '{key}'", place)


# --- what a query can hold


def _natives(plan: QueryPlan) -> list[str | None]:
    """The aggregators of a query by their built-in names; None for those of extensions."""
    return [
        node.aggregator.native
        for expression in selection_expressions(plan.selector)
        for node in walk(expression)
        if isinstance(node, Aggregate)
    ]


def _applicable(plan: QueryPlan, of_app: AppLimits) -> KeyLimitPlan:
    """Which of the app's limits concern a query."""
    grouped = bool(plan.selector.group_by)
    counting = any(native in _COUNTING_VALUES for native in _natives(plan))
    return KeyLimitPlan(
        keys=of_app.keys if grouped else None,
        values=of_app.values if counting else None,
        ttl_ms=of_app.ttl_ms if grouped and not _ends_by_itself(plan) else None,
    )


def _check_kinds(plan: QueryPlan, limit: KeyLimitPlan, at: Node) -> None:
    """Refuse what limits nothing of the query."""
    for name, value in (("keys", limit.keys), ("ttl", limit.ttl_ms)):
        if value is not None and not plan.selector.group_by:
            hint = "write 'group by'"
            if isinstance(plan.input, PatternPlan):
                hint = "limit partial matches with @info(max.partial.matches = '10000'), and their age with 'within'"
            raise creation_error("E328", f"'{name}' of @limit limits nothing: the query has no group-by keys", at, hint)
    if limit.values is not None and not any(native in _COUNTING_VALUES for native in _natives(plan)):
        raise creation_error(
            "E328",
            "'values' of @limit limits nothing: the query counts no distinct values",
            at,
            "use distinctCount(...)",
        )
    if limit.ttl_ms is not None and _ends_by_itself(plan):
        raise creation_error(
            "E328",
            "'ttl' of @limit has no effect: the state of a key ends when its last row leaves the window",
            at,
            "leave 'ttl' out; the window says how long rows are kept",
        )


def _check_rows(plan: QueryPlan, limit: KeyLimitPlan, at: Node) -> None:
    """Refuse a limit where a refused row could not be told apart when it leaves its window."""
    if limit.keys is None and limit.values is None:
        return
    if limit.values is not None and limit.on_full is OnFull.DROP_OLDEST:
        raise creation_error(
            "E328",
            "'values' cannot be limited with on.full = 'drop_oldest': a value that comes again would be counted twice",
            at,
            "use on.full = 'error' or 'log'",
        )
    if not _knows_its_rows(plan):
        raise creation_error(
            "E328",
            f"{limit.annotation} cannot limit query '{plan.name}': rows come back to its aggregates, and it could not tell "
            "which of them it refused",
            at,
            "insert the rows into a stream, and group by in a query over that stream",
        )


def _knows_its_rows(plan: QueryPlan) -> bool:
    """Whether a row that leaves a window is known again, or none comes back."""
    input_ = plan.input
    if isinstance(input_, PatternPlan):
        return True
    if isinstance(input_, JoinPlan):
        return plan.output.event_type is OutputEventType.CURRENT and not any(
            side.window is not None or side.kind is SourceKind.WINDOW for side in (input_.left, input_.right)
        )
    assert isinstance(input_, SingleInputPlan)
    if input_.kind is SourceKind.WINDOW:
        return False
    if input_.window is None:
        return True
    window = input_.window.window
    if not window.expires:
        return True
    if window.batch:
        return window.emits_reset and window.implementation is None
    processed = any(isinstance(handler, StreamFunctionPlan) for handler in input_.after)
    return window.takes_away and window.expires_passed and not processed


def _ends_by_itself(plan: QueryPlan) -> bool:
    """Whether the state of a group ends when a window has let go of its rows."""
    input_ = plan.input
    if plan.rate is not None or isinstance(input_, PatternPlan):
        return False
    if isinstance(input_, JoinPlan):
        kept = any(side.window is not None or side.kind is SourceKind.WINDOW for side in (input_.left, input_.right))
    else:
        assert isinstance(input_, SingleInputPlan)
        kept = input_.kind is SourceKind.WINDOW or (input_.window is not None and input_.window.window.expires)
    return kept and all(native in _END_WITH_THEIR_ROWS for native in _natives(plan))
