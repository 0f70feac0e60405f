"""The plan cut into native steps and engine islands; needs no PySpark.

Elements that must meet (users of a written table, of a named window, of an aggregation that is read, cycles of streams) are
one group. Groups are taken in the order of the flow; a group the engine runs joins an island before it where both separate
by a common key, or where neither does, taking native steps in between along.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from siddhi.planner.elements import ElementKind
from siddhi.planner.nodes import Plan, QueryPlan, SourceKind
from siddhi.planner.separability import Element, separability
from siddhi.spark.flow import groups_in_order
from siddhi.spark.keys import IslandKey, island_key
from siddhi.spark.native_forms import Native, native_aggregation, native_query
from siddhi.types import AttributeType

__all__ = ["Island", "Layout", "NativeStep", "Spread", "by_ranges", "cut", "stateless_island"]


@dataclass(frozen=True, slots=True)
class NativeStep:
    """A query or aggregation that is a Catalyst plan."""

    element: Element
    native: Native


class Spread(Enum):
    """Over what the rows of an island are spread."""

    ANYWHERE = "anywhere"
    KEYED = "shards"
    SINGLE = "one shard"


@dataclass(slots=True)
class Island:
    """What runs together in engines, one per shard.

    Attributes:
        elements: in text order.
        inputs: streams that come in from outside.
        key: what its rows are spread by; None: one shard, or any where ``stateless``.
        stateless: rows may be taken in any order, anywhere.
        why: per element, why the engine runs it.
        reason: why there is one shard, where there is.
        blame: the element that forces one shard.
    """

    elements: list[Element]
    inputs: tuple[str, ...] = ()
    key: IslandKey | None = None
    stateless: bool = False
    why: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    blame: Element | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its elements."""
        return tuple(element.name for element in self.elements)

    @property
    def produced(self) -> tuple[str, ...]:
        """What its elements put out, each once."""
        return tuple(dict.fromkeys(name for element in self.elements for name in element.writes))

    @property
    def spread(self) -> Spread:
        """Over what its rows are spread."""
        if self.stateless:
            return Spread.ANYWHERE
        return Spread.SINGLE if self.key is None else Spread.KEYED

    @property
    def is_single(self) -> bool:
        """Whether all rows go to one shard."""
        return self.spread is Spread.SINGLE


@dataclass(frozen=True, slots=True)
class Layout:
    """Steps in the order of the flow. ``bound``: streams that get rows from outside although queries may fill them."""

    steps: tuple[NativeStep | Island, ...]
    read_only: tuple[str, ...]
    streaming: bool = False
    bound: frozenset[str] = frozenset()

    @property
    def islands(self) -> tuple[Island, ...]:
        """The engine islands, in the order of the flow."""
        return tuple(step for step in self.steps if isinstance(step, Island))

    @property
    def native_steps(self) -> tuple[NativeStep, ...]:
        """The native steps, in the order of the flow."""
        return tuple(step for step in self.steps if isinstance(step, NativeStep))


def cut(
    plan: Plan,
    *,
    streaming: bool = False,
    prefer: str = "native",
    exact_floats: bool = False,
    bound: Collection[str] = (),
) -> Layout:
    """Cut an app's plan.

    Args:
        plan: of the app.
        streaming: for input without end; then there is one level of islands.
        prefer: ``'native'``, or ``'engine'`` to run nothing by Catalyst.
        exact_floats: whether sums of floating-point numbers go to the engine.
        bound: streams that get rows from outside although queries fill them.
    """
    elements = separability(plan)
    written = {
        query.output.target
        for execution in plan.executions
        for query in ((execution,) if isinstance(execution, QueryPlan) else execution.queries)
        if query.output.kind is SourceKind.TABLE
    }
    read_only = tuple(name for name, table in plan.tables.items() if name not in written and table.owner is None)
    forms = _forms(plan, elements, read_only, streaming, exact_floats)
    steps: list[NativeStep | Island] = []
    inside = frozenset(
        name
        for name, stream in plan.streams.items()
        if any(attribute.type is AttributeType.OBJECT for attribute in stream.attributes)
    )
    whole = _Whole(elements, frozenset(bound), inside)
    for group in groups_in_order(plan, elements, written):
        alone = group[0] if len(group) == 1 else None
        form = None if alone is None else forms[alone.name]
        if (
            alone is not None
            and isinstance(form, Native)
            and prefer == "native"
            and not _feeds_itself(alone)
            and not (streaming and _reads_islands(steps, alone))
        ):
            steps.append(NativeStep(alone, form))
            continue
        why = {
            element.name: text if isinstance(text := forms[element.name], str) else _engine_reason(alone, prefer)
            for element in group
        }
        _place(steps, group, why, streaming=streaming, whole=whole)
    if streaming:
        _join_chains(steps, whole)
    return Layout(tuple(steps), read_only, streaming, whole.bound)


@dataclass(frozen=True, slots=True)
class _Whole:
    """All elements of the app, in text order, and the streams that get rows from outside although queries fill them."""

    elements: tuple[Element, ...]
    bound: frozenset[str]
    inside: frozenset[str]
    """Streams that can't leave an engine: they have attributes of type object."""


def stateless_island(elements: Sequence[Element], bound: Collection[str] = ()) -> Island:
    """An island of elements that keep nothing.

    Args:
        elements: in the order of the flow.
        bound: streams that get rows from outside although elements fill them.
    """
    made = {stream for element in elements for stream in element.writes if stream not in bound}
    inputs = dict.fromkeys(stream for element in elements for stream in element.reads if stream not in made)
    return Island(list(elements), tuple(inputs), stateless=True)


def _engine_reason(element: Element | None, prefer: str) -> str:
    if element is None:
        return "it shares what it uses"
    if _feeds_itself(element):
        return "it feeds itself"
    return "prefer='engine'" if prefer == "engine" else "it reads what the engine puts out"


def _feeds_itself(element: Element) -> bool:
    return not set(element.writes).isdisjoint(element.reads)


def _reads_islands(steps: list[NativeStep | Island], element: Element) -> bool:
    return any(isinstance(step, Island) and set(step.produced).intersection(element.reads) for step in steps)


def _forms(
    plan: Plan, elements: Iterable[Element], read_only: tuple[str, ...], streaming: bool, exact_floats: bool
) -> Mapping[str, Native | str]:
    queries = {execution.name: execution for execution in plan.executions}
    found: dict[str, Native | str] = {}
    for element in elements:
        execution = queries.get(element.name)
        if isinstance(execution, QueryPlan):
            found[element.name] = native_query(
                execution, plan, read_only=read_only, streaming=streaming, exact_floats=exact_floats
            )
        elif element.kind is ElementKind.AGGREGATION:
            aggregation = plan.aggregations[element.name]
            found[element.name] = native_aggregation(aggregation, streaming=streaming, exact_floats=exact_floats)
        else:
            found[element.name] = f"a {element.kind.value} keeps state"
    return found


def _place(
    steps: list[NativeStep | Island],
    group: list[Element],
    why: dict[str, str],
    *,
    streaming: bool,
    whole: _Whole,
) -> None:
    """Put a group into an island that is there, or into a new one."""
    new = _island(group, [], why, whole)
    for island in reversed([step for step in steps if isinstance(step, Island)]):
        taken = _between(steps, island, group)
        if taken is None:
            continue
        joined = _island([*island.elements, *group], taken, {**island.why, **why}, whole)
        alike = joined.spread is new.spread is island.spread
        if not alike and not _must_join(island, group, taken, whole, streaming=streaming):
            continue
        at = steps.index(island)
        # Its inputs may come from steps that stand behind the island it joins.
        rest = [step for step in steps[at:] if step is not island and step not in _upstream(steps, joined)]
        early = [step for step in steps[at:] if step is not island and step not in rest]
        steps[at:] = [*early, joined, *rest]
        return
    steps.append(new)


def _join_chains(steps: list[NativeStep | Island], whole: _Whole) -> None:
    """Make one of islands of which one reads what the other puts out; no native step stands between them in a stream."""
    while True:
        islands = [step for step in steps if isinstance(step, Island)]
        chains = ((a, b) for b in islands for a in islands if a is not b and set(a.produced).intersection(b.inputs))
        chain = next(chains, None)
        if chain is None:
            return
        first, second = chain
        joined = _island([*first.elements, *second.elements], [], {**first.why, **second.why}, whole)
        places = sorted((steps.index(first), steps.index(second)))
        steps[places[1]] = joined
        del steps[places[0]]


def _must_join(
    island: Island, group: list[Element], taken: Sequence[NativeStep], whole: _Whole, *, streaming: bool
) -> bool:
    """Whether the group reads what the island puts out, and can't do that over a shuffle."""
    made = {*island.produced, *(stream for step in taken for stream in step.element.writes)}
    shared = {stream for element in group for stream in element.reads if stream in made}
    if not shared:
        return False
    chunks = any(element.emits_chunks for element in island.elements)
    return (
        streaming
        or not shared.isdisjoint(whole.inside)
        or (chunks and any(element.chunk_sensitive for element in group))
    )


def _between(steps: list[NativeStep | Island], island: Island, group: list[Element]) -> list[NativeStep] | None:
    """The native steps between an island and a group, to be taken along; None where another island is in between."""
    downstream: set[str] = set(island.produced)
    behind: list[NativeStep | Island] = []
    for step in steps[steps.index(island) + 1 :]:
        inputs = step.inputs if isinstance(step, Island) else step.element.reads
        if any(stream in downstream for stream in inputs):
            behind.append(step)
            downstream.update(step.produced if isinstance(step, Island) else step.element.writes)
    wanted = {stream for element in group for stream in element.reads}
    taken: list[NativeStep] = []
    for step in reversed(behind):
        outputs = step.produced if isinstance(step, Island) else step.element.writes
        if wanted.intersection(outputs):
            if isinstance(step, Island):
                return None
            taken.append(step)
            wanted.update(step.element.reads)
    return taken[::-1]


def _upstream(steps: list[NativeStep | Island], island: Island) -> list[NativeStep | Island]:
    wanted = set(island.inputs)
    found: list[NativeStep | Island] = []
    for step in reversed(steps):
        outputs = step.produced if isinstance(step, Island) else step.element.writes
        if wanted.intersection(outputs) and not set(island.names).intersection(
            step.names if isinstance(step, Island) else (step.element.name,)
        ):
            found.append(step)
            wanted.update(step.inputs if isinstance(step, Island) else step.element.reads)
    return found


def _island(elements: list[Element], taken: list[NativeStep], why: dict[str, str], whole: _Whole) -> Island:
    why = {**why, **{step.element.name: "between two that the engine runs" for step in taken}}
    members = {element.name: element for element in (*elements, *(step.element for step in taken))}
    kept = [element for element in whole.elements if element.name in members]
    names = {element.name for element in kept}
    made = {stream for element in kept for stream in element.writes}
    others = {stream for element in whole.elements if element.name not in names for stream in element.writes}
    others |= whole.bound
    triggers = {element.name for element in kept if element.kind is ElementKind.TRIGGER}
    inputs = tuple(
        dict.fromkeys(
            stream
            for element in kept
            for stream in element.reads
            if stream not in triggers and not stream.startswith("!")
        )
    )
    island = Island(kept, tuple(s for s in inputs if s not in made or s in others), why=why)
    if not any(element.stateful for element in kept):
        island.stateless = True
        return island
    island.key = island_key(kept, island.inputs)
    if island.key is None:
        blamed = next((element for element in kept if element.keys == ()), None)
        ranged = next((element for element in kept if by_ranges(element)), None)
        if blamed is not None:
            island.blame, island.reason = blamed, blamed.reason
        elif ranged is not None:
            island.blame, island.reason = (
                ranged,
                "a partition by ranges is one shard, as a row may be in several of them",
            )
        else:
            island.blame = next(e for e in kept if e.keys is not None)
            island.reason = "its elements have no key in common"
    return island


def by_ranges(element: Element) -> bool:
    """Whether ranges are all that an element separates by."""
    return bool(element.keys) and all(any(key.labels for _, key in part.by) for part in element.keys or ())
