"""Bind ``@app:limits`` and ``@limit``, and reject limits that an element cannot enforce."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi._frozen import replace
from siddhi.planner.bind.annotations import duration_ms, only, positive, shown
from siddhi.planner.plan.expressions import Aggregate
from siddhi.planner.plan.limits import AppLimits, KeyLimitPlan, OnFull, RowLimitPlan
from siddhi.planner.plan.nodes import JoinPlan, QueryPlan, SingleInputPlan, SourceKind, StreamFunctionPlan
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.plan.walk import walk
from siddhi.planner.problems import close_to, creation_error
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.query import Partition, ValueKey
from siddhi.query_api.selection import OutputEventType, SnapshotRate
from siddhi.query_api.span import Node

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog
    from siddhi.planner.bind.permissions import Permissions
    from siddhi.query_api.app import AnyDefinition
    from siddhi.query_api.definition import TableDefinition

__all__ = ["app_limits", "limited", "partition_limit", "refuse_limit", "table_limit"]

_APP = ("keys", "values", "ttl", "partition.keys", "table.rows", "on.full")
_QUERY = ("keys", "values", "ttl", "on.full")
_PARTITION = ("keys", "on.full")
_TABLE = ("rows", "on.full")
_COUNTING_VALUES = frozenset({"distinctCount", "unionSet"})
_RELEASED_WITH_ROWS = frozenset(
    {"sum", "avg", "count", "min", "max", "stdDev", "and", "or", "distinctCount", "unionSet"}
)
"""Aggregators whose state of a group ends when the last row of the group leaves the window."""


def app_limits(annotations: tuple[Annotation, ...], permissions: Permissions, at: Node) -> AppLimits:
    """Return the limits of ``@app:limits(...)``.

    Raises:
        SiddhiAppError: an element is unknown, missing or invalid, or exceeds the sandbox policy of the app.
    """
    annotation = _read(annotations, "limits", _APP, at)
    if annotation is None:
        return AppLimits()
    found = AppLimits(
        keys=_number(annotation, "keys", permissions, at),
        values=_number(annotation, "values", permissions, at),
        ttl_ms=_duration(annotation, at),
        partition_keys=_number(annotation, "partition.keys", permissions, at),
        table_rows=_number(annotation, "table.rows", permissions, at),
        on_full=_on_full(annotation, at),
    )
    _check_values(found.values, found.on_full, annotation if annotation.span is not None else at)
    return found


def limited(plan: QueryPlan, catalog: Catalog, at: Node) -> QueryPlan:
    """Return the plan of a query with its limit, if it has one.

    Raises:
        SiddhiAppError: ``@limit`` is invalid, or the query cannot enforce it, ``@app:limits`` or the sandbox policy.
    """
    annotation = _read(plan.annotations, "limit", _QUERY, at)
    of_app = catalog.limits
    own, place = KeyLimitPlan(), at
    if annotation is not None:
        place = annotation if annotation.span is not None else at
        on_full = _on_full(annotation, at) if annotation.element("on.full") is not None else of_app.on_full
        own = KeyLimitPlan(
            keys=_number(annotation, "keys", catalog.permissions, at),
            values=_number(annotation, "values", catalog.permissions, at),
            ttl_ms=_duration(annotation, at),
            on_full=on_full,
            values_on_full=on_full,
        )
        _check_kinds(plan, own, place)
        _check_values(own.values, own.values_on_full, place)
    # The limits of the app complete those of the query, and then the sandbox policy of the app does.
    policy = catalog.permissions
    by_policy = AppLimits(keys=policy.max_keys, values=policy.max_keys, annotation="SandboxPolicy")
    # Without keys and values, on.full of the query applies to the keys that the app or policy limits.
    of_keys = own.on_full if own.keys is None and own.values is None and annotation is not None else of_app.on_full
    found = own
    for other in (of_app, by_policy):
        found = _completed(found, _applicable(plan, other), of_keys, other.on_full)
    if (
        annotation is not None
        and annotation.element("on.full") is not None
        and found.keys is None
        and found.values is None
    ):
        raise creation_error(
            "E328",
            "'on.full' of @limit has no effect: neither the query nor the app limits keys or values of the query",
            place,
            "add keys = '10000', or leave 'on.full' out",
        )
    if found.keys is None and found.values is None and found.ttl_ms is None:
        return plan
    if (found.keys is not None or found.values is not None) and not _can_match_expired_rows(plan):
        limited_by = found.annotation if found.keys is not None else found.values_annotation
        hint = "insert the rows into a stream, and use 'group by' in a query over that stream"
        if limited_by == "SandboxPolicy":
            hint += "; or the host can remove the limit with SandboxPolicy(max_keys=None)"
        raise creation_error(
            "E328",
            f"the limit of {limited_by} is not supported for query '{plan.name}': its window returns expired rows to the aggregators, "
            "and rejected rows can't be recognized among them",
            place,
            hint,
        )
    if found.keys is not None or found.ttl_ms is not None:
        _refuse_unbounded_snapshot(plan, place)
    return replace(plan, limit=found)


def partition_limit(node: Partition, catalog: Catalog) -> KeyLimitPlan | None:
    """Return the limit of the keys of a partition.

    Raises:
        SiddhiAppError: ``@limit`` is invalid, or the keys of the partition are ranges.
    """
    found = only(node.annotations, "limit")
    hint = None
    if found is not None and found.element("ttl") is not None:
        hint = "write @purge(enable = 'true', interval = '1 min', idle.period = '1 hour') to forget idle keys"
    annotation = _read(node.annotations, "limit", _PARTITION, node, hint)
    of_app, most = catalog.limits, catalog.permissions.max_keys
    valued = any(isinstance(key, ValueKey) for key in node.keys)
    if annotation is not None:
        keys = _number(annotation, "keys", catalog.permissions, node)
        if keys is None:
            raise _missing(annotation, "keys", node)
        if not valued:
            place = annotation if annotation.span is not None else node
            raise creation_error(
                "E328", "@limit has no effect: the ranges fix the number of keys of the partition", place
            )
        on_full = _on_full(annotation, node) if annotation.element("on.full") is not None else of_app.on_full
        return KeyLimitPlan(keys=keys, on_full=on_full)
    if valued and of_app.partition_keys is not None:
        return KeyLimitPlan(keys=of_app.partition_keys, on_full=of_app.on_full, annotation=of_app.annotation)
    if valued and most is not None:
        return KeyLimitPlan(keys=most, on_full=of_app.on_full, annotation="SandboxPolicy")
    return None


def table_limit(definition: TableDefinition, catalog: Catalog, *, stored: bool) -> RowLimitPlan | None:
    """Return the limit of the rows of a table; ``stored``: the rows are in a store.

    Raises:
        SiddhiAppError: ``@limit`` is invalid, or the table has a store.
    """
    annotation = _read(definition.annotations, "limit", _TABLE, definition)
    of_app, most = catalog.limits, catalog.permissions.max_rows
    if annotation is not None:
        if stored:
            raise creation_error(
                "E328",
                "@limit is not allowed on a table with a store",
                annotation if annotation.span is not None else definition,
                "limit the rows in the store itself",
            )
        rows = _number(annotation, "rows", catalog.permissions, definition)
        if rows is None:
            raise _missing(annotation, "rows", definition)
        on_full = _on_full(annotation, definition) if annotation.element("on.full") is not None else of_app.on_full
        return RowLimitPlan(rows=rows, on_full=on_full)
    if stored:
        return None
    if of_app.table_rows is not None:
        return RowLimitPlan(rows=of_app.table_rows, on_full=of_app.on_full, annotation=of_app.annotation)
    if most is not None:
        return RowLimitPlan(rows=most, on_full=of_app.on_full, annotation="SandboxPolicy")
    return None


def refuse_limit(definition: AnyDefinition) -> None:
    """Reject ``@limit`` on a definition that is not a table.

    Raises:
        SiddhiAppCreationError: the definition has ``@limit``.
    """
    annotation = only(getattr(definition, "annotations", ()), "limit")
    if annotation is not None:
        raise creation_error(
            "E315",
            f"@limit is not allowed on the definition of '{definition.id}'",
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
    name = shown(annotation, at)
    for element in annotation.elements:
        if (element.key or "").lower() not in known:
            word = element.key if element.key is not None else element.value
            place = element if element.span is not None else annotation if annotation.span is not None else at
            likely = close_to(word, known) if element.key is not None else None
            takes = f"the elements are {', '.join(known)} here"
            raise creation_error("E315", f"unknown element '{word}' in {name}", place, hint or likely or takes)
    if all((element.key or "").lower() == "on.full" for element in annotation.elements):
        raise creation_error(
            "E315",
            f"{name} sets no limit",
            annotation if annotation.span is not None else at,
            f"add {' or '.join(key for key in known if key != 'on.full')}",
        )
    return annotation


def _number(annotation: Annotation, key: str, permissions: Permissions, at: Node) -> int | None:
    value = annotation.element(key)
    if value is None:
        return None
    number = positive(annotation, key, value, at)
    field = "max_rows" if key.endswith("rows") else "max_keys"
    place = annotation if annotation.span is not None else at
    permissions.limit(field, number, f"'{key}' of {shown(annotation, at)}", place)
    return number


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
        f"'on.full' of {shown(annotation, at)} must be {', '.join(map(repr, words[:-1]))} or '{words[-1]}', not '{value}'",
        annotation if annotation.span is not None else at,
        close_to(value, words),
    )


def _missing(annotation: Annotation, key: str, at: Node) -> Exception:
    place = annotation if annotation.span is not None else at
    return creation_error("E315", f"@limit requires the element '{key}'", place)


# --- what a query can enforce


def _natives(plan: QueryPlan) -> list[str | None]:
    """Return the built-in names of the aggregators of a query; None for those of extensions."""
    return [
        node.aggregator.native
        for expression in plan.selector.expressions()
        for node in walk(expression)
        if isinstance(node, Aggregate)
    ]


def _applicable(plan: QueryPlan, of_app: AppLimits) -> KeyLimitPlan:
    """Return which of the limits of an app or policy apply to a query.

    A policy does not limit state that ends with the rows of a window, and the app does not where it can't be enforced.
    """
    grouped = bool(plan.selector.group_by)
    counting = any(native in _COUNTING_VALUES for native in _natives(plan))
    ends = _state_ends_with_rows(plan)
    left_alone = ends and (of_app.annotation == "SandboxPolicy" or not _can_match_expired_rows(plan))
    return KeyLimitPlan(
        keys=of_app.keys if grouped and not left_alone else None,
        values=of_app.values if counting and not left_alone else None,
        ttl_ms=of_app.ttl_ms if grouped and not ends else None,
        annotation=of_app.annotation,
        values_annotation=of_app.annotation,
    )


def _completed(own: KeyLimitPlan, other: KeyLimitPlan, on_full: OnFull, values_on_full: OnFull) -> KeyLimitPlan:
    """Return a limit, completed with the values of another one."""
    found = own
    if own.keys is None and other.keys is not None:
        found = replace(found, keys=other.keys, on_full=on_full, annotation=other.annotation)
    if own.values is None and other.values is not None:
        found = replace(
            found, values=other.values, values_on_full=values_on_full, values_annotation=other.values_annotation
        )
    if own.ttl_ms is None and other.ttl_ms is not None:
        limited_by = other.annotation if found.keys is None else found.annotation
        found = replace(found, ttl_ms=other.ttl_ms, annotation=limited_by)
    return found


def _check_kinds(plan: QueryPlan, limit: KeyLimitPlan, at: Node) -> None:
    """Reject limits that have no effect on the query."""
    for name, value in (("keys", limit.keys), ("ttl", limit.ttl_ms)):
        if value is not None and not plan.selector.group_by:
            hint = "add 'group by'"
            if isinstance(plan.input, PatternPlan):
                hint = "limit partial matches with @info(max.partial.matches = '10000'), and their age with 'within'"
            raise creation_error("E328", f"'{name}' of @limit has no effect: the query has no 'group by'", at, hint)
    if limit.values is not None and not any(native in _COUNTING_VALUES for native in _natives(plan)):
        raise creation_error(
            "E328",
            "'values' of @limit has no effect: the query counts no distinct values",
            at,
            "use distinctCount(...)",
        )
    if limit.ttl_ms is not None and _state_ends_with_rows(plan):
        raise creation_error(
            "E328",
            "'ttl' of @limit has no effect: the state of a key ends when its last row leaves the window",
            at,
            "remove 'ttl'; the window defines how long rows are kept",
        )


def _check_values(values: int | None, on_full: OnFull, at: Node) -> None:
    if values is not None and on_full is OnFull.DROP_OLDEST:
        raise creation_error(
            "E328",
            "'values' cannot be limited with on.full = 'drop_oldest': a dropped value that occurs again would be counted twice",
            at,
            "use on.full = 'error' or 'log'",
        )


def _refuse_unbounded_snapshot(plan: QueryPlan, at: Node) -> None:
    """Reject a snapshot of a window whose rows never expire: it retains them in addition to the state of their keys."""
    window = plan.input.window if isinstance(plan.input, SingleInputPlan) else None
    if isinstance(plan.rate, SnapshotRate) and window is not None and not window.window.expires:
        raise creation_error(
            "E328",
            f"'output snapshot' retains every row of window '{window.window.full_name}', and they never expire: keys can't be limited",
            at,
            "insert the rows into a stream, and limit a query over that stream",
        )


def _can_match_expired_rows(plan: QueryPlan) -> bool:
    """Return whether expired rows can be matched with current ones, or never reach the aggregators."""
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
    if not window.expires or (not window.takes_away and plan.output.event_type is OutputEventType.CURRENT):
        return True
    processed = any(isinstance(handler, StreamFunctionPlan) for handler in input_.after)
    return window.expires_passed and not processed


def _state_ends_with_rows(plan: QueryPlan) -> bool:
    """Return whether the state of a group ends when its rows have left the window."""
    input_ = plan.input
    if plan.rate is not None or isinstance(input_, PatternPlan):
        return False
    if isinstance(input_, JoinPlan):
        kept = any(side.window is not None or side.kind is SourceKind.WINDOW for side in (input_.left, input_.right))
    else:
        assert isinstance(input_, SingleInputPlan)
        kept = input_.kind is SourceKind.WINDOW or (input_.window is not None and input_.window.window.expires)
    return kept and all(native in _RELEASED_WITH_ROWS for native in _natives(plan))
