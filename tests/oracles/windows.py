"""Windows as the reference words them, without a thought for speed: the twins of the windows of the core.

A twin is fed chunks of (timestamp, value) with the clock as it stands then, and says what it lets out: chunks of
(kind, timestamp, value), where kind is "current", "expired" or "reset". ``due`` says when it wants to be woken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["TWINS", "Batch", "Item", "Out", "Twin"]

CURRENT, EXPIRED, RESET = "current", "expired", "reset"


@dataclass(frozen=True)
class Item:
    timestamp: int
    value: Any


@dataclass(frozen=True)
class Out:
    kind: str
    timestamp: int
    value: Any = None


Batch = list[Out]


class Twin:
    """A window; the subclasses say when events leave."""

    due: int | None = None

    def arrive(self, items: list[Item], now: int) -> list[Batch]:
        """What a chunk makes the window let out."""
        chunk: Batch = []
        for item in items:
            chunk += self.take(item, now)
        return [chunk]

    def take(self, item: Item, now: int) -> Batch:
        raise NotImplementedError

    def wake(self, now: int) -> list[Batch]:
        """What a timer at ``due`` makes it let out."""
        raise NotImplementedError


def expired(items: Iterable[Item], now: int) -> Batch:
    return [Out(EXPIRED, now, item.value) for item in items]


def current(items: Iterable[Item]) -> Batch:
    return [Out(CURRENT, item.timestamp, item.value) for item in items]


@dataclass
class Length(Twin):
    length: int
    held: list[Item] = field(default_factory=list)

    def take(self, item: Item, now: int) -> Batch:
        if self.length <= 0:
            return [*current([item]), *expired([item], now), Out(RESET, item.timestamp)]
        leaving, self.held = (
            self.held[: len(self.held) + 1 - self.length],
            self.held[len(self.held) + 1 - self.length :],
        )
        if len(self.held) + len(leaving) < self.length:
            leaving, self.held = [], leaving + self.held
        self.held.append(item)
        return [*expired(leaving, now), *current([item])]


@dataclass
class Time(Twin):
    duration: int
    held: list[Item] = field(default_factory=list)

    def leaving(self, now: int) -> Batch:
        out: Batch = []
        while self.held and self.held[0].timestamp + self.duration <= now:
            out += expired([self.held.pop(0)], now)
        return out

    def take(self, item: Item, now: int) -> Batch:
        out = [*self.leaving(now), *current([item])]
        self.held.append(item)
        return out

    @property
    def due(self) -> int | None:  # type: ignore[override]
        return self.held[0].timestamp + self.duration if self.held else None

    def wake(self, now: int) -> list[Batch]:
        return [self.leaving(now)]


@dataclass
class ExternalTime(Twin):
    """The value is the event's own time."""

    duration: int
    held: list[Item] = field(default_factory=list)

    def take(self, item: Item, now: int) -> Batch:
        out: Batch = []
        while self.held and self.held[0].value + self.duration <= item.value:
            out += expired([self.held.pop(0)], item.value)
        self.held.append(item)
        return [*out, *current([item])]


@dataclass
class LengthBatch(Twin):
    length: int
    collected: list[Item] = field(default_factory=list)
    released: list[Item] = field(default_factory=list)

    def arrive(self, items: list[Item], now: int) -> list[Batch]:
        if self.length <= 0:
            return Length(0).arrive(items, now)
        chunks = []
        for item in items:
            self.collected.append(item)
            if len(self.collected) == self.length:
                chunks.append([*expired(self.released, now), Out(RESET, now), *current(self.collected)])
                self.released, self.collected = self.collected, []
        return chunks


@dataclass
class LengthBatchStreaming(Twin):
    length: int
    held: list[Item] = field(default_factory=list)

    def arrive(self, items: list[Item], now: int) -> list[Batch]:
        chunks = []
        for item in items:
            chunk: Batch = []
            if len(self.held) == self.length:
                chunk = [*expired(self.held, now), Out(RESET, item.timestamp)]
                self.held = []
            self.held.append(item)
            chunks.append([*chunk, *current([item])])
        return chunks


@dataclass
class TimeBatch(Twin):
    duration: int
    start: int | None = None
    collected: list[Item] = field(default_factory=list)
    released: list[Item] = field(default_factory=list)
    due: int | None = None

    def note(self, item: Item, now: int) -> None:
        if self.due is None:
            late = 0 if self.start is None else (now - self.start) % self.duration
            self.due = now + self.duration - late
        self.collected.append(item)

    def arrive(self, items: list[Item], now: int) -> list[Batch]:
        for item in items:
            self.note(item, now)
        return []

    def wake(self, now: int) -> list[Batch]:
        assert self.due is not None
        self.due += self.duration
        chunk = expired(self.released, now)
        if self.collected:
            chunk += [Out(RESET, self.collected[0].timestamp), *current(self.collected)]
        self.released, self.collected = self.collected, []
        return [chunk]


@dataclass
class TimeBatchStreaming(TimeBatch):
    def arrive(self, items: list[Item], now: int) -> list[Batch]:
        for item in items:
            self.note(item, now)
        return [current(items)]

    def wake(self, now: int) -> list[Batch]:
        assert self.due is not None
        self.due += self.duration
        chunk = [*expired(self.collected, now), Out(RESET, self.collected[0].timestamp)] if self.collected else []
        self.collected = []
        return [chunk]


@dataclass
class Chunks(Twin):
    length: int = 0
    released: list[Item] = field(default_factory=list)
    reset: list[Out] = field(default_factory=list)

    def arrive(self, items: list[Item], now: int) -> list[Batch]:
        step = self.length if self.length > 0 else len(items)
        chunks: list[Batch] = []
        for at in range(0, len(items), step):
            chunks.append([*self.reset, *current(items[at : at + step])])
            self.reset = [Out(RESET, items[at].timestamp)]
        chunks[0] = [*expired(self.released, now), *chunks[0]]
        self.released = items
        return chunks


TWINS: dict[str, Any] = {
    "length(3)": lambda: Length(3),
    "length(1)": lambda: Length(1),
    "length(0)": lambda: Length(0),
    "time(300)": lambda: Time(300),
    "time(1 sec)": lambda: Time(1000),
    "externalTime(v, 300)": lambda: ExternalTime(300),
    "lengthBatch(1)": lambda: LengthBatch(1),
    "lengthBatch(3)": lambda: LengthBatch(3),
    "lengthBatch(0)": lambda: LengthBatch(0),
    "lengthBatch(2, true)": lambda: LengthBatchStreaming(2),
    "timeBatch(500)": lambda: TimeBatch(500),
    "timeBatch(700, 100)": lambda: TimeBatch(700, 100),
    "timeBatch(500, true)": lambda: TimeBatchStreaming(500),
    "timeBatch(600, 50, true)": lambda: TimeBatchStreaming(600, 50),
    "batch()": lambda: Chunks(),
    "batch(2)": lambda: Chunks(2),
}
