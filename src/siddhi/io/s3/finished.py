"""The objects of a bucket that were read, within a bound."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

__all__ = ["Finished", "Listed"]


class Listed(NamedTuple):
    """An object as it was listed.

    Attributes:
        key: its key.
        etag: its entity tag, which is another one when it is replaced.
        size: its bytes.
    """

    key: str
    etag: str
    size: int


class Finished:
    """Remembers the objects that were read, by key and entity tag.

    If there are more than ``most``, those with the lowest keys are forgotten, and a mark takes their place: all keys up to it
    count as read, and listings begin after it. So a lower key than those listed is found as long as it is above the mark.

    Args:
        most: the largest number of objects to remember.

    Attributes:
        mark: the key up to which everything counts as read; empty: none.
    """

    def __init__(self, most: int) -> None:
        self.mark = ""
        self._most = most
        self._objects: dict[str, tuple[str, bool]] = {}
        self._order: list[bytes] = []  # the keys in the order of listings, that of UTF-8

    def has(self, listed: Listed) -> bool:
        """Return whether an object was read."""
        known = self._objects.get(listed.key)
        return self._is_marked(listed.key) if known is None else known[0] == listed.etag

    def needs_action(self, listed: Listed) -> bool:
        """Return whether an object that was read is to be deleted or moved."""
        return self._objects.get(listed.key) == (listed.etag, True)

    def add(self, listed: Listed, *, acts: bool) -> None:
        """Remember an object that was read; ``acts``: it is to be deleted or moved."""
        if self._is_marked(listed.key):
            return
        if listed.key not in self._objects:
            key = listed.key.encode()
            self._order.insert(bisect_left(self._order, key), key)
        self._objects[listed.key] = (listed.etag, acts)
        if len(self._order) > self._most:
            self.mark = self._order.pop(0).decode()
            del self._objects[self.mark]

    def remove(self, listed: Listed) -> None:
        """Forget an object that was deleted or moved: another one with this key and tag is a new one."""
        known = self._objects.get(listed.key)
        if known is not None and known[0] == listed.etag:
            del self._objects[listed.key]
            del self._order[bisect_left(self._order, listed.key.encode())]

    def keep(self, keys: Collection[str]) -> None:
        """Forget the objects whose keys are not among those of a listing after the mark."""
        gone = [key for key in self._objects if key not in keys]
        for key in gone:
            del self._objects[key]
        if gone:
            self._order = sorted(key.encode() for key in self._objects)

    def state(self) -> dict[str, Any]:
        """Return what :meth:`load` restores; may be called in any thread."""
        return {"mark": self.mark, "objects": {key: list(known) for key, known in self._objects.copy().items()}}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self.mark = state["mark"]
        self._objects = {key: (etag, acts) for key, (etag, acts) in state["objects"].items()}
        self._order = sorted(key.encode() for key in self._objects)

    def _is_marked(self, key: str) -> bool:
        return key.encode() <= self.mark.encode()
