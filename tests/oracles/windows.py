"""Simple, slow models of the windows, written from the text of the reference.

A model gets chunks of (timestamp, value) and the time of the clock, and returns the chunks that the window emits:
(kind, timestamp, value), where kind is "current", "expired" or "reset". ``due`` is the time of its next timer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ATTRIBUTE_TWINS", "TWINS", "Batch", "Item", "Out", "Twin"]

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
    """Base of the models; the subclasses decide when events leave."""

    due: int | None = None

    def arrive(self, items: list[Item], now: int) -> list[Batch]:
        """Process a chunk, and return the output."""
        chunk: Batch = []
        for item in items:
            chunk += self.take(item, now)
        return [chunk]

    def take(self, item: Item, now: int) -> Batch:
        raise NotImplementedError

    def wake(self, now: int) -> list[Batch]:
        """Process the timer at ``due``, and return the output."""
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
    """``externalTime``; the value is the time attribute."""

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


# --- windows that look at attributes: twins over events (a, v)


@dataclass
class TimeLength(Twin):
    """``timeLength``; each event schedules a timer, and the timers run in the order in which they were scheduled."""

    duration: int
    length: int
    held: list[Item] = field(default_factory=list)
    timers: list[int] = field(default_factory=list)

    def leaving(self, now: int) -> Batch:
        out: Batch = []
        while self.held and self.held[0].timestamp + self.duration <= now:
            out += expired([self.held.pop(0)], now)
        return out

    def take(self, item: Item, now: int) -> Batch:
        out = self.leaving(now)
        if self.length > 0:
            if len(self.held) == self.length:
                out += expired([self.held.pop(0)], now)
            self.held.append(item)
        self.timers.append(item.timestamp + self.duration)
        return [*out, *current([item])]

    @property
    def due(self) -> int | None:  # type: ignore[override]
        return self.timers[0] if self.timers else None

    def wake(self, now: int) -> list[Batch]:
        self.timers.pop(0)
        return [self.leaving(now)]


@dataclass
class Sort(Twin):
    """``sort``; ``order`` returns the sort key."""

    length: int
    order: Callable[[Item], Any]
    held: list[Item] = field(default_factory=list)

    def take(self, item: Item, now: int) -> Batch:
        self.held = sorted([*self.held, item], key=self.order)
        leaving, self.held = self.held[self.length :], self.held[: self.length]
        return [*current([item]), *expired(leaving, now)]


@dataclass
class Delay(Twin):
    duration: int
    held: list[Item] = field(default_factory=list)

    def leaving(self, now: int) -> Batch:
        out: Batch = []
        while self.held and self.held[0].timestamp + self.duration <= now:
            out.append(Out(CURRENT, now, self.held.pop(0).value))
        return out

    def take(self, item: Item, now: int) -> Batch:
        out = self.leaving(now)
        self.held.append(item)
        return out

    @property
    def due(self) -> int | None:  # type: ignore[override]
        return self.held[0].timestamp + self.duration if self.held else None

    def wake(self, now: int) -> list[Batch]:
        return [self.leaving(now)]


@dataclass
class Cron(Twin):
    """``cron`` with a tick every ``period``; without collected events a tick does nothing."""

    period: int
    collected: list[Item] = field(default_factory=list)
    released: list[Item] = field(default_factory=list)
    due: int | None = None

    def arrive(self, items: list[Item], now: int) -> list[Batch]:
        for item in items:
            if not self.collected:
                self.due = now // self.period * self.period + self.period
            self.collected.append(item)
        return []

    def wake(self, now: int) -> list[Batch]:
        chunk = [*expired(self.released, now), *current(self.collected)]
        self.released, self.collected, self.due = self.collected, [], None
        return [chunk]


@dataclass
class ExternalTimeBatch(Twin):
    """``externalTimeBatch``; the second part of the value is the time attribute."""

    duration: int
    aligned_to: int | None = None
    timeout: int = 0
    replaces: bool = False
    start: int = 0
    end: int | None = None
    latest: int = 0
    collected: list[Item] = field(default_factory=list)
    released: list[Item] = field(default_factory=list)
    early: bool = False
    due: int | None = None

    def border_behind(self, time: int) -> int:
        return self.start + ((time - self.start) // self.duration + 1) * self.duration

    def arrive(self, items: list[Item], now: int) -> list[Batch]:
        chunks = []
        for item in items:
            name, time = item.value
            if self.end is None:
                self.start = time if self.aligned_to is None else self.aligned_to
                self.end, self.latest = self.border_behind(time), time
                self.set_timer(now)
            self.latest = max(self.latest, time)
            if time >= self.end:
                chunks.append(self.release())
                self.early = False
                self.end = self.border_behind(self.latest)
                self.set_timer(now)
            self.collected.append(Item(item.timestamp, (name, self.end)) if self.replaces else item)
        return chunks

    def set_timer(self, now: int) -> None:
        self.due = now + self.timeout if self.timeout else None

    def release(self) -> Batch:
        if self.early and not self.collected:
            return []
        chunk = [*expired(self.released, self.latest), Out(RESET, self.latest)]
        self.released = [*self.released, *self.collected] if self.early else self.collected
        self.collected = []
        return [*chunk, *current(self.released)]

    def wake(self, now: int) -> list[Batch]:
        chunk = self.release()
        self.early = True
        self.set_timer(now)
        return [chunk]


@dataclass
class Span:
    """One session."""

    items: list[Item]
    start: int
    end: int

    def join(self, item: Item, gap: int) -> None:
        self.items = [item, *self.items] if item.timestamp < self.start else [*self.items, item]
        self.start = min(self.start, item.timestamp)
        self.end = max(self.end, item.timestamp + gap)

    def leave(self) -> Batch:
        return [Out(EXPIRED, item.timestamp, item.value) for item in self.items]


@dataclass
class Session(Twin):
    """``session``; if ``keyed``, the first part of the value is the key."""

    gap: int
    keyed: bool = False
    latency: int = 0
    current: dict[Any, Span] = field(default_factory=dict)
    previous: dict[Any, Span] = field(default_factory=dict)
    looks: dict[Any, tuple[int, int]] = field(default_factory=dict)
    """By key: the time of its next check, and the number of checks scheduled before."""
    planned: int = 0

    def arrive(self, items: list[Item], now: int) -> list[Batch]:
        chunk: Batch = []
        touched: set[Any] = set()
        for item in items:
            key = item.value[0] if self.keyed else None
            chunk += self.take_for(key, item, key in touched)
            touched.add(key)
            self.plan_look(key)
        return [chunk]

    def take_for(self, key: Any, item: Item, same_chunk: bool) -> Batch:
        out: Batch = []
        time = item.timestamp
        if key in self.current and time > self.current[key].end:
            if self.latency == 0 and same_chunk:
                return current([item])
            out += self.end_current(key)
        now_running, ended = self.current.get(key), self.previous.get(key)
        if now_running is None and ended is not None and time <= ended.end:
            if time < ended.start - self.gap:
                return out
            ended.join(item, self.gap)
            self.current[key] = self.previous.pop(key)
        elif now_running is None:
            self.current[key] = Span([item], time, time + self.gap)
        elif time >= now_running.start - self.gap:
            now_running.join(item, self.gap)
            self.merge(key)
        elif ended is not None and ended.start - self.gap <= time <= ended.end:
            ended.join(item, self.gap)
            self.merge(key)
        else:
            return out
        return [*out, *current([item])]

    def merge(self, key: Any) -> None:
        ended, running = self.previous.get(key), self.current[key]
        if ended is not None and ended.end >= running.start:
            both = Span([*ended.items, *running.items], min(ended.start, running.start), max(ended.end, running.end))
            self.current[key] = both
            del self.previous[key]

    def end_current(self, key: Any) -> Batch:
        span = self.current.pop(key)
        if self.latency == 0:
            return span.leave()
        out = self.previous.pop(key).leave() if key in self.previous else []
        self.previous[key] = span
        return out

    def plan_look(self, key: Any) -> None:
        times = [self.current[key].end] if key in self.current else []
        times += [self.previous[key].end + self.latency] if key in self.previous else []
        if not times:
            self.looks.pop(key, None)
        elif key not in self.looks or min(times) < self.looks[key][0]:
            self.planned += 1
            self.looks[key] = (min(times), self.planned)

    @property
    def due(self) -> int | None:  # type: ignore[override]
        return min(self.looks.values())[0] if self.looks else None

    def wake(self, now: int) -> list[Batch]:
        chunk: Batch = []
        when = self.due
        assert when is not None
        for key in sorted((key for key, look in self.looks.items() if look[0] == when), key=lambda k: self.looks[k]):
            del self.looks[key]
            if key in self.current and self.current[key].end <= when:
                chunk += self.end_current(key)
            if key in self.previous and self.previous[key].end + self.latency <= when:
                chunk += self.previous.pop(key).leave()
            self.plan_look(key)
        return [chunk]


def java_order(text: str) -> int:
    """Return the bucket of a text in a small HashMap of Java."""
    code = 0
    for letter in text:
        code = (31 * code + ord(letter)) & 0xFFFFFFFF
    return (code ^ code >> 16) & 15


@dataclass
class Frequent(Twin):
    length: int
    whole: bool = False
    latest: dict[str, Item] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=dict)

    def key(self, item: Item) -> str:
        parts = item.value if self.whole else item.value[:1]
        return "".join("null" if part is None else str(part) for part in parts)

    def take(self, item: Item, now: int) -> Batch:
        key = self.key(item)
        out: Batch = []
        if key not in self.count and len(self.count) >= self.length:
            self.count = {key: count - 1 for key, count in self.count.items()}
            gone = sorted((key for key, count in self.count.items() if count == 0), key=java_order)
            out = expired([self.latest.pop(key) for key in gone], now)
            self.count = {key: count for key, count in self.count.items() if count}
            if not gone:
                return []
        self.count[key] = self.count.get(key, 0) + 1
        self.latest[key] = item
        return [*out, *current([item])]


@dataclass
class LossyFrequent(Twin):
    support: float
    error: float
    width: int
    total: int = 0
    latest: dict[Any, Item] = field(default_factory=dict)
    count: dict[Any, int] = field(default_factory=dict)
    missed: dict[Any, int] = field(default_factory=dict)

    def take(self, item: Item, now: int) -> Batch:
        key = "null" if item.value[0] is None else item.value[0]
        self.total += 1
        bucket = -(-self.total // self.width)
        self.count[key] = self.count.get(key, 0) + 1
        self.missed.setdefault(key, bucket - 1)
        self.latest[key] = item
        out = current([item]) if self.count[key] >= (self.support - self.error) * self.total else []
        if self.total % self.width == 0:
            for key in sorted(
                (key for key in self.count if self.count[key] + self.missed[key] <= bucket), key=java_order
            ):
                del self.count[key], self.missed[key]
                out += expired([self.latest.pop(key)], now)
        return out


Condition = Callable[[list[Item], Item | None, Item | None, Item], bool]
"""Arguments: the events aggregated, the first and last event in the window, and the current event."""


@dataclass
class Expression(Twin):
    condition: Condition
    held: list[Item] = field(default_factory=list)

    def holds(self, at_hand: Item) -> bool:
        first, last = (self.held[0], self.held[-1]) if self.held else (None, None)
        return self.condition(self.held, first, last, at_hand)

    def take(self, item: Item, now: int) -> Batch:
        out: Batch = []
        self.held.append(item)
        holds = self.holds(item)
        while self.held and not holds:
            oldest = self.held.pop(0)
            out += expired([oldest], now)
            holds = self.holds(oldest)
        return [*out, *current([item])]


@dataclass
class ExpressionBatch(Twin):
    condition: Condition
    includes: Callable[[Item], bool] = lambda item: False
    streams: bool = False
    counted: list[Item] = field(default_factory=list)
    held: list[Item] = field(default_factory=list)
    released: list[Item] = field(default_factory=list)

    def arrive(self, items: list[Item], now: int) -> list[Batch]:
        return [chunk for item in items for chunk in self.take_one(item, now)]

    def take_one(self, item: Item, now: int) -> list[Batch]:
        self.counted.append(item)
        if self.condition(self.counted, (self.held or [item])[0], item, item):
            self.held.append(item)
            return [current([item])] if self.streams else []
        self.counted = [item]
        batch, self.held = self.held, []
        if not batch:
            left, self.released = self.released, []
            return [[*expired([*left, item], now), Out(CURRENT, now, item.value)]]
        if self.includes(item):
            batch.append(item)
        else:
            self.held = [item]
        if self.streams:
            passing = current([item])
            return [[*passing, *expired(batch, now)] if self.includes(item) else [*expired(batch, now), *passing]]
        out = [*expired(self.released, now), *(Out(CURRENT, now, each.value) for each in batch)]
        self.released = batch
        return [out]


def at_most(number: int) -> Condition:
    return lambda seen, first, last, at_hand: len(seen) <= number


def sum_below(limit: int) -> Condition:
    return lambda seen, first, last, at_hand: bool(seen) and sum(item.value[1] for item in seen) < limit


def within(duration: int) -> Condition:
    return lambda seen, first, last, at_hand: (
        first is not None and last is not None and last.timestamp - first.timestamp < duration
    )


def same_name(seen: list[Item], first: Item | None, last: Item | None, at_hand: Item) -> bool:
    return (
        first is not None
        and last is not None
        and None not in (first.value[0], last.value[0])
        and (first.value[0] == last.value[0])
    )


def nulls_last(value: Any) -> tuple[bool, Any]:
    return (value is None, value)


AGE = "eventTimestamp(last) - eventTimestamp(first) < 500"

ATTRIBUTE_TWINS: dict[str, Callable[[], Twin]] = {
    "timeLength(500, 3)": lambda: TimeLength(500, 3),
    "timeLength(1 sec, 1)": lambda: TimeLength(1000, 1),
    "timeLength(300, 0)": lambda: TimeLength(300, 0),
    "sort(2, v)": lambda: Sort(2, lambda item: item.value[1]),
    "sort(4, v, 'desc')": lambda: Sort(4, lambda item: -item.value[1]),
    "sort(3, a, 'asc', v, 'DESC')": lambda: Sort(3, lambda item: (nulls_last(item.value[0]), -item.value[1])),
    "sort(3, a)": lambda: Sort(3, lambda item: nulls_last(item.value[0])),
    "sort(0, v)": lambda: Sort(0, lambda item: 0),
    "delay(300)": lambda: Delay(300),
    "delay(1 sec)": lambda: Delay(1000),
    "cron('*/2 * * * * ?')": lambda: Cron(2000),
    "externalTimeBatch(v, 400)": lambda: ExternalTimeBatch(400),
    "externalTimeBatch(v, 400, 30)": lambda: ExternalTimeBatch(400, 30),
    "externalTimeBatch(v, 400, v)": lambda: ExternalTimeBatch(400),
    "externalTimeBatch(v, 900, 0, 300)": lambda: ExternalTimeBatch(900, 0, 300),
    "externalTimeBatch(v, 900, v, 300, true)": lambda: ExternalTimeBatch(900, None, 300, True),
    "session(300 milliseconds)": lambda: Session(300),
    "session(300 milliseconds, a)": lambda: Session(300, True),
    "session(300 milliseconds, a, 200 milliseconds)": lambda: Session(300, True, 200),
    "session(900 milliseconds, a, 900 milliseconds)": lambda: Session(900, True, 900),
    "frequent(1, a)": lambda: Frequent(1),
    "frequent(2, a)": lambda: Frequent(2),
    "frequent(3)": lambda: Frequent(3, True),
    "frequent(0, a)": lambda: Frequent(0),
    "lossyFrequent(0.5, 0.25, a)": lambda: LossyFrequent(0.5, 0.25, 4),
    "lossyFrequent(0.3, 0.3, a)": lambda: LossyFrequent(0.3, 0.3, 4),
    "expression('count() <= 3')": lambda: Expression(at_most(3)),
    "expression('count() <= 0')": lambda: Expression(at_most(0)),
    "expression('sum(v) < 110000')": lambda: Expression(sum_below(110_000)),
    f"expression('{AGE}')": lambda: Expression(within(500)),
    "expression('last.a == first.a')": lambda: Expression(same_name),
    "expressionBatch('count() <= 2')": lambda: ExpressionBatch(at_most(2)),
    "expressionBatch('count() <= 2', true)": lambda: ExpressionBatch(at_most(2), lambda item: True),
    "expressionBatch('count() <= 2', false, true)": lambda: ExpressionBatch(at_most(2), streams=True),
    "expressionBatch('count() <= 2', true, true)": lambda: ExpressionBatch(at_most(2), lambda item: True, True),
    "expressionBatch('sum(v) < 110000', a is null)": lambda: ExpressionBatch(
        sum_below(110_000), lambda item: item.value[0] is None
    ),
    "expressionBatch('last.a == first.a')": lambda: ExpressionBatch(same_name),
    f"expressionBatch('{AGE}', a is null, true)": lambda: ExpressionBatch(
        within(500), lambda item: item.value[0] is None, True
    ),
}
