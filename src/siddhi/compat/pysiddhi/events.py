"""Events: those that callbacks get, and those that wait at a break point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

from siddhi.compat.pysiddhi.values import readers_of, row_for, unwrap

__all__ = ["ComplexEvent", "Event", "print_event"]


class Event:
    """An event with a timestamp (ms), a list of values and a mark whether it has expired.

    ``Event()``, ``Event(size)``, ``Event(dataSize=size)``, ``Event(timestamp, data)`` and ``Event(data=…, timeStamp=…)`` are
    the forms that PySiddhi has. Values of different types are not equal: ``3`` is not ``LongType(3)``.
    """

    def __init__(
        self,
        dataSizeOrTimeStamp: int | None = None,
        data: Sequence[object] | None = None,
        dataSize: int | None = None,
        timeStamp: int | None = None,
    ) -> None:
        size = dataSizeOrTimeStamp if data is None and dataSize is None else dataSize
        time = timeStamp if dataSizeOrTimeStamp is None else dataSizeOrTimeStamp
        given = (dataSizeOrTimeStamp is not None) + (timeStamp is not None)
        if (data is None and timeStamp is not None) or (data is not None and (given != 1 or dataSize is not None)):
            raise TypeError("an event takes a size, or a timestamp and data")
        self._id = -1
        self._timestamp = -1 if data is None or time is None else int(time)
        self._data: list[object] = list(data) if data is not None else [None] * int(size or 0)
        self._is_expired = False

    @classmethod
    def _of(cls, timestamp: int, data: list[object], is_expired: bool) -> Event:
        event = cls(timestamp, data)
        event._is_expired = is_expired
        return event

    def getId(self) -> int:
        """Return the number given by ``setId``, or -1."""
        return self._id

    def setId(self, value: int) -> None:
        """Give the event a number."""
        self._id = int(value)

    def getTimestamp(self) -> int:
        """Return the timestamp, ms since the epoch; -1 where there is none."""
        return self._timestamp

    def setTimestamp(self, value: int) -> None:
        """Set the timestamp, ms since the epoch."""
        self._timestamp = int(value)

    def getData(self, index: int | None = None) -> object:
        """Return the list of values, or the one at a position."""
        return list(self._data) if index is None else self._data[index]

    def setData(self, data: Sequence[object]) -> None:
        """Set the values."""
        self._data = list(data)

    def isExpired(self) -> bool:
        """Return whether the event has left a window."""
        return self._is_expired

    def setExpired(self, value: bool) -> None:
        """Set whether the event has left a window."""
        self._is_expired = bool(value)

    def copyFrom(self, event: Event | ComplexEvent) -> None:
        """Take over timestamp, values and mark of another event."""
        if isinstance(event, ComplexEvent):
            self._timestamp, self._data = event.getTimestamp(), event.getOutputData()
            self._is_expired = event.getType() is ComplexEvent.Type.EXPIRED
        else:
            self._timestamp, self._data, self._is_expired = event._timestamp, list(event._data), event._is_expired

    def _key(self) -> tuple[object, ...]:
        return (self._timestamp, self._is_expired, *((type(value), value) for value in self._data))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self._key() == other._key()

    def equals(self, other: object) -> bool:
        """Return whether timestamp, values, their types and the mark are equal."""
        return self == other

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        return f"Event{{timestamp={self._timestamp}, data={_shown(self._data)}, isExpired={_shown(self._is_expired)}}}"

    __repr__ = __str__


def _shown(value: object) -> str:
    """Return a value as Java writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return "null" if value is None else str(value)


def print_event(timestamp: int, inEvents: Sequence[Event] | None, outEvents: Sequence[Event] | None) -> None:
    """Print the arguments of a query callback; PySiddhi calls it ``PrintEvent``."""
    current = "null" if inEvents is None else f"[{', '.join(map(str, inEvents))}]"
    expired = "null" if outEvents is None else f"[{', '.join(map(str, outEvents))}]"
    print(f"Events{{ @timestamp = {timestamp}, inEvents = {current}, RemoveEvents = {expired} }}")  # noqa: T201 - its purpose


class ComplexEvent:
    """An event that waits at a break point: the first of its chunk; :meth:`getNext` gives the others.

    What ``setOutputData`` and ``setAttribute`` write goes on through the query. Made by the debugger alone.
    """

    class Type(Enum):
        """What kind of event it is. ``TIMER`` and ``RESET`` never wait at a break point."""

        CURRENT = "CURRENT"
        EXPIRED = "EXPIRED"
        TIMER = "TIMER"
        RESET = "RESET"

    def __init__(self) -> None:
        raise TypeError("events at break points are made by the debugger")

    _chunk: _Chunk
    _position: int

    @classmethod
    def _at(cls, chunk: _Chunk, position: int) -> ComplexEvent | None:
        if position >= len(chunk.rows):
            return None
        event = cls.__new__(cls)
        event._chunk, event._position = chunk, position
        return event

    def getNext(self) -> ComplexEvent | None:
        """Return the next event of the chunk, or None."""
        return ComplexEvent._at(self._chunk, self._position + 1)

    next = property(getNext)

    def getOutputData(self) -> list[object]:
        """Return the values."""
        return list(self._chunk.rows[self._position])

    def setOutputData(self, datum: object, index: int) -> None:
        """Let the event go on with another value at a position.

        Raises:
            EventError: the query is not stopped any more.
        """
        self._chunk.change(self._position, index, datum)

    def getTimestamp(self) -> int:
        """Return the timestamp, ms since the epoch."""
        return self._chunk.timestamps[self._position]

    timestamp = property(getTimestamp)

    def getAttribute(self, position: int) -> object:
        """Return the value at a position."""
        return self._chunk.rows[self._position][position]

    def setAttribute(self, value: object, position: int) -> None:
        """Let the event go on with another value at a position, as :meth:`setOutputData`."""
        self.setOutputData(value, position)

    def getType(self) -> ComplexEvent.Type:
        """Return whether the event is current or expired."""
        return ComplexEvent.Type.EXPIRED if self._chunk.expired[self._position] else ComplexEvent.Type.CURRENT

    type = property(getType)

    def __str__(self) -> str:
        return (
            f"StreamEvent{{ timestamp={self.getTimestamp()}, outputData={_shown(self.getOutputData())}, "
            f"type={self.getType().name}, next={self.getNext()}}}"
        )


class _Chunk:
    """The events that wait together at a break point.

    Args:
        rows, timestamps, expired: of the events.
        attributes: names and types of the values.
        replace: gives the engine the rows that go on.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[object]],
        timestamps: list[int],
        expired: list[bool],
        attributes: Sequence[tuple[str, str]],
        replace: Callable[[list[tuple[object, ...]]], None],
    ) -> None:
        readers = readers_of(attributes)
        self._types = [type_ for _, type_ in attributes]
        self.rows = [unwrap(readers, row) for row in rows]
        self.timestamps = timestamps
        self.expired = expired
        self._replace = replace

    def change(self, position: int, index: int, value: object) -> None:
        changed = [list(row) for row in self.rows]
        changed[position][index] = value
        self._replace([row_for(self._types, row) for row in changed])
        self.rows = changed
