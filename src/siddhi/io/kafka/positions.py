"""Positions of a consumer: the next offset of each partition, and the last sequence number of each sender."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["Partition", "Position", "Positions"]

Partition = tuple[str, int]
Position = tuple[Any, ...]
"""Of one message: topic, partition, the offset after it, and with a sequence header its sender and number."""


class Positions:
    """Progress in the partitions that the consumers of a source have. Used by several threads.

    An offset is the next one to process; it is negative for librdkafka's logical offsets, such as the beginning.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._offsets: dict[Partition, int] = {}
        self._numbers: dict[tuple[str, int, str], int] = {}
        self._seen: dict[tuple[str, int, str], int] = {}

    def get(self, partition: Partition) -> int | None:
        """Return the next offset of a partition; None: it has none yet."""
        with self._guard:
            return self._offsets.get(partition)

    def offsets(self) -> dict[Partition, int]:
        """Return the next offset of each partition."""
        with self._guard:
            return dict(self._offsets)

    def begin(self, partition: Partition, offset: int) -> None:
        """Note where a partition is read from, unless it has an offset."""
        with self._guard:
            self._offsets.setdefault(partition, offset)

    def end(self, partition: Partition) -> None:
        """Forget a partition, which belongs to another consumer now."""
        with self._guard:
            self._offsets.pop(partition, None)
            for numbers in (self._numbers, self._seen):
                for key in [key for key in numbers if key[:2] == partition]:
                    del numbers[key]

    def advance(self, position: Position) -> None:
        """Note that a message was processed; without effect on a partition that was taken away meanwhile."""
        partition, offset = (position[0], position[1]), position[2]
        with self._guard:
            known = self._offsets.get(partition)
            if known is None or known >= offset:
                return
            self._offsets[partition] = offset
            if len(position) > 3:
                self._numbers[(partition[0], partition[1], position[3])] = position[4]

    def is_repeated(self, partition: Partition, sender: str, number: int) -> bool:
        """Return whether a message with this number, or a later one, was received before; note that it was received."""
        key = (partition[0], partition[1], sender)
        with self._guard:
            last = self._seen.get(key)
            if last is not None and number <= last:
                return True
            self._seen[key] = number
            return False

    def receive_again(self) -> None:
        """Forget what was received but not processed: it will be received again."""
        with self._guard:
            self._seen = dict(self._numbers)

    def snapshot(self) -> object:
        """Return the state for snapshots."""
        with self._guard:
            return {
                "offsets": [[*partition, offset] for partition, offset in self._offsets.items()],
                "sequences": [[*key, number] for key, number in self._numbers.items()],
            }

    def restore(self, state: Any) -> None:
        """Set the state to one of :meth:`snapshot`."""
        with self._guard:
            self._offsets = {(topic, number): offset for topic, number, offset in state["offsets"]}
            self._numbers = {(topic, number, sender): last for topic, number, sender, last in state["sequences"]}
            self._seen = dict(self._numbers)
