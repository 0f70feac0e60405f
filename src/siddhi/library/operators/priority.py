"""The stream processor ``priority:time``."""

from __future__ import annotations

from typing import Any

from siddhi.event import Event
from siddhi.extension.processors import ProcessorContext

__all__ = ["PriorityByTime"]


class PriorityByTime:
    """Keeps a priority of each key: events add to it, and it falls by 1 after each period without an event of the key.

    The latest event of the key is emitted at each change; a key whose priority is 0 is forgotten.
    """

    def __init__(self, context: ProcessorContext) -> None:
        self._context = context
        self._period = int(context.arguments[2])
        self.kept: dict[
            Any, tuple[int, int, Event]
        ] = {}  # priority, when it falls, latest event; the next to fall first

    def snapshot(self) -> list[tuple[Any, int, int, Event]]:
        return [(key, *found) for key, found in self.kept.items()]

    def restore(self, state: list[tuple[Any, int, int, Event]]) -> None:
        self.kept = {key: (priority, due, event) for key, priority, due, event in state}

    def process(self, event: Event, key: Any, priority: int | None, _period: int) -> Event | None:
        if event.is_expired:
            return None
        if priority is None:
            raise ValueError("priority:time() got null as priority")
        before, _, _ = self.kept.pop(key, (0, 0, event))
        due = self._context.now + self._period
        total = max(0, before + priority)
        if total:
            self.kept[key] = total, due, event
            self._context.schedule(due)
        return Event(event.timestamp, (*event.data, key, total))

    def on_timer(self, time: int) -> list[Event]:
        result: list[Event] = []
        for key, (priority, due, event) in list(self.kept.items()):
            if due > time:
                break
            del self.kept[key]
            if priority > 1:
                self.kept[key] = priority - 1, time + self._period, event
                self._context.schedule(time + self._period)
            result.append(Event(time, (*event.data, key, priority - 1)))
        return result
