"""Cut a plan into Catalyst stages and engine fragments; needs no PySpark.

Elements that must share an engine (users of a written table, a named window or an aggregation, and cycles of streams) are
one group. Groups are placed in the order of the data flow. A group that the engine runs is merged with the fragments whose
output it can't read through a shuffle (:mod:`siddhi.spark.plan.edges`), else with an earlier fragment of the same
partitioning and a common key; Catalyst stages in between are merged, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from siddhi.planner.distribution.distribution import Element, distributions
from siddhi.planner.plan.elements import ElementKind
from siddhi.planner.plan.nodes import Plan, QueryPlan, SourceKind
from siddhi.spark.plan.catalyst_forms import CatalystForm, Form, catalyst_aggregation, catalyst_query
from siddhi.spark.plan.edges import AppGraph, must_join, needs_order, ordered_outputs, reads_fragments
from siddhi.spark.plan.flow import groups_in_order
from siddhi.spark.plan.keys import fragment_key
from siddhi.spark.plan.ranges import by_ranges, unspread_partitions
from siddhi.spark.plan.reorder_check import reorder_conflicts
from siddhi.spark.plan.steps import CatalystStage, EngineFragment, Layout, Partitioning, Step
from siddhi.types import AttributeType

__all__ = ["CatalystStage", "EngineFragment", "Layout", "Partitioning", "cut", "stateless_fragments"]


def cut(
    plan: Plan,
    *,
    streaming: bool = False,
    prefer: str = "native",
    exact_floats: bool = False,
    bound: Collection[str] = (),
) -> Layout:
    """Cut the plan of an app.

    Args:
        plan: plan of the app.
        streaming: whether the input is a stream; then no fragment reads the output of another.
        prefer: ``'native'`` to use Catalyst where it can, ``'engine'`` to run everything in engines.
        exact_floats: whether sums of floating-point numbers run in the engine.
        bound: streams that are bound although queries fill them.
    """
    elements = distributions(plan)
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
    order_sensitive = needs_order(elements, {name for name, form in forms.items() if _keeps_nothing(form)})
    graph = AppGraph(elements, frozenset(bound), inside, order_sensitive, streaming)
    graph = replace(graph, unspread=dict(unspread_partitions(plan, graph)))
    groups = groups_in_order(plan, elements, written)
    while True:
        steps = _steps(groups, forms, prefer, graph)
        behind = dict(reorder_conflicts(steps, groups, graph))
        if not behind:
            break
        forms.update(behind)
    for fragment, streams in ordered_outputs(steps, graph):
        fragment.ordered = streams
    return Layout(tuple(steps), read_only, streaming, graph.bound)


def _steps(
    groups: Sequence[list[Element]], forms: Mapping[str, CatalystForm | str], prefer: str, graph: AppGraph
) -> list[Step]:
    """Return the steps of groups of elements, in the order of the data flow."""
    steps: list[Step] = []
    for group in groups:
        alone = group[0] if len(group) == 1 else None
        form = None if alone is None else forms[alone.name]
        reason = (
            ""
            if alone is None or not isinstance(form, CatalystForm)
            else _engine_reason(alone, form, prefer, steps, graph)
        )
        if alone is not None and isinstance(form, CatalystForm) and not reason:
            steps.append(CatalystStage(alone, form))
            continue
        why = {
            element.name: text if isinstance(text := forms[element.name], str) else reason or "it shares what it uses"
            for element in group
        }
        _place(steps, group, why, graph)
    return steps


def stateless_fragments(elements: Sequence[Element], bound: Collection[str] = ()) -> list[EngineFragment]:
    """Return fragments of stateless elements: one per input stream, with every element that its rows reach.

    The rows of a fragment then depend on no other stream and not on the number of elements.

    Args:
        elements: elements in the order of the data flow.
        bound: streams that are bound although elements fill them.
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
        found.append(EngineFragment(led, (stream,), stateless=True))
    return found


def _keeps_nothing(form: CatalystForm | str) -> bool:
    """Return whether Catalyst can run an element in any order of rows."""
    return isinstance(form, CatalystForm) and form.kind is not Form.TUMBLING


def _engine_reason(element: Element, form: CatalystForm, prefer: str, steps: list[Step], graph: AppGraph) -> str:
    """Return why the engine runs what Catalyst could; "": Catalyst runs it."""
    if set(element.writes).intersection(element.reads):
        return "it reads its own output"
    if graph.inside.intersection((*element.reads, *element.writes)):
        return "a stream with an attribute of type object stays in an engine"
    if prefer == "engine":
        return "prefer='engine'"
    if graph.streaming and any(
        isinstance(step, EngineFragment) and set(step.produced) & set(element.reads) for step in steps
    ):
        return "it reads the output of the engine"
    if form.kind is Form.TUMBLING:
        if reads_fragments(steps, element.reads, graph):
            return "it reads the output of the engine"
    elif element.name in graph.order_sensitive:
        return "it reads the clock and rows that are later than their time"
    reader = graph.order_sensitive_reader(element)
    if form.kind in (Form.TUMBLING, Form.TABLE_JOIN) and reader is not None:
        return f"{reader.name} depends on the order and chunks of its rows"
    return ""


def _forms(
    plan: Plan, elements: Iterable[Element], read_only: tuple[str, ...], streaming: bool, exact_floats: bool
) -> dict[str, CatalystForm | str]:
    queries = {execution.name: execution for execution in plan.executions}
    found: dict[str, CatalystForm | str] = {}
    for element in elements:
        execution = queries.get(element.name)
        if isinstance(execution, QueryPlan):
            found[element.name] = catalyst_query(
                execution, plan, read_only=read_only, streaming=streaming, exact_floats=exact_floats
            )
        elif element.kind is ElementKind.AGGREGATION:
            aggregation = plan.aggregations[element.name]
            found[element.name] = catalyst_aggregation(aggregation, streaming=streaming, exact_floats=exact_floats)
        else:
            found[element.name] = f"a {element.kind.value} keeps state"
    return found


def _place(steps: list[Step], group: list[Element], why: dict[str, str], graph: AppGraph) -> None:
    """Place a group in a fragment with those it must join, else with one of equal partitioning, else in its own."""
    found = _joined(steps, [], group, why, graph)
    for fragment in reversed(
        [step for step in steps if isinstance(step, EngineFragment) and step not in found.members]
    ):
        more = _joined(steps, [*found.members, fragment], group, why, graph)
        if more.fragment.partitioning is found.fragment.partitioning is fragment.partitioning and _alike(
            more, found, fragment
        ):
            found = more
            break
    at = min((steps.index(step) for step in found.members), default=len(steps))
    rest = [[step for step in part if step not in found.members] for part in (steps[:at], steps[at:])]
    steps[:] = _in_order([*rest[0], found.fragment, *rest[1]])


@dataclass(frozen=True, slots=True)
class _Joined:
    """A fragment and the steps that it replaces."""

    fragment: EngineFragment
    members: list[Step]


def _alike(more: _Joined, less: _Joined, fragment: EngineFragment) -> bool:
    """Return whether the larger merge adds nothing but one fragment and Catalyst stages."""
    return all(step is fragment or step in less.members or isinstance(step, CatalystStage) for step in more.members)


def _joined(
    steps: list[Step], members: list[Step], group: list[Element], why: dict[str, str], graph: AppGraph
) -> _Joined:
    """Return the fragment of a group, of some steps, and of everything these must be merged with."""
    while True:
        members = _closed(steps, members, group)
        elements = [*group, *(element for step in members for element in _elements_of(step))]
        taken = {
            step.element.name: "between two that the engine runs" for step in members if isinstance(step, CatalystStage)
        }
        reason = {name: text for step in members if isinstance(step, EngineFragment) for name, text in step.why.items()}
        fragment = _fragment(elements, {**reason, **why, **taken}, graph)
        more = must_join([step for step in steps if step not in members], fragment, graph)
        if not more:
            return _Joined(fragment, members)
        members = [*members, *more]


def _elements_of(step: Step) -> list[Element]:
    return step.elements if isinstance(step, EngineFragment) else [step.element]


def _closed(steps: list[Step], members: list[Step], group: list[Element]) -> list[Step]:
    """Return some steps and all steps between them, or between them and a group, in the order of the data flow."""
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
    """Return steps with producers before readers, otherwise in their order."""
    pending, ordered = list(steps), []
    while pending:
        made = {id(step): set(step.produced) for step in pending}
        ready = next(
            step
            for step in pending
            if not any(other is not step and made[id(other)].intersection(step.inputs) for other in pending)
        )
        pending.remove(ready)
        ordered.append(ready)
    return ordered


def _fragment(elements: list[Element], why: dict[str, str], graph: AppGraph) -> EngineFragment:
    members = {element.name for element in elements}
    kept = [element for element in graph.elements if element.name in members]
    names = {element.name for element in kept}
    made = {stream for element in kept for stream in element.writes}
    others = {stream for element in graph.elements if element.name not in names for stream in element.writes}
    others |= graph.bound
    triggers = {element.name for element in kept if element.kind is ElementKind.TRIGGER}
    inputs = tuple(
        dict.fromkeys(
            stream
            for element in kept
            for stream in element.reads
            if stream not in triggers and not stream.startswith("!")
        )
    )
    fragment = EngineFragment(kept, tuple(s for s in inputs if s not in made or s in others), why=why)
    if not any(element.stateful for element in kept):
        fragment.stateless = True
        return fragment
    unspread = next((element for element in kept if element.name in graph.unspread), None)
    fragment.key = fragment_key(kept, fragment.inputs) if unspread is None else None
    if fragment.key is None:
        blamed = next((element for element in kept if element.keys == ()), None)
        if blamed is not None:
            fragment.blame, fragment.reason = blamed, blamed.reason
        elif unspread is not None:
            fragment.blame, fragment.reason = unspread, graph.unspread[unspread.name]
        else:
            fragment.blame = next((e for e in kept if by_ranges(e)), None) or next(
                e for e in kept if e.keys is not None
            )
            fragment.reason = "its elements have no common key"
    return fragment
