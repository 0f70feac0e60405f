"""Check whether another version of a sub-app can restore its state."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from siddhi.extension.registry import Registry
from siddhi.planner.app import plan
from siddhi.planner.distribution.distribution import distributions
from siddhi.planner.distribution.statements import Statements, executions_by_name
from siddhi.planner.distribution.sub_app import SubApp
from siddhi.planner.plan.nodes import PartitionPlan
from siddhi.query_compiler.parser import parse

__all__ = ["can_restore", "stateful_parts"]


def can_restore(old: SubApp, new: SubApp, *, registry: Registry | None = None) -> tuple[str, ...]:
    """Return the reasons why a sub-app can't restore a snapshot of another; empty: it can.

    Elements that only the new sub-app has start empty; the state of those that only the old one has is dropped. Elements
    without state can change freely.

    Args:
        old: the sub-app of the snapshot.
        new: the sub-app that restores it.
        registry: the extensions they use; None: those of the process.

    Returns:
        A clause for every element that has state in both sub-apps and a different definition.
    """
    before, now = (stateful_parts(part, registry=registry) for part in (old, new))
    if before and now and before.keys().isdisjoint(now):
        return ("they have no element in common",)
    return tuple(
        f"{name} is not what it was: {_first_difference(text, now[name])}"
        for name, text in before.items()
        if name in now and now[name] != text
    )


def stateful_parts(part: SubApp, *, registry: Registry | None = None) -> dict[str, str]:
    """Return the text of each element that can have state, by kind and name.

    Args:
        part: a sub-app.
        registry: the extensions it uses; None: those of the process.
    """
    return dict(_stateful(part, registry))


def _stateful(part: SubApp, registry: Registry | None) -> Iterator[tuple[str, str]]:
    planned = plan(parse(part.text), registry=registry)
    statements = Statements(planned)
    for definition in planned.app.definitions:
        kind = type(definition).__name__.removesuffix("Definition").lower()
        if kind not in ("stream", "function"):
            yield f"{kind} '{definition.id}'", statements.of(definition)
    stateless = {element.name for element in distributions(planned) if not element.stateful}
    partitions = {found.name for found in planned.executions if isinstance(found, PartitionPlan)}
    for name, node in executions_by_name(planned):
        if name not in stateless:
            yield f"{'partition' if name in partitions else 'query'} '{name}'", statements.of(node)


def _first_difference(before: str, now: str) -> str:
    for one, other in zip_longest(before.splitlines(), now.splitlines(), fillvalue=""):
        if one != other:
            return f"{other.strip()!r} instead of {one.strip()!r}"
    raise AssertionError("the texts are equal")
