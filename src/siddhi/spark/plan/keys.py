"""Find the key of an engine fragment: the key expressions of every input stream.

An element is partitioned by its key parts, each an expression per stream. Between the elements of a fragment, copied
attributes (``carries``) pass the key on, so that a row stays in its shard.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from siddhi.planner.distribution.distribution import Element, KeyExpression, KeyPart
from siddhi.spark.plan.key_choices import KeyChoices

__all__ = ["FragmentKey", "fragment_key"]


@dataclass(frozen=True, slots=True)
class FragmentKey:
    """The key expressions of each input stream, in one order. None: rows go to every shard. Empty: rows go to any shard,
    as only stateless elements read them. A row of a stream with labels goes to the shards of all labels whose condition it
    meets."""

    streams: Mapping[str, tuple[KeyExpression, ...] | None]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of ranges, each once."""
        each = (key.labels for keys in self.streams.values() for key in keys or ())
        return tuple(dict.fromkeys(label for labels in each for label, _ in labels))

    @property
    def multicasts(self) -> bool:
        """Whether a row may go to no shard or to several."""
        return bool(self.labels) or any(keys is None for keys in self.streams.values())


class _Conflict(Exception):  # noqa: N818 - an answer, not an error
    pass


def fragment_key(elements: Sequence[Element], outside: Collection[str]) -> FragmentKey | None:
    """Return the largest key that all elements can be partitioned by; None: there is none, or the search was limited by
    :data:`siddhi.spark.plan.key_choices.MAX_TRIES`.

    Args:
        elements: elements of the fragment.
        outside: its input streams.
    """
    stateful = [element for element in elements if element.keys is not None]
    if not stateful:
        return FragmentKey(dict.fromkeys(outside, ()))  # stateless
    if any(not element.keys for element in stateful):
        return None
    found: list[dict[str, KeyExpression | None]] = []
    choices = KeyChoices(elements)
    for part in stateful[0].keys or ():
        assignment = _assign(elements, choices.choices_with(stateful[0].name, part))
        if assignment is not None and assignment not in found:
            found.append(assignment)
    for number, first in enumerate(found):
        # Parts with the same multicast streams form one key; a label is a key by itself.
        others = [] if _labelled(first) else found[number + 1 :]
        joined = [
            first,
            *(other for other in others if _replicated(other) == _replicated(first) and not _labelled(other)),
        ]
        keyed: dict[str, tuple[KeyExpression, ...] | None] = {
            stream: tuple(one for part in joined if (one := part.get(stream)) is not None) for stream in outside
        }
        keyed.update(dict.fromkeys(_replicated(first).intersection(outside)))
        if any(keyed.values()):
            return FragmentKey(keyed)
    return None


def _replicated(keys: Mapping[str, KeyExpression | None]) -> set[str]:
    return {stream for stream, key in keys.items() if key is None}


def _labelled(keys: Mapping[str, KeyExpression | None]) -> bool:
    return any(key is not None and key.labels for key in keys.values())


def _assign(
    elements: Sequence[Element], choices: Iterable[Mapping[str, KeyPart]]
) -> dict[str, KeyExpression | None] | None:
    """Return the keys of streams by the first of these choices without conflict."""
    for chosen in choices:
        try:
            return _Assignment(elements, chosen).keys()
        except _Conflict:
            continue
    return None


class _Assignment:
    """Propagates the keys of chosen parts against the data flow and detects conflicts."""

    def __init__(self, elements: Sequence[Element], chosen: Mapping[str, KeyPart]) -> None:
        self._elements = elements
        self._chosen = chosen
        self._found: dict[str, KeyExpression | None] = {}
        self._producers: dict[str, list[Element]] = {}
        for element in elements:
            for stream in element.writes:
                self._producers.setdefault(stream, []).append(element)

    def keys(self) -> dict[str, KeyExpression | None]:
        for element in self._elements:
            part = self._chosen.get(element.name)
            if part is None:
                continue
            by = dict(part.by)
            for stream in element.reads:
                self._require(stream, by.get(stream))
        self._refuse_copies_of_copies()
        return self._found

    def _require(self, stream: str, key: KeyExpression | None) -> None:
        if stream in self._found:
            if self._found[stream] != key:
                raise _Conflict
            return
        if stream in self._producers and (key is None or key.labels):
            raise _Conflict  # an output would have to reach other shards
        self._found[stream] = key
        for producer in self._producers.get(stream, ()):
            assert key is not None
            self._require_of(producer, stream, key)

    def _require_of(self, producer: Element, stream: str, key: KeyExpression) -> None:
        """Require that the inputs of a producer have the key that it copies into this attribute."""
        copies = {
            source: attribute
            for written, name, source, attribute in producer.carries
            if written == stream and name == key.attribute
        }
        part = self._chosen.get(producer.name)
        if part is None:
            for source in producer.reads:
                if source not in copies:
                    raise _Conflict
                self._require(source, KeyExpression(text=copies[source], attribute=copies[source]))
            return
        by = dict(part.by)
        if not any(source in by and by[source].attribute == attribute for source, attribute in copies.items()):
            raise _Conflict

    def _refuse_copies_of_copies(self) -> None:
        """Raise a conflict if a stateless element reads a stream that goes to several shards: it would see each copy."""
        copied = {stream for stream, key in self._found.items() if key is None or key.labels}
        if any(element.keys is None and not copied.isdisjoint(element.reads) for element in self._elements):
            raise _Conflict
