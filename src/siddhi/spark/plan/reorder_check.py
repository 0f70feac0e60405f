"""Which queries Catalyst could run must be in engines all the same, so that nothing overtakes what they put out.

An island is given a stream's row once, for all of its elements that read the stream. In one engine a row goes to its readers
one by one, and to everything that each of them leads to before the next: what a projection makes of it comes behind what the
readers before it made, and ahead of what those after it make. Given from outside, it can only come before or behind them all.
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
    """The queries that would be overtaken as native steps, each with why; a clause.

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
                    yield step.element.name, f"what it puts out comes before what {after[0].name} makes of '{stream}'"


def _led_to(stages: Sequence[CatalystStage], first: CatalystStage) -> Collection[str]:
    """The streams that get rows from a native step, through others of them, too."""
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
    """Some elements, by name, with those that see anything of what they put out or change."""
    found: dict[str, Element] = {}
    pending = list(first)
    while pending:
        element = pending.pop()
        if element.name not in found:
            found[element.name] = element
            pending += [*fellows[element.name], *_readers(element.writes, elements)]
    return found
