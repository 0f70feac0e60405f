"""``update or insert`` of many events, for stores without a bulk operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from siddhi.stores.record_table import Parameters, Record, RecordTable

__all__ = ["UpdateOrAddSteps"]


class UpdateOrAddSteps:
    """Resumable ``update or insert``: after a failed call, :meth:`run` continues with the first event that is not done.

    Args:
        store: a store without ``update_or_add`` of its own.
        condition: as the store compiled it.
        values: parameters of each event.
        sets: as the store compiled them.
        records: the row of each event.
        reduce: returns the rows to add for the events at these positions.
    """

    def __init__(
        self,
        store: RecordTable,
        condition: Any,
        values: Sequence[Parameters],
        sets: Mapping[int, Any],
        records: Sequence[Record],
        reduce: Callable[[Iterable[int]], Sequence[Record]],
    ) -> None:
        self._store = store
        self._condition = condition
        self._values = values
        self._sets = sets
        self._records = records
        self._reduce = reduce
        self._next = 0  # earlier events have changed rows, or are missing
        self._missing: list[int] = []

    def run(self) -> None:
        """Process the remaining events. Each call of the store makes its whole change or none of it."""
        store, condition = self._store, self._condition
        while self._next < len(self._values):
            values = self._values[self._next]
            if store.contains(condition, values):
                store.update(condition, [values], self._sets)
            else:
                self._missing.append(self._next)
            self._next += 1
        if self._missing:
            several = len(self._missing) > 1
            store.add(self._reduce(self._missing) if several else [self._records[self._missing[0]]])
            self._missing.clear()

    def remaining(self) -> list[int]:
        """Return the positions of the events that are not done."""
        return [*self._missing, *range(self._next, len(self._values))]
