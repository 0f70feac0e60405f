"""Bind ``@app:limits`` and ``@limit``, and reject limits that an element cannot enforce."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi._frozen import replace
from siddhi.planner.bind.annotations import duration_ms, only, positive, shown
from siddhi.planner.plan.expressions import Aggregate, Call, InTable, TypedExpression
from siddhi.planner.plan.limits import AppLimits, Expiry, KeyLimitPlan, OnFull, RowLimitPlan
from siddhi.planner.plan.nodes import FilterPlan, JoinPlan, QueryPlan, SingleInputPlan, SourceKind, StreamFunctionPlan
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.plan.walk import calls_python, walk
from siddhi.planner.problems import close_to, creation_error, located
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.input import JoinType
from siddhi.query_api.query import Partition, ValueKey
from siddhi.query_api.selection import OutputEventType, SnapshotRate
from siddhi.query_api.span import Node

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog
    from siddhi.planner.bind.permissions import Permissions
    from siddhi.query_api.app import AnyDefinition
    from siddhi.query_api.definition import AggregationDefinition, TableDefinition

__all__ = ["aggregation_limit", "app_limits", "limited", "partition_limit", "refuse_limit", "table_limit"]

_APP = ("keys", "values", "ttl", "partition.keys", "aggregation.keys", "table.rows", "on.full")
_QUERY = ("keys", "values", "ttl", "on.full")
_PARTITION = ("keys", "on.full")
_AGGREGATION = ("keys", "on.full")
_TABLE = ("rows", "on.full")
_COUNTING_VALUES = frozenset({"distinctCount", "unionSet"})
_RELEASED_WITH_ROWS = frozenset(
    {"sum", "avg", "count", "min", "max", "stdDev", "and", "or", "distinctCount", "unionSet"}
)
"""Aggregators whose state of a group ends when the last row of the group leaves the window."""
_IN_ORDER = frozenset(
    {
        "length",
        "time",
        "timeLength",
        "externalTime",
        "lengthBatch",
        "timeBatch",
        "externalTimeBatch",
        "batch",
        "expression",
    }
)
"""Windows whose rows expire in the order in which they came."""


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
        aggregation_keys=_number(annotation, "aggregation.keys", permissions, at),
        table_rows=_number(annotation, "table.rows", permissions, at),
        on_full=_on_full(annotation, at),
    )
    _check_values(found.values, found.on_full, located(annotation, at))
    return found


def limited(plan: QueryPlan, catalog: Catalog, at: Node) -> QueryPlan:
    """Return the plan of a query with its limit, if it has one.

    Raises:
        SiddhiAppError: ``@limit`` is invalid, or the query cannot enforce it, ``@app:limits`` or the sandbox policy.
    """
    annotation = _read(plan.annotations, "limit", _QUERY, at)
    of_app = catalog.limits
    if annotation is None and of_app.limits_no_query and catalog.permissions.max_keys is None:
        return plan
    own, location = KeyLimitPlan(), at
    if annotation is not None:
        location = located(annotation, at)
        on_full = _on_full(annotation, at) if annotation.element("on.full") is not None else of_app.on_full
        own = KeyLimitPlan(
            keys=_number(annotation, "keys", catalog.permissions, at),
            values=_number(annotation, "values", catalog.permissions, at),
            ttl_ms=_duration(annotation, at),
            on_full=on_full,
            values_on_full=on_full,
        )
        _check_kinds(plan, own, location)
        _check_values(own.values, own.values_on_full, location)
    # The limits of the app complete those of the query, and then the sandbox policy of the app does.
    policy = catalog.permissions
    by_policy = AppLimits(keys=policy.max_keys, values=policy.max_keys, annotation="SandboxPolicy")
    # Without keys and values, on.full of the query applies to the keys that the app or policy limits.
    of_keys = own.on_full if own.keys is None and own.values is None and annotation is not None else of_app.on_full
    found = own
    expiry = _expiry(plan, catalog)
    limits_keys, limits_values = expiry is not None, expiry in (Expiry.BY_RECORD, Expiry.NEVER)
    for other in (of_app, by_policy):
        applicable = _applicable(plan, other, keys=limits_keys, values=limits_values)
        found = _completed(found, applicable, of_keys, other.on_full)
    if (
        annotation is not None
        and annotation.element("on.full") is not None
        and found.keys is None
        and found.values is None
    ):
        raise creation_error(
            "E328",
            "'on.full' of @limit has no effect: neither the query nor the app limits keys or values of the query",
            location,
            "add keys = '10000', or leave 'on.full' out",
        )
    if found.keys is None and found.values is None and found.ttl_ms is None:
        return plan
    refused_keys = found.keys is not None and not limits_keys
    if refused_keys or (found.values is not None and not limits_values):
        limited_by = found.annotation if refused_keys else found.values_annotation
        hint = "insert the rows into a stream, and use 'group by' in a query over that stream"
        if limited_by == "SandboxPolicy":
            hint += "; or the host can remove the limit with SandboxPolicy(max_keys=None)"
        raise creation_error(
            "E328",
            f"the limit of {limited_by} on {'keys' if refused_keys else 'values'} is not supported for query '{plan.name}': expired rows "
            "return to its aggregators, and rejected rows can't be recognized among them",
            location,
            hint,
        )
    if found.keys is not None or found.ttl_ms is not None:
        _refuse_unbounded_snapshot(plan, location)
    return replace(plan, limit=replace(found, expiry=expiry or Expiry.BY_RECORD))


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
            location = located(annotation, node)
            raise creation_error(
                "E328", "@limit has no effect: the ranges fix the number of keys of the partition", location
            )
        on_full = _on_full(annotation, node) if annotation.element("on.full") is not None else of_app.on_full
        return KeyLimitPlan(keys=keys, on_full=on_full)
    if valued and of_app.partition_keys is not None:
        return KeyLimitPlan(keys=of_app.partition_keys, on_full=of_app.on_full, annotation=of_app.annotation)
    if valued and most is not None:
        return KeyLimitPlan(keys=most, on_full=of_app.on_full, annotation="SandboxPolicy")
    return None


def aggregation_limit(
    definition: AggregationDefinition, catalog: Catalog, levels: int, *, stored: bool
) -> KeyLimitPlan | None:
    """Return the limit of the rows that an aggregation holds in memory.

    Args:
        definition: the aggregation.
        catalog: has the limits of the app and of its policy.
        levels: number of its bucket lengths.
        stored: the rows of completed buckets are in a store.

    Raises:
        SiddhiAppError: ``@limit`` is invalid, or no event could be accepted, or no row could be dropped.
    """
    found = only(definition.annotations, "limit")
    hint = None
    if found is not None and found.element("ttl") is not None:
        hint = "write @purge(enable = 'true', interval = '1 min', @retentionPeriod(sec = '2 min')) to delete old rows"
    elif found is not None and found.element("values") is not None:
        hint = "the distinct values of an aggregation can't be limited: a roll-up merges them after the events were accepted"
    annotation = _read(definition.annotations, "limit", _AGGREGATION, definition, hint)
    of_app, most = catalog.limits, catalog.permissions.max_keys
    place = annotation if annotation is not None and annotation.span is not None else definition
    limit = None
    if annotation is not None:
        keys = _number(annotation, "keys", catalog.permissions, definition)
        if keys is None:
            raise _missing(annotation, "keys", definition)
        on_full = _on_full(annotation, definition) if annotation.element("on.full") is not None else of_app.on_full
        limit = KeyLimitPlan(keys=keys, on_full=on_full)
    elif of_app.aggregation_keys is not None:
        limit = KeyLimitPlan(keys=of_app.aggregation_keys, on_full=of_app.on_full, annotation=of_app.annotation)
    elif most is not None:
        # A store has no row in memory that could be dropped.
        on_full = OnFull.ERROR if stored and of_app.on_full is OnFull.DROP_OLDEST else of_app.on_full
        limit = KeyLimitPlan(keys=most, on_full=on_full, annotation="SandboxPolicy")
    if limit is None:
        return None
    assert limit.keys is not None
    if limit.keys < levels:
        raise creation_error(
            "E328",
            f"the limit of {limit.annotation} for aggregation '{definition.id}', {limit.keys} rows, accepts no event: an event "
            f"makes a row for each of the {levels} bucket lengths",
            place,
            f"allow at least {levels} rows for each group",
        )
    if stored and limit.on_full is OnFull.DROP_OLDEST:
        raise creation_error(
            "E328",
            f"on.full = 'drop_oldest' of {limit.annotation} is not supported for aggregation '{definition.id}': its completed rows "
            "are in a store, and the rows of current buckets can't be dropped",
            place,
            "write @limit(keys = '...', on.full = 'error') or 'log' on the aggregation",
        )
    return limit


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
                located(annotation, definition),
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
    """Reject ``@limit`` on a definition that is neither a table nor an aggregation.

    Raises:
        SiddhiAppCreationError: the definition has ``@limit``.
    """
    annotation = only(getattr(definition, "annotations", ()), "limit")
    if annotation is not None:
        raise creation_error(
            "E315",
            f"@limit is not allowed on the definition of '{definition.id}'",
            located(annotation, definition),
            "put it on a query with 'group by', on a partition, an aggregation or a table",
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
            location = located(element, located(annotation, at))
            likely = close_to(word, known) if element.key is not None else None
            takes = f"the elements are {', '.join(known)} here"
            raise creation_error("E315", f"unknown element '{word}' in {name}", location, hint or likely or takes)
    if all((element.key or "").lower() == "on.full" for element in annotation.elements):
        raise creation_error(
            "E315",
            f"{name} sets no limit",
            located(annotation, at),
            f"add {' or '.join(key for key in known if key != 'on.full')}",
        )
    return annotation


def _number(annotation: Annotation, key: str, permissions: Permissions, at: Node) -> int | None:
    value = annotation.element(key)
    if value is None:
        return None
    number = positive(annotation, key, value, at)
    field = "max_rows" if key.endswith("rows") else "max_keys"
    location = located(annotation, at)
    permissions.limit(field, number, f"'{key}' of {shown(annotation, at)}", location)
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
        located(annotation, at),
        close_to(value, words),
    )


def _missing(annotation: Annotation, key: str, at: Node) -> Exception:
    location = located(annotation, at)
    return creation_error("E315", f"@limit requires the element '{key}'", location)


# --- what a query can enforce


def _builtins(plan: QueryPlan) -> list[str | None]:
    """Return the built-in names of the aggregators of a query; None for those of extensions."""
    return [
        node.aggregator.builtin
        for expression in plan.selector.expressions()
        for node in walk(expression)
        if isinstance(node, Aggregate)
    ]


def _applicable(plan: QueryPlan, of_app: AppLimits, *, keys: bool, values: bool) -> KeyLimitPlan:
    """Return which of the limits of an app or policy apply to a query.

    A policy does not limit state that ends with the rows of a window, and the app does not where it can't be enforced.

    Args:
        plan: the query.
        of_app: the limits of the app or policy.
        keys, values: whether the query can enforce such a limit.
    """
    grouped = bool(plan.selector.group_by)
    counting = any(builtin in _COUNTING_VALUES for builtin in _builtins(plan))
    ends = _state_ends_with_rows(plan)
    by_policy = of_app.annotation == "SandboxPolicy"
    return KeyLimitPlan(
        keys=of_app.keys if grouped and not (ends and (by_policy or not keys)) else None,
        values=of_app.values if counting and not (ends and (by_policy or not values)) else None,
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
    if limit.values is not None and not any(builtin in _COUNTING_VALUES for builtin in _builtins(plan)):
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
        kept = _pairs_expire(input_)
    else:
        assert isinstance(input_, SingleInputPlan)
        kept = input_.kind is SourceKind.WINDOW or (input_.window is not None and input_.window.window.expires)
    return kept and all(builtin in _RELEASED_WITH_ROWS for builtin in _builtins(plan))


def _expiry(plan: QueryPlan, catalog: Catalog) -> Expiry | None:
    """Return how refused rows are recognized when they expire; None: they can't be."""
    if _can_match_expired_rows(plan):
        return Expiry.BY_RECORD
    input_ = plan.input
    if isinstance(input_, JoinPlan):
        # Where a key of a partition ends, nothing expires.
        return Expiry.BY_KEY if catalog.inner is None and _pairs_expire(input_) else None
    if not isinstance(input_, SingleInputPlan) or input_.kind is not SourceKind.WINDOW:
        return None
    window = catalog.windows[input_.source]
    if window.output is OutputEventType.CURRENT:
        return Expiry.NEVER
    kind = window.window.window
    returns_all = window.output is OutputEventType.ALL and kind.expires and kind.expires_passed
    repeatable = all(_is_repeatable(handler) for handler in (*input_.before, *input_.after))
    if not returns_all or kind.builtin is None or catalog.inner is not None or not repeatable:
        return None
    return Expiry.IN_ORDER if kind.builtin in _IN_ORDER else Expiry.BY_KEY


def _pairs_expire(join: JoinPlan) -> bool:
    """Return whether each pair of rows that meets in an inner join is emitted once, and expires once when one of them leaves."""
    sides = (join.left, join.right)
    return (
        join.type is JoinType.INNER
        and join.triggers(0)
        and join.triggers(1)
        and (join.on is None or _is_stable(join.on))
        and all(
            side.kind is SourceKind.STREAM
            and side.window is not None
            and side.window.window.builtin is not None
            and side.window.window.expires
            and side.window.window.expires_passed
            and not side.window.window.batch
            for side in sides
        )
    )


def _is_repeatable(handler: object) -> bool:
    return isinstance(handler, FilterPlan) and _is_stable(handler.condition)


def _is_stable(expression: TypedExpression) -> bool:
    """Return whether an expression has the same value for a row whenever it is asked."""
    return not calls_python(expression) and all(
        not isinstance(node, (InTable, Aggregate))
        and (not isinstance(node, Call) or (node.function.deterministic and not node.function.reads_clock))
        for node in walk(expression)
    )
