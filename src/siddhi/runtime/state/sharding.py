"""Interface for apps distributed over several engines: selects the part of one engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from siddhi._core.expression.function import seed_uuids

if TYPE_CHECKING:
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.state.snapshot import SnapshotService

__all__ = ["AppSharding"]


class AppSharding:
    """Configures which keys and elements of an app one of several engines processes; see
    :attr:`siddhi.SiddhiAppRuntime.sharding`.

    Args:
        current: returns the app's operators and state, which change with each start.
    """

    def __init__(self, current: Callable[[], tuple[Assembly, SnapshotService]]) -> None:
        self._current = current
        self._left_out: list[str] = []

    def leave_out(self, element: str) -> None:
        """Exclude an element, such as ``table 'T'``, from snapshots: its state comes from elsewhere at every start."""
        self._left_out.append(element)
        _, state = self._current()
        state.leave_out(element)

    def begin(self, state: SnapshotService) -> None:
        """Apply the exclusions to the state of a new start."""
        for element in self._left_out:
            state.leave_out(element)

    def retain_keys(self, partition: str, wanted: Callable[[object], bool]) -> int:
        """Remove the unwanted keys of a partition and return how many remain; a key is a tuple.

        Raises:
            KeyError: there is no such partition.
        """
        assembly, _ = self._current()
        with assembly.context.lock:
            return assembly.partitions[partition].keys.retain(wanted)

    def look_for_ranges(self, wanted: Callable[[str], bool]) -> None:
        """Restrict range partitions to events of the wanted labels until the app is shut down."""
        assembly, _ = self._current()
        with assembly.context.lock:
            for partition in assembly.partitions.values():
                partition.look_for(wanted)

    def shown(self, element: str) -> dict[str, list[object]]:
        """Return the state of an element by step, for display; its name is that in snapshots, such as ``query 'q'``."""
        _, state = self._current()
        return state.shown(element)

    @staticmethod
    def seed_uuids(seed: bytes) -> None:
        """Seed the UUIDs of this process."""
        seed_uuids(seed)
