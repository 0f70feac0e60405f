"""Size of the state of an app, measured as the size of its snapshot."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from siddhi._core.snapshot.format import SnapshotWriter

if TYPE_CHECKING:
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.state.snapshot import Stateful

__all__ = ["StateSizes"]

_QUICK = 0.01  # seconds: a state that can be measured in this time is measured at every read
_SHARE = 100  # else measuring takes at most 1 / _SHARE of the app's time


class StateSizes:
    """Bytes of state by kind and name.

    Measuring blocks events. A large state is therefore measured only so often that it takes a hundredth of the time; reads
    in between return the sizes measured last.

    Args:
        assembly: the app's operators.
        clock: returns seconds, to time the measuring.
    """

    def __init__(self, assembly: Assembly, clock: Callable[[], float] = time.monotonic) -> None:
        self._assembly = assembly
        self._clock = clock
        self._sizes: Mapping[tuple[str, str], int] = MappingProxyType({})
        self._fresh_until = clock()

    def read(self) -> Mapping[tuple[str, str], int]:
        """Return the sizes; the caller holds the app's lock. State that can't be serialized is left out."""
        begun = self._clock()
        if begun < self._fresh_until:
            return self._sizes
        self._sizes = MappingProxyType(self._measured())
        ended = self._clock()
        took = ended - begun
        self._fresh_until = ended + _SHARE * took if took > _QUICK else ended
        return self._sizes

    def _measured(self) -> dict[tuple[str, str], int]:
        sizes: dict[tuple[str, str], int] = {}
        unknown: set[tuple[str, str]] = set()
        for owner, step in self._assembly.owned_steps():
            size = _size(step)
            if size is None:
                unknown.add(owner)
            else:
                sizes[owner] = sizes.get(owner, 0) + size
        return {owner: size for owner, size in sizes.items() if owner not in unknown}


def _size(step: Stateful) -> int | None:
    """Return the bytes of a step's state, or None if it can't be serialized."""
    writer = SnapshotWriter()
    try:
        step.save(writer)
    except (TypeError, ValueError, OverflowError):
        return None
    return len(writer.getvalue())
