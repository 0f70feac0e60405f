"""State of a Python worker of Spark that outlives a task."""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["WorkerCache", "freeze_modules"]

V = TypeVar("V")
_counts: set[int] = set()


def freeze_modules() -> None:
    """Exclude modules from garbage collection: Spark runs a full collection after every task, 0.1 seconds each.

    Freezes once per number of loaded modules, so what it keeps alive is bounded.
    """
    if len(sys.modules) not in _counts:
        _counts.add(len(sys.modules))
        gc.freeze()


class WorkerCache(Generic[V]):
    """Values by query and shard, each with the token of the state in Spark's store that it belongs to.

    A token names one state as written by one attempt. A value left by a failed attempt, or from before another worker continued
    the shard, never matches.

    Args:
        most: limit of the sum of sizes; beyond it the least recently used value is evicted.
        on_evict: called with a value that is evicted or does not match.
    """

    def __init__(self, most: int, on_evict: Callable[[V], object] = lambda _: None) -> None:
        self._most = most
        self._on_evict = on_evict
        self._size = 0
        self._entries: OrderedDict[tuple[str, int], tuple[int, V, int]] = OrderedDict()

    def put(self, query: str, shard: int, token: int, value: V, size: int = 1) -> None:
        """Keep a value with the token of its state."""
        self._drop((query, shard))
        self._entries[query, shard] = (token, value, size)
        self._size += size
        while self._size > self._most:
            self._drop(next(iter(self._entries)))

    def take(self, query: str, shard: int, token: int | None) -> V | None:
        """Remove and return the value of exactly this state, or None. The caller may change it and put it back.

        A value of another state is evicted.
        """
        entry = self._entries.get((query, shard))
        if entry is None or entry[0] != token:
            self._drop((query, shard))
            return None
        del self._entries[query, shard]
        self._size -= entry[2]
        return entry[1]

    def _drop(self, key: tuple[str, int]) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._size -= entry[2]
            self._on_evict(entry[1])
