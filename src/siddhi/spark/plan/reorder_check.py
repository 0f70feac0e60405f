"""Find queries that must run in the engine although Catalyst could run them, to keep the order of rows.

A fragment gets a row of a stream once, for all elements that read the stream. One engine passes a row from reader to reader,
each with everything it leads to: the output of a projection comes after that of the readers before it, and before that of the
readers after it. A Catalyst stage can only come before or after all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from siddhi.planner.distribution.distribution import Element
from siddhi.spark.plan.edges import AppGraph
from siddhi.spark.plan.steps import CatalystStage, EngineFragment, Step

__all__ = ["reorder_conflicts"]


def reorder_conflicts(
    steps: Sequence[Step], groups: Sequence[Sequence[Element]], graph: AppGraph
) -> Iterator[tuple[str, str]]:
    """Yield the queries whose order would change as Catalyst stages, each with a reason; a clause.

    Args:
        groups: elements that share what they use.
    """
    positions = {element.name: position for position, element in enumerate(graph.elements)}
    fellows = {element.name: group for group in groups for element in group}
    stages = [step for step in steps if isinstance(step, CatalystStage)]
    for fragment in (step for step in steps if isinstance(step, EngineFragment)):
        for step in stages:
            for stream in set(step.inputs).intersection(fragment.inputs):
                readers = [element for element in fragment.elements if stream in element.reads]
                after = [element for element in readers if positions[element.name] > positions[step.element.name]]
                if not after or len(after) == len(readers):
                    continue
                reached = _readers(_led_to(stages, step), fragment.elements)
                one, other = _met(after, graph.elements, fellows), _met(reached, graph.elements, fellows)
                if not one.keys().isdisjoint(other.keys() & graph.order_sensitive):
                    yield step.element.name, f"its output comes before what {after[0].name} makes of '{stream}'"


def _led_to(stages: Sequence[CatalystStage], first: CatalystStage) -> Collection[str]:
    """Return the streams that a Catalyst stage fills, directly or through other stages."""
    streams = set(first.produced)
    while True:
        more = {name for step in stages if streams.intersection(step.inputs) for name in step.produced}
        if more <= streams:
            return streams
        streams |= more


def _readers(streams: Collection[str], elements: Sequence[Element]) -> list[Element]:
    return [element for element in elements if not set(element.reads).isdisjoint(streams)]


def _met(
    first: Sequence[Element], elements: Sequence[Element], fellows: Mapping[str, Sequence[Element]]
) -> Mapping[str, Element]:
    """Return elements, by name, with those that read or share anything they write."""
    found: dict[str, Element] = {}
    pending = list(first)
    while pending:
        element = pending.pop()
        if element.name not in found:
            found[element.name] = element
            pending += [*fellows[element.name], *_readers(element.writes, elements)]
    return found
