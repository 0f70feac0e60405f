"""Input of apps under test: events without a time happen at the time of the app's clock."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import TYPE_CHECKING, Any

import numpy as np

from siddhi import Event, EventBatch

if TYPE_CHECKING:
    from siddhi._core.record.user_event import _Row, _Time
    from siddhi._core.stream.input import InputHandler
    from siddhi.runtime.app import SiddhiAppRuntime
    from siddhi.runtime.assembly.async_stream import AsyncInputHandler

__all__ = ["InputUnderTest"]


class InputUnderTest:
    """An input handler that gives events without a time the time of the app's clock, which :meth:`AppUnderTest.advance` moves.

    Args:
        app: the app.
        handler: its input handler; everything else is done by it.
    """

    def __init__(self, app: SiddhiAppRuntime, handler: InputHandler | AsyncInputHandler) -> None:
        self._app = app
        self._handler = handler

    @property
    def stream(self) -> str:
        """Name of the stream."""
        return self._handler.stream

    def send(self, row: _Row | Event, timestamp: _Time | None = None) -> None:
        """Send one event; see :meth:`InputHandler.send`."""
        self._handler.send(row, self._time_of(row, timestamp))

    async def send_async(self, row: _Row | Event, timestamp: _Time | None = None) -> None:
        """Send one event as :meth:`send` does, without blocking the event loop."""
        await self._handler.send_async(row, self._time_of(row, timestamp))

    def send_batch(self, data: object, timestamp: object = None) -> None:
        """Send the rows of a table; see :meth:`InputHandler.send_batch`."""
        self._handler.send_batch(data, self._times_of(data, timestamp))

    async def send_batch_async(self, data: object, timestamp: object = None) -> None:
        """Send the rows of a table as :meth:`send_batch` does, without blocking the event loop."""
        await self._handler.send_batch_async(data, self._times_of(data, timestamp))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handler, name)

    def __repr__(self) -> str:
        return f"InputUnderTest({self.stream!r})"

    def _time_of(self, row: object, timestamp: _Time | None) -> _Time | None:
        self._begin()
        return self._app.now if timestamp is None and self._is_timeless(row) else timestamp

    def _times_of(self, data: object, timestamp: object) -> object:
        self._begin()
        if timestamp is not None or isinstance(data, EventBatch) or not self._is_timeless(data):
            return timestamp
        if isinstance(data, Mapping):
            data = next(iter(data.values()), None)
        if not isinstance(data, Sized):  # read bit by bit: it has the times of the system's clock
            return None
        return np.full(len(data), self._app.now, np.int64)

    def _begin(self) -> None:
        """Let what counts from the beginning of time, such as the output rate of a new key, do so at the time 0, too."""
        if self._app.now == 0 and self._app.is_running and self._app.next_due == 0:
            self._app.advance_clock(0)

    def _is_timeless(self, row: object) -> bool:
        """Return whether the handler would take the system's clock: not for an event, nor where the app is not in playback."""
        return not isinstance(row, Event) and self._app.is_in_playback
