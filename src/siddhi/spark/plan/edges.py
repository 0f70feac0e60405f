"""Decide which engine fragments may read each other's output and see it as one engine would: in time, order and chunks.

An output with one row per input event, at the event's time, can be sorted into the place of that event
(:attr:`EngineFragment.ordered`). Rows that come later or several at a time can't, nor can rows whose reader combines them
with other results of the same event.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from siddhi.planner.distribution.distribution import Element
from siddhi.spark.plan.steps import EngineFragment, Step

__all__ = ["AppGraph", "must_join", "needs_order", "ordered_outputs", "reads_fragments"]

_Base = tuple[EngineFragment | None, str]
"""Origin of rows: an output of a fragment, or an input stream of the app."""


@dataclass(frozen=True, slots=True)
class AppGraph:
    """What the layout needs to know of the whole app.

    Attributes:
        elements: elements in text order.
        bound: streams that are bound although queries fill them.
        inside: streams with attributes of type object, which can't leave an engine.
        order_sensitive: names of elements whose results depend on the time, order or chunks of their rows.
        streaming: whether the input is a stream; then no fragment reads the output of another.
        unspread: why partitions, by name, are not distributed by their keys; clauses.
    """

    elements: tuple[Element, ...]
    bound: frozenset[str]
    inside: frozenset[str]
    order_sensitive: frozenset[str]
    streaming: bool
    unspread: Mapping[str, str] = field(default_factory=dict)

    def order_sensitive_reader(self, element: Element) -> Element | None:
        """Return an order-sensitive element that reads the output of an element, directly or through others."""
        streams = set(element.writes)
        seen = {element.name}
        while True:
            readers = [e for e in self.elements if e.name not in seen and streams.intersection(e.reads)]
            for reader in readers:
                if reader.name in self.order_sensitive:
                    return reader
                seen.add(reader.name)
                streams.update(reader.writes)
            if not readers:
                return None

    def is_order_sensitive(self, fragment: EngineFragment) -> bool:
        """Return whether an element of a fragment is order-sensitive."""
        return any(element.name in self.order_sensitive for element in fragment.elements)


def needs_order(elements: Sequence[Element], stateless: Collection[str]) -> frozenset[str]:
    """Return the names of order-sensitive elements: their results depend on the time, order or chunks of their rows.

    Args:
        elements: all elements of the app.
        stateless: elements that keep nothing although they count as stateful: joins with read-only tables, and aggregations,
            whose buckets follow event time.
    """
    chunked = {stream for element in elements if element.emits_chunks for stream in element.writes}
    later = {stream for element in elements if not element.one_to_one for stream in element.writes}
    return frozenset(
        element.name
        for element in elements
        if (element.stateful and element.name not in stateless)
        or (element.chunk_sensitive and not chunked.isdisjoint(element.reads))
        or (element.reads_clock and not later.isdisjoint(element.reads))
    )


def must_join(steps: Sequence[Step], fragment: EngineFragment, graph: AppGraph) -> list[EngineFragment]:
    """Return the fragments that a fragment must be merged with, as it can't read their output through a shuffle."""
    bases = {base for stream in fragment.inputs for base in _bases(steps, stream, graph)}
    order_sensitive = graph.is_order_sensitive(fragment)
    found: list[EngineFragment] = []
    for source, stream in bases:
        if source is not None and (
            graph.streaming or stream in graph.inside or (order_sensitive and not _keeps_place(source, stream))
        ):
            found.append(source)
    if order_sensitive:
        roots = {base: _roots(steps, base, graph) for base in bases}
        for base, mine in roots.items():
            if base[0] is not None and any(base != other and mine & its for other, its in roots.items()):
                found.append(base[0])
    return found


def reads_fragments(steps: Sequence[Step], streams: Collection[str], graph: AppGraph) -> bool:
    """Return whether streams have rows that fragments emit, directly or through Catalyst stages."""
    return any(fragment is not None for stream in streams for fragment, _ in _bases(steps, stream, graph))


def ordered_outputs(steps: Sequence[Step], graph: AppGraph) -> Iterator[tuple[EngineFragment, tuple[str, ...]]]:
    """Yield the fragments with outputs that order-sensitive fragments read, and these outputs."""
    needed = {
        base
        for fragment in steps
        if isinstance(fragment, EngineFragment) and graph.is_order_sensitive(fragment)
        for stream in fragment.inputs
        for base in _bases([step for step in steps if step is not fragment], stream, graph)
    }
    for fragment in steps:
        if isinstance(fragment, EngineFragment):
            streams = tuple(stream for stream in fragment.produced if (fragment, stream) in needed)
            if streams:
                yield fragment, streams


def _bases(steps: Sequence[Step], stream: str, graph: AppGraph) -> set[_Base]:
    """Return the origins of a stream's rows, through Catalyst stages."""
    found: set[_Base] = set()
    made = False
    for step in steps:
        if stream not in step.produced:
            continue
        made = True
        if not isinstance(step, EngineFragment):
            found.update(base for source in step.inputs for base in _bases(steps, source, graph))
        elif stream in step.inputs:
            return {(step, stream)}  # the fragment reads and writes the stream, so all rows pass through it
        else:
            found.add((step, stream))
    return found | {(None, stream)} if not made or stream in graph.bound else found


def _keeps_place(fragment: EngineFragment, stream: str) -> bool:
    """Return whether each row of a fragment's output belongs to one input event of one shard."""
    if fragment.key is not None and fragment.key.multicasts:
        return False
    writers = [element for element in fragment.elements if stream in element.writes]
    return all(element.one_to_one for element in writers) and not _comes_back(fragment, stream)


def _comes_back(fragment: EngineFragment, stream: str) -> bool:
    """Return whether a fragment feeds a stream back into the elements that make it."""
    return any(stream in element.reads for element in _sources_within(fragment, stream))


def _sources_within(fragment: EngineFragment, stream: str) -> list[Element]:
    """Return the elements of a fragment that make a stream, directly or through others."""
    wanted, found = {stream}, dict[str, Element]()
    while True:
        more = [e for e in fragment.elements if e.name not in found and wanted.intersection(e.writes)]
        if not more:
            return list(found.values())
        for element in more:
            found[element.name] = element
            wanted.update(element.reads)


def _roots(steps: Sequence[Step], base: _Base, graph: AppGraph) -> frozenset[str]:
    """Return the input streams of the app that rows of an origin are made of."""
    fragment, stream = base
    if fragment is None:
        return frozenset({stream})
    others = [step for step in steps if step is not fragment]
    read = {stream, *(source for element in _sources_within(fragment, stream) for source in element.reads)}
    return frozenset(
        root
        for source in fragment.inputs
        if source in read
        for before in _bases(others, source, graph)
        for root in _roots(others, before, graph)
    )
