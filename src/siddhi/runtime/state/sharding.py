"""An app that is spread over several engines, as seen from one of them: which part of it is its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from siddhi._core.expression.function import seed_uuids

if TYPE_CHECKING:
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.state.snapshot import SnapshotService

__all__ = ["AppSharding"]


class AppSharding:
    """What one who deals the keys of an app out to several engines says to each of them; see
    :attr:`siddhi.SiddhiAppRuntime.sharding`.

    Args:
        current: the app's operators and state; others after each start.
    """

    def __init__(self, current: Callable[[], tuple[Assembly, SnapshotService]]) -> None:
        self._current = current
        self._left_out: list[str] = []

    def leave_out(self, element: str) -> None:
        """Let an element, as ``table 'T'``, be no part of snapshots: its state comes from elsewhere at every start."""
        self._left_out.append(element)
        _, state = self._current()
        state.leave_out(element)

    def begin(self, state: SnapshotService) -> None:
        """Say of the state of a new start what was said of the one before."""
        for element in self._left_out:
            state.leave_out(element)

    def retain_keys(self, partition: str, wanted: Callable[[object], bool]) -> int:
        """Forget the keys of a partition that are not wanted; a key is a tuple. How many are left.

        Raises:
            KeyError: there is no such partition.
        """
        assembly, _ = self._current()
        with assembly.context.lock:
            return assembly.partitions[partition].keys.retain(wanted)

    def look_for_ranges(self, wanted: Callable[[str], bool]) -> None:
        """Let partitions by ranges process events under no other labels than the wanted ones; until the app is shut down."""
        assembly, _ = self._current()
        with assembly.context.lock:
            for partition in assembly.partitions.values():
                partition.look_for(wanted)

    def shown(self, element: str) -> dict[str, list[object]]:
        """What an element holds, by step, for a person to look at; its name is that in snapshots, as ``query 'q'``."""
        _, state = self._current()
        return state.shown(element)

    @staticmethod
    def seed_uuids(seed: bytes) -> None:
        """Let the UUIDs of this process follow from a seed."""
        seed_uuids(seed)
