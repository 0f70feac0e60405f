"""Queries of a running app whose operators go on in the changed app, with their state: nothing of it is copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi._core.pattern.automaton import PatternEntry
from siddhi._core.query.entry import QueryEntry
from siddhi._frozen import replace
from siddhi.planner.distribution.statements import Statements
from siddhi.planner.plan.elements import ElementKind, app_elements
from siddhi.planner.plan.nodes import Plan, QueryPlan
from siddhi.query_api.definition import FunctionDefinition
from siddhi.runtime.change.plans import is_same
from siddhi.runtime.state.identity import name_in

if TYPE_CHECKING:
    from siddhi._core.runtime.operator import Processor
    from siddhi._core.stream.junction import StreamJunction
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.assembly.query import BuiltQuery
    from siddhi.runtime.change.matching import Matching
    from siddhi.runtime.state.snapshot import SnapshotService

__all__ = ["Handover"]

_Entry = QueryEntry | PatternEntry


class Handover:
    """The queries whose operators go on.

    They are the unchanged ones that read streams only, whose elements refer to nothing else in the app: no table, window or
    aggregation, no limit of keys, no partition. The others get new operators, into which their state is copied.

    Args:
        former: the running operators.
        assembly: the new ones.
        matching: what becomes of each element.

    Attributes:
        labels: the labels of these queries in the new app.
    """

    def __init__(self, former: Assembly, assembly: Assembly, matching: Matching) -> None:
        self._former = former
        self._assembly = assembly
        self._pairs = dict(_pairs(former, assembly, matching))
        self.labels = {f"query '{name}'" for name in self._pairs.values()}

    def steps(self) -> list[Processor]:
        """Return the operators that go on and may have timers."""
        return [step for name in self._pairs for step in self._former.queries[name].timed_steps().values()]

    def move(self, state: SnapshotService) -> None:
        """Put the operators into their places, instead of the new ones; no event is being processed. Nothing fails.

        Args:
            state: of the new operators.
        """
        context = self._former.context
        timers = context.pending_timers()
        for name, target in self._pairs.items():
            self._move(name, target, state)
        context.set_timers(timers)  # sorted again by the order of the text

    def _move(self, name: str, target: str, state: SnapshotService) -> None:
        old, new = self._former.queries[name], self._assembly.queries[target]
        steps, replaced = old.timed_steps(), new.timed_steps()
        for key, step in replaced.items():
            steps[key].take_rank(step)
        state.elements[f"query '{target}'"].steps.update(old.stateful)
        starting = self._assembly.starting
        kept_by_id = {id(step): steps[key] for key, step in replaced.items()}
        starting[:] = [kept_by_id.get(id(step), step) for step in starting]  # type: ignore[misc]  # of the same class
        old.output.take_place_of(new.output)
        entries = self._assembly.entries
        receivers = iter(_entries(self._former, name))
        for number, (path, junction, receiver) in enumerate(entries):
            if path == target:
                _, kept = next(receivers)
                kept.move(junction)  # type: ignore[arg-type]  # a stream, outside partitions
                junction.exchange(receiver, kept)  # type: ignore[union-attr]
                entries[number] = (path, junction, kept)
        new.output, new.stateful = old.output, old.stateful


def _pairs(former: Assembly, assembly: Assembly, matching: Matching) -> list[tuple[str, str]]:
    """Return former and new name of each query that goes on."""
    before, now = former.plan, assembly.plan
    if _functions(before) != _functions(now):
        return []  # the former operators would call the former functions
    names = {name_in(target): name_in(label) for label, target in matching.moves.items() if label.startswith("query ")}
    plans = {plan.name: plan for plan in before.executions}
    found = []
    for element in app_elements(now):
        plan, name = element.plan, names.get(element.name)
        if (
            element.kind is ElementKind.QUERY
            and isinstance(plan, QueryPlan)
            and name is not None
            and not element.uses
            and not element.changes
            and all(source in now.streams for source in element.reads)
            and is_same(replace(plans[name], name=plan.name), plan)
            and _fit(former.queries[name], assembly.queries[plan.name])
            and _places_fit(_entries(former, name), _entries(assembly, plan.name))
        ):
            found.append((name, plan.name))
    return found


def _functions(plan: Plan) -> list[str]:
    statements = Statements(plan)
    return [statements.of(one) for one in plan.app.definitions if isinstance(one, FunctionDefinition)]


def _fit(old: BuiltQuery, new: BuiltQuery) -> bool:
    """Return whether operators can take the place of others."""
    return (
        all(one.key_limiter is None and one.awaited is None for one in (old, new))
        and old.output.pool is new.output.pool
        and (old.output.target is None) == (new.output.target is None)
        and old.timed_steps().keys() == new.timed_steps().keys()
    )


def _entries(assembly: Assembly, name: str) -> list[tuple[StreamJunction, _Entry]]:
    """Return the streams of a query with its receivers; none if it has other ones."""
    found = [(junction, receiver) for path, junction, receiver in assembly.entries if path == name]
    if not all(isinstance(receiver, _Entry) for _, receiver in found):
        return []
    return found  # type: ignore[return-value]


def _places_fit(old: list[tuple[StreamJunction, _Entry]], new: list[tuple[StreamJunction, _Entry]]) -> bool:
    return (
        bool(old)
        and len(old) == len(new)
        and all(one.pool is other.pool and one.id == other.id for (one, _), (other, _) in zip(old, new, strict=True))
    )
