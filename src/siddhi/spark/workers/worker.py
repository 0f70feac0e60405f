"""What a Python worker of Spark keeps from task to task."""

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
    """Keep Python's collector away from modules: Spark collects everything after every task, a tenth of a second each time.

    What is there when modules have come is not looked through again; as there are only so many, so is what that keeps.
    """
    if len(sys.modules) not in _counts:
        _counts.add(len(sys.modules))
        gc.freeze()


class WorkerCache(Generic[V]):
    """What belongs to a state in Spark's store, by query and shard, with the token that the store has for that state.

    A token names one state as one attempt wrote it. So what an attempt left that failed is never taken for what is in the
    store, and neither is what was kept before another worker went on with the shard.

    Args:
        most: how large all of it may be; then the one that has not been used for longest is let go.
        let_go: what to do with a value that is not kept any more.
    """

    def __init__(self, most: int, on_evict: Callable[[V], object] = lambda _: None) -> None:
        self._most = most
        self._on_evict = on_evict
        self._size = 0
        self._held: OrderedDict[tuple[str, int], tuple[int, V, int]] = OrderedDict()

    def put(self, query: str, shard: int, token: int, value: V, size: int = 1) -> None:
        """Keep a value that belongs to the state of this token."""
        self._drop((query, shard))
        self._held[query, shard] = (token, value, size)
        self._size += size
        while self._size > self._most:
            self._drop(next(iter(self._held)))

    def take(self, query: str, shard: int, token: int | None) -> V | None:
        """The value of exactly this state, which is not kept any more: who takes it may change it, and puts it back.

        One that belongs to another state is let go.
        """
        held = self._held.get((query, shard))
        if held is None or held[0] != token:
            self._drop((query, shard))
            return None
        del self._held[query, shard]
        self._size -= held[2]
        return held[1]

    def _drop(self, key: tuple[str, int]) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            self._size -= held[2]
            self._on_evict(held[1])
