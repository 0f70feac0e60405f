"""The stream processors ``extrema:topK`` and ``extrema:bottomK``: the most or least frequent values."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Any

from siddhi.event import Event
from siddhi.extension.processors import ProcessorContext

__all__ = ["BottomK", "BottomKLengthBatch", "BottomKTimeBatch", "TopK", "TopKLengthBatch", "TopKTimeBatch"]


class _Ranked:
    """Counts of values, kept in order: the first k are the result. Of equally frequent values the one seen first is first."""

    sign = -1  # the greatest count is first

    def __init__(self, context: ProcessorContext) -> None:
        self._context = context
        self.k = int(context.arguments[-1])
        self.clear()
        self.shown: tuple[Any, ...] = ()

    def clear(self) -> None:
        """Remove all values."""
        self.order: list[tuple[int, int]] = []  # signed count, number of the value
        self.numbers: dict[Any, int] = {}
        self.values: dict[int, Any] = {}
        self.counts: dict[int, int] = {}
        self.seen = 0

    def snapshot(self) -> tuple[Any, ...]:
        return [(self.values[number], number, self.counts[number]) for _, number in self.order], self.seen, self.shown

    def restore(self, state: Sequence[Any]) -> None:
        self.clear()
        for value, number, count in state[0]:
            self.numbers[value], self.values[number], self.counts[number] = number, value, count
            self.order.append((self.sign * count, number))
        self.seen, self.shown = state[1], tuple(state[2])

    def count(self, value: Any, step: int) -> None:
        """Add 1 or -1 to the count of a value."""
        number = self.numbers.get(value)
        if number is None:
            if step < 0:
                return
            self.seen += 1
            number = self.numbers[value] = self.seen
            self.values[number], self.counts[number] = value, 0
        else:
            del self.order[bisect_left(self.order, (self.sign * self.counts[number], number))]
        self.counts[number] += step
        if self.counts[number]:
            insort(self.order, (self.sign * self.counts[number], number))
        else:
            del self.numbers[value], self.values[number], self.counts[number]

    def result(self) -> tuple[Any, ...]:
        """Return value and count of the first k, with nulls where there are fewer."""
        found: list[Any] = []
        for _, number in self.order[: self.k]:
            found += self.values[number], self.counts[number]
        return (*found, *[None] * (2 * self.k - len(found)))


class TopK(_Ranked):
    """Emits the k most frequent values when they or their counts change."""

    def process(self, event: Event, value: Any, _k: int) -> Event | None:
        if value is None:
            return None
        self.count(value, -1 if event.is_expired else 1)
        now = self.result()
        if now == self.shown:
            return None
        self.shown = now
        return Event(event.timestamp, (*event.data, *now), event.is_expired)


class BottomK(TopK):
    """Emits the k least frequent values when they or their counts change."""

    sign = 1


class TopKLengthBatch(_Ranked):
    """Emits the k most frequent values of each n events, with the last of them."""

    def __init__(self, context: ProcessorContext) -> None:
        super().__init__(context)
        self.arrived = 0

    def snapshot(self) -> tuple[Any, ...]:
        return super().snapshot(), self.arrived

    def restore(self, state: Sequence[Any]) -> None:
        super().restore(state[0])
        self.arrived = state[1]

    def process(self, event: Event, value: Any, length: int, _k: int) -> Event | None:
        if event.is_expired:
            return None
        if value is not None:
            self.count(value, 1)
        self.arrived += 1
        if self.arrived < length:
            return None
        found = Event(event.timestamp, (*event.data, *self.result()))
        self.arrived = 0
        self.clear()
        return found


class BottomKLengthBatch(TopKLengthBatch):
    """Emits the k least frequent values of each n events, with the last of them."""

    sign = 1


class TopKTimeBatch(_Ranked):
    """Emits the k most frequent values of each interval, with its last event."""

    def __init__(self, context: ProcessorContext) -> None:
        super().__init__(context)
        self.end: int | None = None
        self.last: Event | None = None

    def snapshot(self) -> tuple[Any, ...]:
        return super().snapshot(), self.end, self.last

    def restore(self, state: Sequence[Any]) -> None:
        super().restore(state[0])
        self.end, self.last = state[1:]

    def process(self, event: Event, value: Any, duration: int, _k: int) -> None:
        if event.is_expired:
            return
        if self.end is None:
            self.end = self._context.now + duration
            self._context.schedule(self.end)
        self.last = event
        if value is not None:
            self.count(value, 1)

    def on_timer(self, time: int) -> Event | None:
        if self.end is None or time < self.end:
            return None
        self.end += int(self._context.arguments[1])
        self._context.schedule(self.end)
        last, self.last = self.last, None
        if last is None:
            return None
        found = Event(time, (*last.data, *self.result()))
        self.clear()
        return found


class BottomKTimeBatch(TopKTimeBatch):
    """Emits the k least frequent values of each interval, with its last event."""

    sign = 1
