"""The events of a running change of a store: finds the event of a change that the store drops."""

from __future__ import annotations

from collections.abc import Sequence

from siddhi._core.record.event import Layout
from siddhi._core.record.user_event import Event
from siddhi._core.table.store import event_of
from siddhi.stores.record_table import Parameters, Record

__all__ = ["RunningChange"]


class RunningChange:
    """The events of one change; the store identifies them by their parameters.

    Args:
        parameters: parameters passed to the store.
        records: the values of each event.
        layout: names and types of the values.
    """

    def __init__(self, parameters: Sequence[Parameters], records: Sequence[Record], layout: Layout) -> None:
        self._parameters = parameters
        self._records = records
        self._layout = layout
        self._positions: dict[int, int] | None = None

    def event(self, parameters: Parameters) -> Event | None:
        """Return the event with these parameters, or None."""
        if self._positions is None:
            self._positions = {id(one): position for position, one in enumerate(self._parameters)}
        position = self._positions.get(id(parameters))
        return None if position is None else event_of(self._records[position], self._layout)
