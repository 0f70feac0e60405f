"""Which islands may read what others put out, so that they see it as in one engine: at its time, in order, in its chunks.

What comes of one event at once, alone, can be put where that event stands (:attr:`Island.ordered`). What comes later, or
several at a time, can't; neither can what meets, in who reads it, other things that come of the same event.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from siddhi.planner.distribution.distribution import Element
from siddhi.spark.plan.steps import EngineFragment, Step

__all__ = ["AppGraph", "must_join", "needs_order", "ordered_outputs", "reads_fragments"]

_Base = tuple[EngineFragment | None, str]
"""Where rows come from: a stream that leaves an island, or one from outside."""


@dataclass(frozen=True, slots=True)
class AppGraph:
    """What is known of an app as a whole.

    Attributes:
        elements: in text order.
        bound: streams that get rows from outside although queries fill them.
        inside: streams that can't leave an engine: they have attributes of type object.
        careful: names of elements to which it matters when, in which order and in which chunks rows come.
        streaming: for input without end; then no island reads what another puts out.
        unspread: why partitions, by name, are not spread by their keys; clauses.
    """

    elements: tuple[Element, ...]
    bound: frozenset[str]
    inside: frozenset[str]
    order_sensitive: frozenset[str]
    streaming: bool
    unspread: Mapping[str, str] = field(default_factory=dict)

    def order_sensitive_reader(self, element: Element) -> Element | None:
        """An element that reads what this one puts out, or what others make of it, and to which its order matters."""
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
        """Whether it matters to anything in it how its rows come."""
        return any(element.name in self.order_sensitive for element in fragment.elements)


def needs_order(elements: Sequence[Element], stateless: Collection[str]) -> frozenset[str]:
    """The names of elements to which it matters when, in which order and in which chunks rows come.

    Args:
        elements: all of the app.
        stateless: names of those that keep nothing, although they may be called stateful: joins with tables that nobody
            writes, and aggregations, whose buckets go by the times of events.
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
    """The islands among steps that an island must be one with, since it can't read over a shuffle what they put out."""
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
    """Whether rows of streams come out of islands, be it through what Catalyst runs."""
    return any(fragment is not None for stream in streams for fragment, _ in _bases(steps, stream, graph))


def ordered_outputs(steps: Sequence[Step], graph: AppGraph) -> Iterator[tuple[EngineFragment, tuple[str, ...]]]:
    """The islands that others read to which order matters, and the streams they read."""
    asked = {
        base
        for fragment in steps
        if isinstance(fragment, EngineFragment) and graph.is_order_sensitive(fragment)
        for stream in fragment.inputs
        for base in _bases([step for step in steps if step is not fragment], stream, graph)
    }
    for fragment in steps:
        if isinstance(fragment, EngineFragment):
            streams = tuple(stream for stream in fragment.produced if (fragment, stream) in asked)
            if streams:
                yield fragment, streams


def _bases(steps: Sequence[Step], stream: str, graph: AppGraph) -> set[_Base]:
    """Where the rows of a stream come from, through what Catalyst runs."""
    found: set[_Base] = set()
    made = False
    for step in steps:
        if stream not in step.produced:
            continue
        made = True
        if not isinstance(step, EngineFragment):
            found.update(base for source in step.inputs for base in _bases(steps, source, graph))
        elif stream in step.inputs:
            return {(step, stream)}  # all of it went through the island
        else:
            found.add((step, stream))
    return found | {(None, stream)} if not made or stream in graph.bound else found


def _keeps_place(fragment: EngineFragment, stream: str) -> bool:
    """Whether what leaves an island comes of one event each, at once, in one shard."""
    if fragment.key is not None and fragment.key.multicasts:
        return False
    writers = [element for element in fragment.elements if stream in element.writes]
    return all(element.one_to_one for element in writers) and not _comes_back(fragment, stream)


def _comes_back(fragment: EngineFragment, stream: str) -> bool:
    """Whether the stream is read within the island by what it is made of."""
    return any(stream in element.reads for element in _sources_within(fragment, stream))


def _sources_within(fragment: EngineFragment, stream: str) -> list[Element]:
    """The elements of an island that a stream is made by, directly or not."""
    wanted, found = {stream}, dict[str, Element]()
    while True:
        more = [e for e in fragment.elements if e.name not in found and wanted.intersection(e.writes)]
        if not more:
            return list(found.values())
        for element in more:
            found[element.name] = element
            wanted.update(element.reads)


def _roots(steps: Sequence[Step], base: _Base, graph: AppGraph) -> frozenset[str]:
    """The streams from outside that rows are made of."""
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
