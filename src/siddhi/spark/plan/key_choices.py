"""Choose one key part per element of an engine fragment so that all parts agree.

The parts of the elements and the keys of the streams constrain each other: all readers of a stream need the same key, and
an element that fills the stream must pass that key on. Arc consistency removes what no neighbour supports; where several
parts are left, a backtracking search tries them in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from siddhi.planner.distribution.distribution import Element, KeyExpression, KeyPart

__all__ = ["MAX_TRIES", "KeyChoices"]

MAX_TRIES = 1000
"""Limit of the search, in addition to one try per element; beyond it no choice counts as found. Only cycles of joins with
several equalities each need more: choosing their keys is graph colouring, which is NP-complete."""

Key = KeyExpression | None
"""Key of a stream; None: its events go to every shard."""


@dataclass(slots=True)
class _Candidates:
    """Candidates of the search: parts by element, and keys by stream. A stream that is missing is unconstrained."""

    parts: dict[str, tuple[KeyPart, ...]]
    keys: dict[str, set[Key]]

    def with_choice(self, name: str, part: KeyPart) -> _Candidates:
        """Return a copy in which one element has exactly this part."""
        return _Candidates({**self.parts, name: (part,)}, {stream: set(keys) for stream, keys in self.keys.items()})


class KeyChoices:
    """The choices of parts that agree.

    Args:
        elements: elements of an engine fragment.
    """

    def __init__(self, elements: Sequence[Element]) -> None:
        self._elements = {element.name: element for element in elements}
        self._stateful = [element for element in elements if element.keys is not None]
        self._by = {id(part): dict(part.by) for element in self._stateful for part in element.keys or ()}
        self._fillers: dict[str, list[Element]] = {}
        self._readers: dict[str, list[Element]] = {}
        for element in elements:
            for stream in element.writes:
                self._fillers.setdefault(stream, []).append(element)
            for stream in element.reads:
                self._readers.setdefault(stream, []).append(element)
        self._copies: dict[tuple[str, str, str | None], dict[str, str]] = {}
        for element in elements:
            for stream, name, source, attribute in element.carries:
                self._copies.setdefault((element.name, stream, name), {})[source] = attribute

    def choices_with(self, name: str, part: KeyPart) -> Iterator[dict[str, KeyPart]]:
        """Yield every choice of one part per stateful element in which the named element has this part, in order."""
        parts = {element.name: element.keys or () for element in self._stateful}
        pending = [(_Candidates({**parts, name: (part,)}, {}), [element.name for element in self._stateful])]
        tries = 0
        while pending and tries < MAX_TRIES + len(self._stateful):
            tries += 1
            candidates, changed = pending.pop()
            if not self._narrow(candidates, changed):
                continue
            undecided = next((each for each, left in candidates.parts.items() if len(left) > 1), None)
            if undecided is None:
                yield {each: left[0] for each, left in candidates.parts.items()}
                continue
            pending += [
                (candidates.with_choice(undecided, each), [undecided]) for each in reversed(candidates.parts[undecided])
            ]

    def _narrow(self, candidates: _Candidates, changed: Sequence[str]) -> bool:
        """Remove candidates without support; return whether every element and stream has one left.

        The queue holds the elements whose surroundings have changed, so a chain of queries costs one step per query and
        candidate, not one pass over all of them per query.

        Args:
            candidates: narrowed in place.
            changed: names of the elements whose parts have changed since the last call.
        """
        queue = dict.fromkeys(changed)
        while queue:
            name = next(iter(queue))
            del queue[name]
            element = self._elements[name]
            before = _sizes(element, candidates)
            self._revise(element, candidates)
            if not candidates.parts.get(name, (None,)):
                return False
            after = _sizes(element, candidates)
            for stream in (stream for stream, size in after.items() if size != before[stream]):
                if not candidates.keys[stream]:
                    return False
                for other in (*self._readers.get(stream, ()), *self._fillers.get(stream, ())):
                    queue[other.name] = None
        return True

    def _revise(self, element: Element, candidates: _Candidates) -> None:
        """Remove what one element rules out: keys of the streams around it, and parts of its own."""
        if element.keys is not None:
            for stream in element.reads:
                self._revise_input(element, stream, candidates)
        for stream in element.writes:
            if stream in candidates.keys:
                self._revise_output(element, stream, candidates)

    def _revise_input(self, element: Element, stream: str, candidates: _Candidates) -> None:
        """Keep the keys by which a stateful element can be partitioned, and the parts that have one of them."""
        possible = {self._by[id(part)].get(stream) for part in candidates.parts[element.name]}
        if stream in self._fillers or any(reader.keys is None for reader in self._readers[stream]):
            # A filled stream can't be sent to other shards, and a stateless reader would see each copy of a row.
            possible = {key for key in possible if key is not None and not key.labels}
        keys = candidates.keys[stream] = candidates.keys.get(stream, possible) & possible
        candidates.parts[element.name] = tuple(
            part for part in candidates.parts[element.name] if self._by[id(part)].get(stream) in keys
        )

    def _revise_output(self, filler: Element, stream: str, candidates: _Candidates) -> None:
        """Keep the keys that a filler passes on: by its own part or, if it is stateless, from everything it reads."""
        keys = candidates.keys[stream]
        copies = {
            key: {} if key is None else self._copies.get((filler.name, stream, key.attribute), {}) for key in keys
        }
        if filler.keys is not None:
            parts = candidates.parts[filler.name]
            candidates.parts[filler.name] = tuple(
                part for part in parts if any(self._passes_on(part, copies[key]) for key in keys)
            )
            keys.intersection_update({key for key in keys if any(self._passes_on(part, copies[key]) for part in parts)})
            return
        for source in filler.reads:
            wanted = {
                key: KeyExpression(copied[source], copied[source]) for key, copied in copies.items() if source in copied
            }
            possible: set[Key] = set(wanted.values())
            above = candidates.keys[source] = candidates.keys.get(source, possible) & possible
            keys.intersection_update({key for key, above_key in wanted.items() if above_key in above})

    def _passes_on(self, part: KeyPart, copied: Mapping[str, str]) -> bool:
        by = self._by[id(part)]
        return any(source in by and by[source].attribute == attribute for source, attribute in copied.items())


def _sizes(element: Element, candidates: _Candidates) -> dict[str, int]:
    """Return the number of candidate keys of each stream around an element; -1: the stream is unconstrained."""
    keys = candidates.keys
    return {stream: len(keys[stream]) if stream in keys else -1 for stream in (*element.reads, *element.writes)}
