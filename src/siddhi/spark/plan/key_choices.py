"""Which key part each element of an island takes, so that all of them fit together.

The parts of an element and the keys of a stream are narrowed down by each other until nothing changes: a stream has one key
for all who read it, and who fills it passes that key on. Only where several are left is one tried, the first in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from siddhi.planner.distribution.distribution import Element, KeyExpression, KeyPart

__all__ = ["MAX_TRIES", "KeyChoices"]

MAX_TRIES = 1000
"""How many parts are tried beyond one for each element; then it counts as found that none fit. Only joins that go round in
circles, by several equal attributes each, need more: they are a colouring of graphs, for which nobody knows a quick way."""

Key = KeyExpression | None
"""Of a stream; None: its events go everywhere."""


@dataclass(slots=True)
class _Candidates:
    """What is still possible: parts by element, keys by stream."""

    parts: dict[str, tuple[KeyPart, ...]]
    keys: dict[str, set[Key]]

    def with_choice(self, name: str, part: KeyPart) -> _Candidates:
        """A copy in which one element has this part."""
        return _Candidates({**self.parts, name: (part,)}, {stream: set(keys) for stream, keys in self.keys.items()})


class KeyChoices:
    """Finds parts that fit.

    Args:
        elements: of an island.
    """

    def __init__(self, elements: Sequence[Element]) -> None:
        self._stateful = [element for element in elements if element.keys is not None]
        self._by = {id(part): dict(part.by) for element in self._stateful for part in element.keys or ()}
        self._fillers: dict[str, list[Element]] = {}
        for element in elements:
            for stream in element.writes:
                self._fillers.setdefault(stream, []).append(element)
        self._read_by_stateless = {stream for element in elements if element.keys is None for stream in element.reads}
        self._copies: dict[tuple[str, str, str | None], dict[str, str]] = {}
        for element in elements:
            for stream, name, source, attribute in element.carries:
                self._copies.setdefault((element.name, stream, name), {})[source] = attribute

    def choices_with(self, name: str, part: KeyPart) -> Iterator[dict[str, KeyPart]]:
        """The part of each stateful element, where this one has this part: every choice that fits, in order."""
        parts = {element.name: element.keys or () for element in self._stateful}
        pending = [_Candidates({**parts, name: (part,)}, {})]
        tries = 0
        while pending and tries < MAX_TRIES + len(self._stateful):
            tries += 1
            candidates = pending.pop()
            if not self._narrowed(candidates):
                continue
            undecided = next((each for each, left in candidates.parts.items() if len(left) > 1), None)
            if undecided is None:
                yield {each: left[0] for each, left in candidates.parts.items()}
                continue
            pending += [candidates.with_choice(undecided, each) for each in reversed(candidates.parts[undecided])]

    def _narrowed(self, candidates: _Candidates) -> bool:
        """Take away what fits nothing, until there is no more; whether something is left everywhere."""
        while True:
            before = _size(candidates)
            for element in self._stateful:
                self._narrow_readings(element, candidates)
            for stream in tuple(candidates.keys):
                for filler in self._fillers.get(stream, ()):
                    self._narrow_filler(filler, stream, candidates)
            if not all(candidates.parts.values()) or not all(candidates.keys.values()):
                return False
            if _size(candidates) == before:
                return True

    def _narrow_readings(self, element: Element, candidates: _Candidates) -> None:
        """A stream has the key that those who read it separate by."""
        for stream in element.reads:
            possible = {self._by[id(part)].get(stream) for part in candidates.parts[element.name]}
            if stream in self._fillers or stream in self._read_by_stateless:
                # What a shard puts out would have to reach others; what keeps no state would see its copies.
                possible = {key for key in possible if key is not None and not key.labels}
            keys = candidates.keys[stream] = (
                candidates.keys[stream] & possible if stream in candidates.keys else possible
            )
            candidates.parts[element.name] = tuple(
                part for part in candidates.parts[element.name] if self._by[id(part)].get(stream) in keys
            )

    def _narrow_filler(self, filler: Element, stream: str, candidates: _Candidates) -> None:
        """Who fills a stream passes its key on: by its own part, or, where it has none, from all that it reads."""
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
            above = candidates.keys[source] = (
                candidates.keys[source] & possible if source in candidates.keys else possible
            )
            keys.intersection_update({key for key, above_key in wanted.items() if above_key in above})

    def _passes_on(self, part: KeyPart, copied: Mapping[str, str]) -> bool:
        by = self._by[id(part)]
        return any(source in by and by[source].attribute == attribute for source, attribute in copied.items())


def _size(candidates: _Candidates) -> tuple[int, int]:
    return len(candidates.keys), sum(map(len, candidates.parts.values())) + sum(map(len, candidates.keys.values()))
