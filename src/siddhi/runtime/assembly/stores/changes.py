"""What a store is being asked to change, for the case that it drops some of it."""

from __future__ import annotations

from collections.abc import Sequence

from siddhi._core.record.event import Layout
from siddhi._core.record.user_event import Event
from siddhi._core.table.store import event_of
from siddhi.stores.record_table import Parameters, Record

__all__ = ["ChangesAtWork"]


class ChangesAtWork:
    """The events of one change, which a store knows by their parameters alone.

    Args:
        parameters: given to the store.
        records: the values of each event.
        layout: names and types of those.
    """

    def __init__(self, parameters: Sequence[Parameters], records: Sequence[Record], layout: Layout) -> None:
        self._parameters = parameters
        self._records = records
        self._layout = layout
        self._positions: dict[int, int] | None = None

    def event(self, parameters: Parameters) -> Event | None:
        """The event whose parameters these are; None: they are of none."""
        if self._positions is None:
            self._positions = {id(one): position for position, one in enumerate(self._parameters)}
        position = self._positions.get(id(parameters))
        return None if position is None else event_of(self._records[position], self._layout)
