"""How much an app holds, measured by what a snapshot of it would take."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from siddhi._core.snapshot.format import SnapshotWriter

if TYPE_CHECKING:
    from siddhi._core.runtime.operator import Processor
    from siddhi.runtime.assembly.app import Assembly

__all__ = ["StateSizes"]

_QUICK = 0.01  # seconds: what is measured as fast as that is measured whenever it is asked for
_SHARE = 100  # else one part in so many of the app's time


class StateSizes:
    """Bytes of state by kind and name.

    Measuring keeps events away, so that a large state is measured no more often than to take a hundredth of the time; in
    between the sizes are those of the last time.

    Args:
        assembly: the app's operators.
        clock: seconds, for how long measuring takes.
    """

    def __init__(self, assembly: Assembly, clock: Callable[[], float] = time.monotonic) -> None:
        self._assembly = assembly
        self._clock = clock
        self._sizes: Mapping[tuple[str, str], int] = MappingProxyType({})
        self._fresh_until = clock()

    def read(self) -> Mapping[tuple[str, str], int]:
        """The sizes; the app's lock is held. What holds objects that are not data is left out."""
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


def _size(step: Processor) -> int | None:
    """Bytes of a step's state; None where it holds what no snapshot can."""
    writer = SnapshotWriter()
    try:
        step.save(writer)
    except (TypeError, ValueError, OverflowError):
        return None
    return len(writer.getvalue())
