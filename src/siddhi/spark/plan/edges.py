"""Which islands may read what others put out, so that they see it as in one engine: at its time, in order, in its chunks.

What comes of one event at once, alone, can be put where that event stands (:attr:`Island.ordered`). What comes later, or
several at a time, can't; neither can what meets, in who reads it, other things that come of the same event.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from siddhi.planner.distribution.distribution import Element
from siddhi.spark.plan.steps import Island, Step

__all__ = ["Whole", "carried", "inseparable_from", "needs_order", "reads_islands"]

_Base = tuple[Island | None, str]
"""Where rows come from: a stream that leaves an island, or one from outside."""


@dataclass(frozen=True, slots=True)
class Whole:
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
    careful: frozenset[str]
    streaming: bool
    unspread: Mapping[str, str] = field(default_factory=dict)

    def careful_reader(self, element: Element) -> Element | None:
        """An element that reads what this one puts out, or what others make of it, and to which its order matters."""
        streams = set(element.writes)
        seen = {element.name}
        while True:
            readers = [e for e in self.elements if e.name not in seen and streams.intersection(e.reads)]
            for reader in readers:
                if reader.name in self.careful:
                    return reader
                seen.add(reader.name)
                streams.update(reader.writes)
            if not readers:
                return None

    def is_careful(self, island: Island) -> bool:
        """Whether it matters to anything in it how its rows come."""
        return any(element.name in self.careful for element in island.elements)


def needs_order(elements: Sequence[Element], stateless: Collection[str]) -> frozenset[str]:
    """The names of elements to which it matters when, in which order and in which chunks rows come.

    Args:
        elements: all of the app.
        stateless: names of those that keep nothing, although they may be called stateful: joins with tables that nobody
            writes, and aggregations, whose buckets go by the times of events.
    """
    chunked = {stream for element in elements if element.emits_chunks for stream in element.writes}
    later = {stream for element in elements if not element.at_once for stream in element.writes}
    return frozenset(
        element.name
        for element in elements
        if (element.stateful and element.name not in stateless)
        or (element.chunk_sensitive and not chunked.isdisjoint(element.reads))
        or (element.reads_clock and not later.isdisjoint(element.reads))
    )


def inseparable_from(steps: Sequence[Step], island: Island, whole: Whole) -> list[Island]:
    """The islands among steps that an island must be one with, since it can't read over a shuffle what they put out."""
    bases = {base for stream in island.inputs for base in _bases(steps, stream, whole)}
    careful = whole.is_careful(island)
    found: list[Island] = []
    for source, stream in bases:
        if source is not None and (
            whole.streaming or stream in whole.inside or (careful and not _keeps_place(source, stream))
        ):
            found.append(source)
    if careful:
        roots = {base: _roots(steps, base, whole) for base in bases}
        for base, mine in roots.items():
            if base[0] is not None and any(base != other and mine & its for other, its in roots.items()):
                found.append(base[0])
    return found


def reads_islands(steps: Sequence[Step], streams: Collection[str], whole: Whole) -> bool:
    """Whether rows of streams come out of islands, be it through what Catalyst runs."""
    return any(island is not None for stream in streams for island, _ in _bases(steps, stream, whole))


def carried(steps: Sequence[Step], whole: Whole) -> Iterator[tuple[Island, tuple[str, ...]]]:
    """The islands that others read to which order matters, and the streams they read."""
    asked = {
        base
        for island in steps
        if isinstance(island, Island) and whole.is_careful(island)
        for stream in island.inputs
        for base in _bases([step for step in steps if step is not island], stream, whole)
    }
    for island in steps:
        if isinstance(island, Island):
            streams = tuple(stream for stream in island.produced if (island, stream) in asked)
            if streams:
                yield island, streams


def _bases(steps: Sequence[Step], stream: str, whole: Whole) -> set[_Base]:
    """Where the rows of a stream come from, through what Catalyst runs."""
    found: set[_Base] = set()
    made = False
    for step in steps:
        if stream not in step.produced:
            continue
        made = True
        if not isinstance(step, Island):
            found.update(base for source in step.inputs for base in _bases(steps, source, whole))
        elif stream in step.inputs:
            return {(step, stream)}  # all of it went through the island
        else:
            found.add((step, stream))
    return found | {(None, stream)} if not made or stream in whole.bound else found


def _keeps_place(island: Island, stream: str) -> bool:
    """Whether what leaves an island comes of one event each, at once, in one shard."""
    if island.key is not None and island.key.spreads:
        return False
    writers = [element for element in island.elements if stream in element.writes]
    return all(element.at_once for element in writers) and not _comes_back(island, stream)


def _comes_back(island: Island, stream: str) -> bool:
    """Whether the stream is read within the island by what it is made of."""
    return any(stream in element.reads for element in _sources_within(island, stream))


def _sources_within(island: Island, stream: str) -> list[Element]:
    """The elements of an island that a stream is made by, directly or not."""
    wanted, found = {stream}, dict[str, Element]()
    while True:
        more = [e for e in island.elements if e.name not in found and wanted.intersection(e.writes)]
        if not more:
            return list(found.values())
        for element in more:
            found[element.name] = element
            wanted.update(element.reads)


def _roots(steps: Sequence[Step], base: _Base, whole: Whole) -> frozenset[str]:
    """The streams from outside that rows are made of."""
    island, stream = base
    if island is None:
        return frozenset({stream})
    others = [step for step in steps if step is not island]
    read = {stream, *(source for element in _sources_within(island, stream) for source in element.reads)}
    return frozenset(
        root
        for source in island.inputs
        if source in read
        for before in _bases(others, source, whole)
        for root in _roots(others, before, whole)
    )
