"""The plan cut into native steps and engine islands; needs no PySpark.

Elements that must meet (users of a written table, of a named window, of an aggregation that is read, cycles of streams) are
one group. Groups are taken in the order of the flow; a group the engine runs joins the islands whose rows it can't be given
as they come there (:mod:`siddhi.spark.plan.edges`), or else one before it where both separate by a common key, or where neither
does, taking native steps in between along.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from siddhi.planner.distribution.distribution import Element, separability
from siddhi.planner.plan.elements import ElementKind
from siddhi.planner.plan.nodes import Plan, QueryPlan, SourceKind
from siddhi.spark.plan.catalyst_forms import Form, Native, native_aggregation, native_query
from siddhi.spark.plan.edges import Whole, carried, inseparable_from, needs_order, reads_islands
from siddhi.spark.plan.flow import groups_in_order
from siddhi.spark.plan.keys import island_key
from siddhi.spark.plan.ranges import by_ranges, unspread_partitions
from siddhi.spark.plan.reorder_check import overtaken
from siddhi.spark.plan.steps import Island, Layout, NativeStep, Spread, Step
from siddhi.types import AttributeType

__all__ = ["Island", "Layout", "NativeStep", "Spread", "cut", "stateless_islands"]


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
    inside = frozenset(
        name
        for name, stream in plan.streams.items()
        if any(attribute.type is AttributeType.OBJECT for attribute in stream.attributes)
    )
    careful = needs_order(elements, {name for name, form in forms.items() if _keeps_nothing(form)})
    whole = Whole(elements, frozenset(bound), inside, careful, streaming)
    whole = replace(whole, unspread=dict(unspread_partitions(plan, whole)))
    groups = groups_in_order(plan, elements, written)
    while True:
        steps = _steps(groups, forms, prefer, whole)
        behind = dict(overtaken(steps, groups, whole))
        if not behind:
            break
        forms.update(behind)
    for island, streams in carried(steps, whole):
        island.ordered = streams
    return Layout(tuple(steps), read_only, streaming, whole.bound)


def _steps(groups: Sequence[list[Element]], forms: Mapping[str, Native | str], prefer: str, whole: Whole) -> list[Step]:
    """What becomes of groups of elements, in the order of the flow."""
    steps: list[Step] = []
    for group in groups:
        alone = group[0] if len(group) == 1 else None
        form = None if alone is None else forms[alone.name]
        told = (
            "" if alone is None or not isinstance(form, Native) else _engine_reason(alone, form, prefer, steps, whole)
        )
        if alone is not None and isinstance(form, Native) and not told:
            steps.append(NativeStep(alone, form))
            continue
        why = {
            element.name: text if isinstance(text := forms[element.name], str) else told or "it shares what it uses"
            for element in group
        }
        _place(steps, group, why, whole)
    return steps


def stateless_islands(elements: Sequence[Element], bound: Collection[str] = ()) -> list[Island]:
    """Islands of elements that keep nothing: one for each stream from outside, with all that its own rows lead to.

    So which rows an island takes hangs on no other stream, nor on how many elements there are.

    Args:
        elements: in the order of the flow.
        bound: streams that get rows from outside although elements fill them.
    """
    made = {stream for element in elements for stream in element.writes if stream not in bound}
    inputs = dict.fromkeys(stream for element in elements for stream in element.reads if stream not in made)
    found = []
    for stream in inputs:
        led, reached = [], {stream}
        for element in elements:
            if reached.intersection(element.reads):
                led.append(element)
                reached.update(element.writes)
        found.append(Island(led, (stream,), stateless=True))
    return found


def _keeps_nothing(form: Native | str) -> bool:
    """Whether Catalyst could run it whatever the order of rows."""
    return isinstance(form, Native) and form.form is not Form.TUMBLING


def _engine_reason(element: Element, form: Native, prefer: str, steps: list[Step], whole: Whole) -> str:
    """Why the engine runs what Catalyst could; "" where Catalyst does."""
    if set(element.writes).intersection(element.reads):
        return "it feeds itself"
    if prefer == "engine":
        return "prefer='engine'"
    if whole.streaming and any(isinstance(step, Island) and set(step.produced) & set(element.reads) for step in steps):
        return "it reads what the engine puts out"
    if form.form is Form.TUMBLING:
        if reads_islands(steps, element.reads, whole):
            return "it reads what the engine puts out"
    elif element.name in whole.careful:
        return "it looks at the clock, and reads what comes behind its time"
    reader = whole.careful_reader(element)
    if form.form in (Form.TUMBLING, Form.TABLE_JOIN) and reader is not None:
        return f"{reader.name} must see its rows when and as they come together"
    return ""


def _forms(
    plan: Plan, elements: Iterable[Element], read_only: tuple[str, ...], streaming: bool, exact_floats: bool
) -> dict[str, Native | str]:
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


def _place(steps: list[Step], group: list[Element], why: dict[str, str], whole: Whole) -> None:
    """Put a group into one island with what it can't read over a shuffle, else with one of its kind, else by itself."""
    found = _joined(steps, [], group, why, whole)
    for island in reversed([step for step in steps if isinstance(step, Island) and step not in found.members]):
        more = _joined(steps, [*found.members, island], group, why, whole)
        if more.island.spread is found.island.spread is island.spread and _alike(more, found, island):
            found = more
            break
    at = min((steps.index(step) for step in found.members), default=len(steps))
    rest = [[step for step in part if step not in found.members] for part in (steps[:at], steps[at:])]
    steps[:] = _in_order([*rest[0], found.island, *rest[1]])


@dataclass(frozen=True, slots=True)
class _Joined:
    """An island, and the steps that it takes the place of."""

    island: Island
    members: list[Step]


def _alike(more: _Joined, less: _Joined, island: Island) -> bool:
    """Whether nothing but this island, and what Catalyst would run between, comes in addition."""
    return all(step is island or step in less.members or isinstance(step, NativeStep) for step in more.members)


def _joined(steps: list[Step], members: list[Step], group: list[Element], why: dict[str, str], whole: Whole) -> _Joined:
    """The island of a group and of these steps, with what has to be in it too."""
    while True:
        members = _closed(steps, members, group)
        elements = [*group, *(element for step in members for element in _elements_of(step))]
        taken = {
            step.element.name: "between two that the engine runs" for step in members if isinstance(step, NativeStep)
        }
        told = {name: text for step in members if isinstance(step, Island) for name, text in step.why.items()}
        island = _island(elements, {**told, **why, **taken}, whole)
        more = inseparable_from([step for step in steps if step not in members], island, whole)
        if not more:
            return _Joined(island, members)
        members = [*members, *more]


def _elements_of(step: Step) -> list[Element]:
    return step.elements if isinstance(step, Island) else [step.element]


def _closed(steps: list[Step], members: list[Step], group: list[Element]) -> list[Step]:
    """Some steps and all those between them, or between them and a group, in the order of the flow."""
    behind: list[Step] = []
    streams: set[str] = set()
    for step in steps:
        if step in members or streams.intersection(step.inputs):
            behind.append(step)
            streams.update(step.produced)
    wanted = {stream for element in group for stream in element.reads}
    found: list[Step] = []
    for step in reversed(behind):
        if step in members or wanted.intersection(step.produced):
            found.append(step)
            wanted.update(step.inputs)
    return found[::-1]


def _in_order(steps: list[Step]) -> list[Step]:
    """Who reads something behind who puts it out; else as they stand."""
    waiting, ordered = list(steps), []
    while waiting:
        made = {id(step): set(step.produced) for step in waiting}
        ready = next(
            step
            for step in waiting
            if not any(other is not step and made[id(other)].intersection(step.inputs) for other in waiting)
        )
        waiting.remove(ready)
        ordered.append(ready)
    return ordered


def _island(elements: list[Element], why: dict[str, str], whole: Whole) -> Island:
    members = {element.name for element in elements}
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
    unspread = next((element for element in kept if element.name in whole.unspread), None)
    island.key = island_key(kept, island.inputs) if unspread is None else None
    if island.key is None:
        blamed = next((element for element in kept if element.keys == ()), None)
        if blamed is not None:
            island.blame, island.reason = blamed, blamed.reason
        elif unspread is not None:
            island.blame, island.reason = unspread, whole.unspread[unspread.name]
        else:
            island.blame = next((e for e in kept if by_ranges(e)), None) or next(e for e in kept if e.keys is not None)
            island.reason = "its elements have no key in common"
    return island
