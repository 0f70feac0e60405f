"""What becomes of each element of an app in a changed one: it keeps its state, starts anew, or is gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from siddhi.errors import did_you_mean
from siddhi.planner.distribution.statements import Statements, executions_by_name
from siddhi.planner.plan.elements import ElementKind, app_elements
from siddhi.planner.plan.nodes import PartitionPlan, Plan, QueryPlan
from siddhi.query_api.definition import StreamDefinition
from siddhi.runtime.change.plans import is_same_operator
from siddhi.runtime.state.identity import matched, name_in, owner_of
from siddhi.runtime.state.snapshot import difference

if TYPE_CHECKING:
    from siddhi.runtime.state.snapshot import Element

__all__ = ["Matching", "Parts", "match"]


@dataclass(slots=True)
class Matching:
    """What becomes of the elements of an app.

    Attributes:
        moves: new label by former label of each element whose state moves.
        queries: new name by former name of each query that there still is; inside partitions also by ``partition/query``.
        kept, started_anew, added, removed: as :class:`siddhi.runtime.change.result.AppChange`.
        reasons: by label, why an element can't keep its state though it was not reset.
    """

    moves: dict[str, str] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    started_anew: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)


class Parts:
    """The definitions, queries and partitions of an app.

    Args:
        plan: its plan.

    Attributes:
        plan: as passed.
        statements: of its app.
        texts: the text of each by label, in the order of the app.
        hidden: labels of inner queries, which have no name of their own, with the label of the query around them.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.statements = statements = Statements(plan)
        self._tables = [f"table '{id_}'" for id_ in plan.tables]
        self.texts: dict[str, str] = {
            f"stream '{id_}'": statements.attributes[id_]
            for id_ in plan.streams
            if not id_.startswith("anonymous-") and id_ not in plan.triggers
        }
        for definition in plan.app.definitions:
            if not isinstance(definition, StreamDefinition):
                kind = type(definition).__name__.removesuffix("Definition").lower()
                self.texts[f"{kind} '{definition.id}'"] = statements.of(definition)
        partitions = {found.name for found in plan.executions if isinstance(found, PartitionPlan)}
        self.hidden: dict[str, str] = {}
        inner: list[str] = []
        for name, node in executions_by_name(plan):
            label = f"{'partition' if name in partitions else 'query'} '{name}'"
            self.texts[label] = statements.of(node)
            if name.startswith("anonymous-"):
                inner.append(label)
            else:
                self.hidden |= dict.fromkeys(inner, label)
                inner = []

    def shown(self, labels: Iterable[str]) -> tuple[str, ...]:
        """Return labels without those of inner queries."""
        return tuple(label for label in labels if label not in self.hidden)

    def requested(self, reset: Iterable[str], former: Parts) -> set[str]:
        """Return the labels that a user means by names or labels.

        Args:
            reset: the names, as they are in this app, or else in the former one.
            former: the parts of the former app.

        Raises:
            ValueError: neither app has an element of that name.
        """
        found: set[str] = set()
        for name in reset:
            meant = {label for label in (*self.texts, *self._tables) if name in (label, name_in(label))}
            if not meant:
                gone = {label for label in (*former.texts, *former._tables) if name in (label, name_in(label))}
                if not gone:
                    known = sorted({name_in(label) for label in self.shown(self.texts)})
                    raise ValueError(f"reset: the app has no element '{name}'{did_you_mean(name, known)}")
                pairs = matched(former.texts, self.texts)
                meant = {pairs.get(label, label) for label in gone}
            found |= meant
        return found | {label for label, outer in self.hidden.items() if outer in found}


def match(
    before: Parts, now: Parts, states: Mapping[str, Element], new: Mapping[str, Element], reset: Iterable[str]
) -> Matching:
    """Determine what becomes of each element.

    Args:
        before, now: the parts of the app and of the changed one.
        states: the elements of the app that hold state.
        new: those of the changed one.
        reset: names or labels of elements that start anew.

    Raises:
        ValueError: there is no element of a name.
    """
    pairs = matched(before.texts, now.texts)
    requested = now.requested(reset, before)
    found = Matching(queries=dict(_queries(before.plan, now.plan, pairs)))
    owners = {f"table '{id_}'": f"aggregation '{table.owner}'" for id_, table in now.plan.tables.items() if table.owner}
    paired = pairs | {label: label for label in owners if label in states}
    anew: dict[str, str] = {}  # why, by new label
    for label in states:
        owner = owner_of(label)
        target = paired.get(owner)
        if target is None or label.startswith(("source ", "sink ", "buffer of ")):
            continue
        moved = label.removesuffix(owner) + target
        if target in requested or owners.get(target) in requested:
            anew[target] = ""
        elif moved in new and (change := difference(owner, states[label].definition, new[moved].definition)):
            anew[target] = change
        elif moved in new:
            found.moves[label] = moved
        elif owner == label:
            anew[target] = "it keeps no state any more"
    for label, target in list(found.moves.items()):
        if owners.get(target) in anew:
            anew[target] = ""
            del found.moves[label]
    _add_dependent(before, now, found, pairs, anew)
    found.moves = {label: target for label, target in found.moves.items() if owner_of(target) not in anew}
    found.reasons = {
        now.hidden.get(label, label): reason for label, reason in anew.items() if reason and label not in requested
    }
    found.kept = now.shown(label for label in found.moves.values() if owner_of(label) == label)
    came = {target: label for label, target in pairs.items()}
    changed = [label for label in now.texts if label in came and now.texts[label] != before.texts[came[label]]]
    found.started_anew = now.shown(dict.fromkeys(label for label in (*anew, *changed) if label not in found.kept))
    found.added = now.shown(label for label in now.texts if label not in came)
    found.removed = before.shown(label for label in before.texts if label not in pairs)
    return found


def _add_dependent(before: Parts, now: Parts, found: Matching, pairs: Mapping[str, str], anew: dict[str, str]) -> None:
    """Add the elements whose own text is the same, but whose state would not be right any more."""
    windows = {name_in(label) for label in anew if label.startswith("window ")}
    former = {element.name: element.plan for element in app_elements(before.plan)}
    names = {name_in(target): name_in(label) for label, target in pairs.items()}
    holders = {owner_of(target) for target in found.moves.values()}
    for element in app_elements(now.plan):
        label = f"{element.kind.value} '{element.name}'"
        if label not in holders:
            continue
        read = windows & ({*element.reads} | element.uses) if element.kind is not ElementKind.WINDOW else set()
        if read:
            anew.setdefault(label, f"it reads window '{min(read)}', which starts anew")
            continue
        if element.kind in (ElementKind.QUERY, ElementKind.PARTITION):
            plan = former.get(names.get(element.name, element.name))
            if plan is not None and not is_same_operator(_stateful(plan), _stateful(element.plan)):
                anew.setdefault(label, "its text is the same, but what it calls or reads leads to other operators")


def _stateful(plan: object) -> object:
    """Return what of a plan determines its state: stateless queries of a partition may differ."""
    return (plan.keys) if isinstance(plan, PartitionPlan) else plan


def _queries(before: Plan, now: Plan, pairs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield former and new name of each query that there still is."""
    plans = {plan.name: plan for plan in now.executions}
    for plan in before.executions:
        kind = "partition" if isinstance(plan, PartitionPlan) else "query"
        target = pairs.get(f"{kind} '{plan.name}'")
        if target is None:
            continue
        moved = plans[name_in(target)]
        if isinstance(plan, QueryPlan):
            yield plan.name, moved.name
            continue
        assert isinstance(moved, PartitionPlan)
        yield from _inside(plan, moved)


def _inside(plan: PartitionPlan, moved: PartitionPlan) -> Iterator[tuple[str, str]]:
    """Yield former and new names of the queries of a partition: those of the same name, or else of the same place."""
    names = {query.name for query in moved.queries}
    for number, query in enumerate(plan.queries):
        unnamed = query.name.startswith(("query_", "anonymous-"))
        if query.name in names and not unnamed:
            name = query.name
        elif unnamed and len(plan.queries) == len(moved.queries):
            name = moved.queries[number].name
        else:
            continue
        yield query.name, name
        yield f"{plan.name}/{query.name}", f"{moved.name}/{name}"
