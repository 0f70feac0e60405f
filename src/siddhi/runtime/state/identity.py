"""Which element of one version of an app is which of another one.

A named element is that of the same name. A query or partition without a name is one of the same text; of several, the first
one is the first. So an element before it does not matter. Those that remain were changed: they are matched in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

__all__ = ["is_unnamed", "matched", "name_in", "names_of", "owner_of"]

_UNNAMED = re.compile(r"(?:query 'query_\d+'|partition 'partition_\d+')$")
_INNER = "query 'anonymous-"
_NAMED = re.compile(r"^@info\(.*\bname\s*=", re.MULTILINE)
_PART_OF = re.compile(r"(?:limit of |limits of |purge of |buffer of )(.*)$", re.DOTALL)
_NAME = re.compile(r"(?:mapper of )?(?:source|sink) \d+ of (?P<stream>.*)$|\w+ '(?P<name>.*)'$", re.DOTALL)


def owner_of(label: str) -> str:
    """Return the element that an element is a part of, such as ``query 'q'`` of ``limit of query 'q'``, or itself."""
    found = _PART_OF.match(label)
    return label if found is None else found[1]


def name_in(label: str) -> str:
    """Return the name in a label: ``q`` of ``query 'q'``, and ``S`` of ``source 0 of S``."""
    found = _NAME.match(owner_of(label))
    return label if found is None else found["name"] or found["stream"] or label


def is_unnamed(label: str, definition: str) -> bool:
    """Return whether an element is a query or partition without a name in the text."""
    return label.startswith(_INNER) or (_UNNAMED.match(label) is not None and _NAMED.search(definition) is None)


def matched(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """Return the label now of every element before that there still is.

    Args:
        before: definitions by label, in the order of the text.
        now: likewise.
    """
    found = {
        label: label
        for label, definition in before.items()
        if owner_of(label) == label
        and label in now
        and not is_unnamed(label, definition)
        and not is_unnamed(label, now[label])
    }
    left = [label for label, definition in before.items() if is_unnamed(label, definition)]
    free = [label for label, definition in now.items() if is_unnamed(label, definition)]
    for is_one in (
        lambda label, other: _kind(label) == _kind(other) and before[label] == now[other],
        lambda label, other: label == other,
        lambda label, other: _kind(label) == _kind(other),
    ):
        for label in list(left):
            other = next((other for other in free if is_one(label, other)), None)
            if other is not None:
                found[label] = other
                left.remove(label)
                free.remove(other)
    return found | _parts(before, now, found)


def _kind(label: str) -> str:
    return _INNER if label.startswith(_INNER) else label.partition(" ")[0]


def _parts(before: Iterable[str], now: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of elements that are parts of others: they follow them."""
    parts: dict[str, str] = {}
    for label in before:
        owner = owner_of(label)
        if owner == label:
            continue
        moved = label.removesuffix(owner) + found.get(owner, owner)
        if moved in now:
            parts[label] = moved
    return parts


def names_of(reset: object) -> tuple[str, ...]:
    """Return the names of elements that start anew; one name may be given alone.

    Raises:
        TypeError: they are no names.
    """
    if isinstance(reset, str):
        return (reset,)
    names = tuple(reset) if isinstance(reset, Iterable) else (reset,)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"invalid reset {reset!r}: expected names of elements")
    return names
