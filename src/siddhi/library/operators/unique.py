"""The windows of the namespace ``unique``, which keep one event of each key, and ``unique:deduplicate``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from siddhi.event import Event
from siddhi.extension.processors import RESET, ProcessorContext, Reset

__all__ = [
    "Deduplicate",
    "UniqueEver",
    "UniqueExternalTimeBatch",
    "UniqueFirst",
    "UniqueFirstLengthBatch",
    "UniqueFirstTimeBatch",
    "UniqueLength",
    "UniqueLengthBatch",
    "UniqueTime",
    "UniqueTimeBatch",
    "UniqueTimeLengthBatch",
]

Item = Event | Reset


def _expired(event: Event, time: int) -> Event:
    return Event(time, event.data, True)


class Deduplicate:
    """Passes an event if its key was not passed within the interval before."""

    def __init__(self, context: ProcessorContext) -> None:
        self._context = context
        self.passed: dict[Any, int] = {}  # time by key, oldest first

    def snapshot(self) -> dict[Any, int]:
        return self.passed

    def restore(self, state: dict[Any, int]) -> None:
        self.passed = dict(state)

    def process(self, event: Event, key: Any, interval: int) -> Event | None:
        now = self._context.now
        while self.passed:
            oldest = next(iter(self.passed))
            if now - self.passed[oldest] < interval:
                break
            del self.passed[oldest]
        if key in self.passed:
            return None
        self.passed[key] = now
        return event


class _Kept:
    """A window of current events by key; a newer event of a key replaces the older one, which expires."""

    def __init__(self, context: ProcessorContext) -> None:
        self._context = context
        self.kept: dict[Any, Event] = {}

    def snapshot(self) -> list[tuple[Any, Event]]:
        return list(self.kept.items())

    def restore(self, state: list[tuple[Any, Event]]) -> None:
        self.kept = dict(state)

    def events(self) -> list[Event]:
        return list(self.kept.values())

    def replace(self, key: Any, event: Event) -> Iterator[Event]:
        """Yield what expires, and the event."""
        older = self.kept.pop(key, None)
        if older is not None:
            yield _expired(older, self._context.now)
        self.kept[key] = event
        yield event


class UniqueEver(_Kept):
    """Keeps the latest event of each key."""

    compiled = "ever"  # the form of the compiled core

    def process(self, event: Event, *key: Any) -> Iterator[Event]:
        yield from self.replace(key, event)


class UniqueFirst(_Kept):
    """Keeps the first event of each key; later ones are dropped."""

    compiled = "first"

    def process(self, event: Event, *key: Any) -> Event | None:
        if key in self.kept:
            return None
        self.kept[key] = event
        return event


class UniqueLength(_Kept):
    """Keeps the latest event of each of the last n keys."""

    compiled = "length"

    def process(self, event: Event, key: Any, length: int) -> Iterator[Event]:
        if key not in self.kept and len(self.kept) >= length:
            oldest = next(iter(self.kept))
            yield _expired(self.kept.pop(oldest), self._context.now)
        yield from self.replace(key, event)


class UniqueTime(_Kept):
    """Keeps the latest event of each key for a time."""

    compiled = "time"

    def __init__(self, context: ProcessorContext) -> None:
        super().__init__(context)
        self._duration: int = context.arguments[1]

    def process(self, event: Event, key: Any, _time: int) -> Iterator[Event]:
        yield from self.replace(key, Event(self._context.now, event.data))
        self._context.schedule(self._context.now + self._duration)

    def on_timer(self, time: int) -> Iterator[Event]:
        for key, event in list(self.kept.items()):
            if event.timestamp + self._duration > time:
                break
            del self.kept[key]
            yield _expired(event, time)


class _Batch:
    """A tumbling window of one event by key: at its end the events of the last batch expire and those of this one are emitted."""

    first_wins = False

    def __init__(self, context: ProcessorContext) -> None:
        self._context = context
        self.kept: dict[Any, Event] = {}
        self.last: list[Event] = []
        self.end: int | None = None

    def snapshot(self) -> tuple[list[tuple[Any, Event]], list[Event], int | None]:
        return list(self.kept.items()), self.last, self.end

    def restore(self, state: tuple[list[tuple[Any, Event]], list[Event], int | None]) -> None:
        self.kept, self.last, self.end = dict(state[0]), list(state[1]), state[2]

    def events(self) -> list[Event]:
        return list(self.kept.values())

    def put(self, key: Any, event: Event) -> None:
        if not (self.first_wins and key in self.kept):
            self.kept.pop(key, None)
            self.kept[key] = event

    def flush(self, time: int) -> Iterator[Item]:
        """End the batch."""
        if not self.kept and not self.last:
            return
        for event in self.last:
            yield _expired(event, time)
        yield RESET
        self.last = list(self.kept.values())
        self.kept = {}
        yield from self.last


class UniqueLengthBatch(_Batch):
    """Emits the latest event of each key when there are n keys."""

    def process(self, event: Event, key: Any, length: int) -> list[Item] | None:
        self.put(key, event)
        return list(self.flush(self._context.now)) if len(self.kept) >= length else None


class UniqueFirstLengthBatch(UniqueLengthBatch):
    """Emits the first event of each key when there are n keys."""

    first_wins = True


class UniqueTimeBatch(_Batch):
    """Emits the latest event of each key at the end of each interval."""

    def begin(self, start: Any) -> None:
        """Determine the end of the first batch."""
        if self.end is None:
            now, duration = self._context.now, self._context.arguments[1]
            passed = 0 if start is None else (now - start) % duration
            self.end = now - passed + duration
            self._context.schedule(self.end)

    def process(self, event: Event, key: Any, _time: int, start: Any = None) -> list[Item] | None:
        self.begin(start)
        self.put(key, event)
        return None

    def on_timer(self, time: int) -> list[Item]:
        if self.end is None or time < self.end:
            return []
        self.end += self._context.arguments[1]
        self._context.schedule(self.end)
        return list(self.flush(time))


class UniqueFirstTimeBatch(UniqueTimeBatch):
    """Emits the first event of each key at the end of each interval."""

    first_wins = True


class UniqueTimeLengthBatch(UniqueTimeBatch):
    """Emits the latest event of each key at the end of an interval, or when there are n keys, which begins a new interval."""

    def process(self, event: Event, key: Any, _time: int, *rest: Any) -> list[Item] | None:
        self.begin(rest[0] if len(rest) == 2 else None)
        self.put(key, event)
        if len(self.kept) < rest[-1]:
            return None
        self.end = self._context.now + self._context.arguments[1]
        self._context.schedule(self.end)
        return list(self.flush(self._context.now))


class UniqueExternalTimeBatch(_Batch):
    """Emits the latest event of each key when a time attribute reaches the end of an interval, or after a timeout."""

    def __init__(self, context: ProcessorContext) -> None:
        super().__init__(context)
        self.due: int | None = None  # when the timeout ends the batch

    def process(
        self,
        event: Event,
        key: Any,
        time: int,
        duration: int,
        start: Any = None,
        timeout: int = 0,
        replaces_time: bool = False,
    ) -> list[Item] | None:
        if time is None:
            raise ValueError("unique:externalTimeBatch() got null as time")
        if self.end is None:
            origin = time if start is None else start
            self.end = origin + ((time - origin) // duration + 1) * duration
        result: list[Item] = []
        if time >= self.end:
            result = list(self.flush(self.end))
            self.end += ((time - self.end) // duration + 1) * duration
        self.put(key, self.at_end(event) if replaces_time else event)
        if timeout:
            self.due = self._context.now + timeout
            self._context.schedule(self.due)
        return result or None

    def at_end(self, event: Event) -> Event:
        """Return the event with the end of the batch as its time attribute."""
        name = self._context.argument_names[1]
        values = tuple(
            self.end if attribute == name else value
            for attribute, value in zip(self._context.attributes, event.data, strict=True)
        )
        return Event(event.timestamp, values)

    def on_timer(self, time: int) -> list[Item]:
        if self.due is None or time < self.due:
            return []
        self.due = None
        return list(self.flush(time))
