"""Whether two plans of an element are the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from siddhi._frozen import Frozen, fields

__all__ = ["is_same", "is_same_operator"]

_PLACES = frozenset(("span",))
_STATELESS = _PLACES | {
    # Names, which follow the numbers of queries without a name.
    "name",
    "source",
    "target",
    "stream",
    # What holds no state: how rows are found, which events of its stream a query gets, limits.
    "access",
    "annotations",
    "change",
    "filing",
    "filings",
    "limit",
    "lookups",
    "objects",
    "purge",
    "sleeps",
}


def is_same(one: object, other: object) -> bool:
    """Return whether two plans differ only in the places of the text that they stand for."""
    return _equal(one, other, _PLACES)


def is_same_operator(one: object, other: object) -> bool:
    """Return whether two plans of a query lead to operators whose state has the same form."""
    return _equal(one, other, _STATELESS)


def _equal(one: object, other: object, ignored: frozenset[str]) -> bool:
    """Compare without recursion: a chain of operators is a tree as deep as it is long."""
    pending = [(one, other)]
    while pending:
        a, b = pending.pop()
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if isinstance(a, Frozen):
            pending += [
                (getattr(a, each.name), getattr(b, each.name))
                for each in fields(a)
                if each.compare and each.name not in ignored
            ]
        elif dataclasses.is_dataclass(a) and not isinstance(a, type):
            pending += [
                (getattr(a, each.name), getattr(b, each.name))
                for each in dataclasses.fields(a)
                if each.compare and each.name not in ignored
            ]
        elif isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
            if len(a) != len(b):
                return False
            pending += zip(a, b, strict=True)
        elif isinstance(a, Mapping) and isinstance(b, Mapping):
            if a.keys() != b.keys():
                return False
            pending += [(a[key], b[key]) for key in a]
        elif a != b:
            return False
    return True
