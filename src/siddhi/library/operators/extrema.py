"""The windows of the namespace ``extrema``: the event with the greatest or least value of an attribute."""

from __future__ import annotations

from typing import Any

from siddhi.event import Event
from siddhi.extension.processors import RESET, ProcessorContext, Reset

__all__ = [
    "MaxByLength",
    "MaxByLengthBatch",
    "MaxByTime",
    "MaxByTimeBatch",
    "MinByLength",
    "MinByLengthBatch",
    "MinByTime",
    "MinByTimeBatch",
]

Candidate = tuple[Any, int, Event]  # value, time or number of arrival, event


class _Sliding:
    """Emits the extreme event when it changes; the one before expires. Of equal values the earlier event counts.

    Only events that can still become extreme are kept: each is more extreme than those after it.
    """

    sign = 1

    def __init__(self, context: ProcessorContext) -> None:
        self._context = context
        self.candidates: list[Candidate] = []
        self.extreme: Event | None = None
        self.arrived = 0

    def snapshot(self) -> tuple[Any, ...]:
        return self.candidates, self.extreme, self.arrived

    def restore(self, state: tuple[Any, ...]) -> None:
        self.candidates = [(value, place, event) for value, place, event in state[0]]
        self.extreme, self.arrived = state[1], state[2]

    def events(self) -> list[Event]:
        return [] if self.extreme is None else [self.extreme]

    def beats(self, one: Any, other: Any) -> bool:
        return bool(one > other if self.sign > 0 else one < other)

    def add(self, event: Event, value: Any, place: int) -> None:
        if value is None:
            return
        while self.candidates and self.beats(value, self.candidates[-1][0]):
            self.candidates.pop()
        self.candidates.append((value, place, event))

    def drop(self, first: int) -> None:
        """Remove the candidates before a place."""
        while self.candidates and self.candidates[0][1] < first:
            self.candidates.pop(0)

    def changed(self) -> list[Event]:
        """Return what is emitted now: nothing while the extreme event stays the same."""
        now = self.candidates[0][2] if self.candidates else None
        if now is self.extreme or now == self.extreme:
            return []
        result = []
        if self.extreme is not None:
            result.append(Event(self._context.now, self.extreme.data, True))
        self.extreme = now
        if now is not None:
            result.append(now)
        return result


class MaxByLength(_Sliding):
    """The event with the greatest value of the last n."""

    def process(self, event: Event, value: Any, length: int) -> list[Event]:
        self.arrived += 1
        self.drop(self.arrived - length + 1)
        self.add(event, value, self.arrived)
        return self.changed()


class MinByLength(MaxByLength):
    """The event with the least value of the last n."""

    sign = -1


class MaxByTime(_Sliding):
    """The event with the greatest value of a time."""

    def process(self, event: Event, value: Any, duration: int) -> list[Event]:
        now = self._context.now
        self.drop(now - duration + 1)
        self.add(event, value, now)
        self._context.schedule(now + duration)
        return self.changed()

    def on_timer(self, time: int) -> list[Event]:
        self.drop(time - int(self._context.arguments[1]) + 1)
        return self.changed()


class MinByTime(MaxByTime):
    """The event with the least value of a time."""

    sign = -1


class _Batch:
    """Emits the extreme event of each batch; the one of the batch before expires."""

    sign = 1

    def __init__(self, context: ProcessorContext) -> None:
        self._context = context
        self.best: tuple[Any, Event] | None = None
        self.last: Event | None = None
        self.arrived = 0
        self.end: int | None = None

    def snapshot(self) -> tuple[Any, ...]:
        return self.best, self.last, self.arrived, self.end

    def restore(self, state: tuple[Any, ...]) -> None:
        self.best, self.last, self.arrived, self.end = state

    def events(self) -> list[Event]:
        return [] if self.last is None else [self.last]

    def add(self, event: Event, value: Any) -> None:
        if value is None:
            return
        if self.best is None or (value > self.best[0] if self.sign > 0 else value < self.best[0]):
            self.best = value, event

    def flush(self) -> list[Event | Reset]:
        result: list[Event | Reset] = []
        if self.last is not None:
            result.append(Event(self._context.now, self.last.data, True))
        if self.best is not None or self.last is not None:
            result.append(RESET)
        self.last = None if self.best is None else self.best[1]
        if self.last is not None:
            result.append(self.last)
        self.best = None
        return result


class MaxByLengthBatch(_Batch):
    """The event with the greatest value of each n events."""

    def process(self, event: Event, value: Any, length: int) -> list[Event | Reset] | None:
        self.add(event, value)
        self.arrived += 1
        if self.arrived < length:
            return None
        self.arrived = 0
        return self.flush()


class MinByLengthBatch(MaxByLengthBatch):
    """The event with the least value of each n events."""

    sign = -1


class MaxByTimeBatch(_Batch):
    """The event with the greatest value of each interval."""

    def process(self, event: Event, value: Any, duration: int) -> None:
        if self.end is None:
            self.end = self._context.now + duration
            self._context.schedule(self.end)
        self.add(event, value)

    def on_timer(self, time: int) -> list[Event | Reset] | None:
        if self.end is None or time < self.end:
            return None
        self.end += int(self._context.arguments[1])
        self._context.schedule(self.end)
        return self.flush()


class MinByTimeBatch(MaxByTimeBatch):
    """The event with the least value of each interval."""

    sign = -1
