"""Describe what changed in a partition, query by query; needs no PySpark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

from siddhi._frozen import replace
from siddhi.planner.app import plan
from siddhi.planner.distribution.statements import executions_by_name
from siddhi.planner.distribution.sub_app import SubApp
from siddhi.query_api.annotation import find_annotation
from siddhi.query_api.query import Partition, Query
from siddhi.query_compiler import parse
from siddhi.query_compiler.print.app import to_siddhiql

__all__ = ["describe_changes"]

_GENERATED = re.compile(r"(partition|query)_\d+")
"""Name of an element that has none in the app; sub-apps hold it like any other."""


def describe_changes(reasons: tuple[str, ...], old: SubApp, new: SubApp) -> tuple[str, ...]:
    """Return the reasons why a state does not fit; those of partitions name the queries that changed.

    Args:
        reasons: result of :func:`siddhi.planner.compatibility.can_restore`; clauses.
        old: the sub-app of the state.
        new: the sub-app that runs now.
    """
    if not any(reason.startswith("partition '") for reason in reasons):
        return reasons
    before, now = _partitions(old), _partitions(new)
    found = []
    for reason in reasons:
        name = next((n for n in before if n in now and reason.startswith(f"partition '{n}' ")), None)
        changes = [] if name is None else [*_changes(_queries(before[name]), _queries(now[name]))]
        if name is None or not changes:
            found.append(reason)
        else:
            found.append(
                f"{_title(name, now[name])} changed: {', '.join(changes)} (a partition is one element: its queries share its state)"
            )
    return tuple(found)


def _partitions(part: SubApp) -> dict[str, Partition]:
    return {name: node for name, node in executions_by_name(plan(parse(part.text))) if isinstance(node, Partition)}


def _title(name: str, node: Partition) -> str:
    """Return the name of a partition, or its keys if the app gives it no name."""
    if _GENERATED.fullmatch(name) is None:
        return f"partition '{name}'"
    return to_siddhiql(replace(node, annotations=(), queries=())).split("begin")[0].strip().replace("\n", " ")


def _queries(node: Partition) -> dict[str, str]:
    """Return the texts of the queries by name; a query without name is known by its position."""
    found = {}
    for number, query in enumerate(node.queries, 1):
        info = find_annotation(query.annotations, "info")
        name = None if info is None else info.element("name")
        known = name is not None and _GENERATED.fullmatch(name) is None
        found[f"query '{name}'" if known else f"unnamed query {number}"] = _text(query)
    return found


def _text(query: Query) -> str:
    """Return the text of a query without its name."""
    others = tuple(annotation for annotation in query.annotations if annotation.name.lower() != "info")
    return to_siddhiql(replace(query, annotations=others))


def _changes(old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    yield from (f"{name} was removed" for name in old if name not in new)
    yield from (f"{name} was added" for name in new if name not in old)
    for name in (name for name in old if name in new):
        if old[name] != new[name]:
            lines = zip_longest(old[name].splitlines(), new[name].splitlines(), fillvalue="")
            before, now = next((a.strip(), b.strip()) for a, b in lines if a != b)
            yield f"{name} has {now!r} instead of {before!r}"
