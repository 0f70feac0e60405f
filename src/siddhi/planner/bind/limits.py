"""Reading ``@app:limits`` and ``@limit``, and refusing limits that an element cannot hold."""

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
_END_WITH_THEIR_ROWS = frozenset(
    {"sum", "avg", "count", "min", "max", "stdDev", "and", "or", "distinctCount", "unionSet"}
)
"""Aggregators that hold nothing of a group whose last row has left the window."""


def app_limits(annotations: tuple[Annotation, ...], permissions: Permissions, at: Node) -> AppLimits:
    """What ``@app:limits(...)`` says.

    Raises:
        SiddhiAppError: an element is unknown, missing or wrong, or above the policy of the app.
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
    """The plan of a query with its limit, if it has one.

    Raises:
        SiddhiAppError: ``@limit`` is wrong, or the query cannot hold what it, ``@app:limits`` or the policy of the app says.
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
    # What the query says in part, the app completes where it applies, and then the policy of the app.
    policy = catalog.permissions
    by_policy = AppLimits(keys=policy.max_keys, values=policy.max_keys, annotation="SandboxPolicy")
    # A query that says on.full and neither keys nor values says it of the keys that others limit.
    of_keys = own.on_full if own.keys is None and own.values is None and annotation is not None else of_app.on_full
    found = own
    for other in (of_app, by_policy):
        found = _completed(found, _applicable(plan, other), of_keys, other.on_full)
    if found.keys is None and found.values is None and found.ttl_ms is None:
        return plan
    if (found.keys is not None or found.values is not None) and not _knows_its_rows(plan):
        said_by = found.annotation if found.keys is not None else found.values_annotation
        hint = "insert the rows into a stream, and group by in a query over that stream"
        if said_by == "SandboxPolicy":
            hint += "; or have the host set no limit on keys: SandboxPolicy(max_keys=None)"
        raise creation_error(
            "E328",
            f"{said_by} cannot limit query '{plan.name}': rows come back to its aggregates, and it could not tell "
            "which of them it refused",
            place,
            hint,
        )
    if found.keys is not None or found.ttl_ms is not None:
        _refuse_endless_pictures(plan, place)
    return replace(plan, limit=found)


def partition_limit(node: Partition, catalog: Catalog) -> KeyLimitPlan | None:
    """The limit of a partition's keys.

    Raises:
        SiddhiAppError: ``@limit`` is wrong, or the partition has as many keys as ranges.
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
            raise _lacks(annotation, "keys", node)
        if not valued:
            place = annotation if annotation.span is not None else node
            raise creation_error("E328", "@limit limits nothing: the keys of the partition are its ranges", place)
        on_full = _on_full(annotation, node) if annotation.element("on.full") is not None else of_app.on_full
        return KeyLimitPlan(keys=keys, on_full=on_full)
    if valued and of_app.partition_keys is not None:
        return KeyLimitPlan(keys=of_app.partition_keys, on_full=of_app.on_full, annotation=of_app.annotation)
    if valued and most is not None:
        return KeyLimitPlan(keys=most, on_full=of_app.on_full, annotation="SandboxPolicy")
    return None


def table_limit(definition: TableDefinition, catalog: Catalog, *, stored: bool) -> RowLimitPlan | None:
    """The limit of a table's rows; ``stored``: a store keeps them.

    Raises:
        SiddhiAppError: ``@limit`` is wrong, or stands on a table that a store keeps.
    """
    annotation = _read(definition.annotations, "limit", _TABLE, definition)
    of_app, most = catalog.limits, catalog.permissions.max_rows
    if annotation is not None:
        if stored:
            raise creation_error(
                "E328",
                "@limit cannot hold a table whose rows a store keeps",
                annotation if annotation.span is not None else definition,
                "limit the rows in the store itself",
            )
        rows = _number(annotation, "rows", catalog.permissions, definition)
        if rows is None:
            raise _lacks(annotation, "rows", definition)
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
    name = shown(annotation, at)
    for element in annotation.elements:
        if (element.key or "").lower() not in known:
            word = element.key if element.key is not None else element.value
            place = element if element.span is not None else annotation if annotation.span is not None else at
            likely = close_to(word, known) if element.key is not None else None
            takes = f"it takes {', '.join(known)} here"
            raise creation_error("E315", f"{name} has no element '{word}'", place, hint or likely or takes)
    if all((element.key or "").lower() == "on.full" for element in annotation.elements):
        raise creation_error(
            "E315",
            f"{name} limits nothing",
            annotation if annotation.span is not None else at,
            f"give {' or '.join(key for key in known if key != 'on.full')}",
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


def _lacks(annotation: Annotation, key: str, at: Node) -> Exception:
    place = annotation if annotation.span is not None else at
    return creation_error("E315", f"@limit lacks the element '{key}'", place)


# --- what a query can hold


def _natives(plan: QueryPlan) -> list[str | None]:
    """The aggregators of a query by their built-in names; None for those of extensions."""
    return [
        node.aggregator.native
        for expression in plan.selector.expressions()
        for node in walk(expression)
        if isinstance(node, Aggregate)
    ]


def _applicable(plan: QueryPlan, of_app: AppLimits) -> KeyLimitPlan:
    """Which limits of all queries concern one.

    What ends with the rows of a window is left alone by a policy, and by the app where it could not be limited.
    """
    grouped = bool(plan.selector.group_by)
    counting = any(native in _COUNTING_VALUES for native in _natives(plan))
    ends = _ends_by_itself(plan)
    left_alone = ends and (of_app.annotation == "SandboxPolicy" or not _knows_its_rows(plan))
    return KeyLimitPlan(
        keys=of_app.keys if grouped and not left_alone else None,
        values=of_app.values if counting and not left_alone else None,
        ttl_ms=of_app.ttl_ms if grouped and not ends else None,
        annotation=of_app.annotation,
        values_annotation=of_app.annotation,
    )


def _completed(own: KeyLimitPlan, other: KeyLimitPlan, on_full: OnFull, values_on_full: OnFull) -> KeyLimitPlan:
    """A limit with what another one says where it says nothing."""
    found = own
    if own.keys is None and other.keys is not None:
        found = replace(found, keys=other.keys, on_full=on_full, annotation=other.annotation)
    if own.values is None and other.values is not None:
        found = replace(
            found, values=other.values, values_on_full=values_on_full, values_annotation=other.values_annotation
        )
    if own.ttl_ms is None and other.ttl_ms is not None:
        said_by = other.annotation if found.keys is None else found.annotation
        found = replace(found, ttl_ms=other.ttl_ms, annotation=said_by)
    return found


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


def _check_values(values: int | None, on_full: OnFull, at: Node) -> None:
    if values is not None and on_full is OnFull.DROP_OLDEST:
        raise creation_error(
            "E328",
            "'values' cannot be limited with on.full = 'drop_oldest': a value that comes again would be counted twice",
            at,
            "use on.full = 'error' or 'log'",
        )


def _refuse_endless_pictures(plan: QueryPlan, at: Node) -> None:
    """Refuse a snapshot of a window whose rows never leave: they are kept beside the state of their keys."""
    window = plan.input.window if isinstance(plan.input, SingleInputPlan) else None
    if isinstance(plan.rate, SnapshotRate) and window is not None and not window.window.expires:
        raise creation_error(
            "E328",
            f"'output snapshot' keeps every row that window '{window.window.full_name}' lets pass: keys cannot be forgotten",
            at,
            "insert the rows into a stream, and limit a query over that stream",
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
    if not window.expires or (not window.takes_away and plan.output.event_type is OutputEventType.CURRENT):
        return True
    processed = any(isinstance(handler, StreamFunctionPlan) for handler in input_.after)
    return window.expires_passed and not processed


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
