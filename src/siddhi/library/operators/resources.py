"""The window ``env:resourceBatch`` and the stream processor ``env:resourceIdentifier``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from siddhi.event import Event
from siddhi.extension.processors import RESET, ProcessorContext, Reset

__all__ = ["ResourceBatch", "ResourceIdentifier"]

Item = Event | Reset


class ResourceIdentifier:
    """Passes events on; the planner counts its uses."""

    def __init__(self, _context: ProcessorContext) -> None:
        pass

    def snapshot(self) -> None:
        """Return no state."""

    def restore(self, _state: None) -> None:
        pass

    def process(self, event: Event, _group: str) -> Event:
        return event


class ResourceBatch:
    """Emits the events of a correlation id when there is one of each resource, or when the time since the first is over."""

    counts_resources = True  # the planner adds the number of resources to the arguments

    def __init__(self, context: ProcessorContext) -> None:
        self._context = context
        self._duration, self._resources = context.arguments[2:]
        self.waiting: dict[Any, tuple[int, list[Event]]] = {}  # end and events by correlation id, oldest first
        self.last: list[Event] = []

    def snapshot(self) -> tuple[Any, ...]:
        return [(key, end, events) for key, (end, events) in self.waiting.items()], self.last

    def restore(self, state: tuple[Any, ...]) -> None:
        self.waiting = {key: (end, list(events)) for key, end, events in state[0]}
        self.last = list(state[1])

    def events(self) -> list[Event]:
        return self.last

    def process(self, event: Event, _group: str, key: Any, _duration: int, _resources: int) -> list[Item] | None:
        found = self.waiting.get(key)
        if found is None:
            found = self.waiting[key] = self._context.now + self._duration, []
            self._context.schedule(found[0])
        found[1].append(event)
        if len(found[1]) < self._resources:
            return None
        del self.waiting[key]
        return list(self.flush(found[1], self._context.now))

    def flush(self, events: list[Event], time: int) -> Iterator[Item]:
        """Emit a batch; the one before expires."""
        for event in self.last:
            yield Event(time, event.data, True)
        yield RESET
        self.last = events
        yield from events

    def on_timer(self, time: int) -> list[Item]:
        result: list[Item] = []
        for key, (end, events) in list(self.waiting.items()):
            if end > time:
                break
            del self.waiting[key]
            result += self.flush(events, time)
        return result
