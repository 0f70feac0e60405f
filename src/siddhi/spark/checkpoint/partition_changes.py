"""What has changed in a partition, query by query; needs no PySpark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest

from siddhi._frozen import replace
from siddhi.planner.app import plan
from siddhi.planner.distribution.statements import executions_by_name
from siddhi.planner.distribution.sub_app import SubApp
from siddhi.planner.plan.nodes import PartitionPlan
from siddhi.query_api.annotation import find_annotation
from siddhi.query_api.query import Partition, Query
from siddhi.query_compiler import parse
from siddhi.query_compiler.print.app import to_siddhiql

__all__ = ["describe_changes"]

_MADE_UP = re.compile(r"(partition|query)_\d+")
"""The name of what its user gave none: fragments hold it like any other."""
_ONE_ELEMENT = "a partition is one element, and what it keeps is of all its queries together"


def describe_changes(reasons: tuple[str, ...], old: SubApp, new: SubApp) -> tuple[str, ...]:
    """Clauses of what does not fit, with those of partitions saying which queries changed.

    Args:
        reasons: of :func:`siddhi.planner.compatibility.can_restore`.
        old: the fragment there was.
        new: the one there is.
    """
    if not any(reason.startswith("partition '") for reason in reasons):
        return reasons
    before, now = _partitions(old), _partitions(new)
    told = []
    for reason in reasons:
        name = next((n for n in before if n in now and reason.startswith(f"partition '{n}' is not what it was")), None)
        changes = [] if name is None else [*_changes(before[name], now[name])]
        if name is None or not changes:
            told.append(reason)
        else:
            told.append(f"{_called(name, now[name])} is not what it was: {', '.join(changes)} ({_ONE_ELEMENT})")
    return tuple(told)


def _partitions(part: SubApp) -> dict[str, Partition]:
    planned = plan(parse(part.text))
    names = {found.name for found in planned.executions if isinstance(found, PartitionPlan)}
    return {name: node for name, node in executions_by_name(planned) if name in names and isinstance(node, Partition)}


def _called(name: str, node: Partition) -> str:
    """The partition by its user's name, else by what it is of."""
    if _MADE_UP.fullmatch(name) is None:
        return f"partition '{name}'"
    return to_siddhiql(replace(node, annotations=(), queries=())).split("begin")[0].strip().replace("\n", " ")


def _queries(node: Partition) -> dict[str, Query]:
    """By name; those without one by their place among those without."""
    found: dict[str, Query] = {}
    for query in node.queries:
        info = find_annotation(query.annotations, "info")
        name = None if info is None else info.element("name")
        if name is None or _MADE_UP.fullmatch(name):
            found[f"unnamed query {1 + sum(other.startswith('unnamed ') for other in found)}"] = query
        else:
            found[f"query '{name}'"] = query
    return found


def _changes(before: Partition, now: Partition) -> Iterator[str]:
    old, new = _queries(before), _queries(now)
    gone = {name: _text(query) for name, query in old.items() if name not in new}
    come = {name: _text(query) for name, query in new.items() if name not in old}
    for name, text in gone.items():
        other = _same(text, come)
        if other is None:
            yield f"{name} was taken away"
        else:
            del come[other]
            yield f"{name} is {other} now"
    yield from (f"{name} was added" for name in come)
    for name in old.keys() & new.keys():
        one, other = _text(old[name]), _text(new[name])
        if one != other:
            lines = zip_longest(one.splitlines(), other.splitlines(), fillvalue="")
            then, today = next((a.strip(), b.strip()) for a, b in lines if a != b)
            yield f"{name} says {today!r} instead of {then!r}"
    if old.keys() == new.keys() and [*old] != [*new]:
        yield "its queries stand in another order"


def _same(text: str, others: Mapping[str, str]) -> str | None:
    return next((name for name, other in others.items() if other == text), None)


def _text(query: Query) -> str:
    """What a query says, whatever it is called."""
    named = tuple(annotation for annotation in query.annotations if annotation.name.lower() != "info")
    return to_siddhiql(replace(query, annotations=named))
