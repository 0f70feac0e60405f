"""The stream processors ``reorder:kslack`` and ``reorder:akslack``."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from math import ceil, sqrt
from statistics import NormalDist
from typing import Any

from siddhi.event import Event
from siddhi.extension.processors import ProcessorContext

__all__ = ["AKSlack", "KSlack"]

Buffered = tuple[int, int, Event]  # time, number of arrival, event


class KSlack:
    """Buffers events and emits them in order of a time attribute.

    An event waits until one that is k later has arrived; k grows to the largest delay seen.
    """

    grows = True  # whether k grows to the delay of each event

    def __init__(self, context: ProcessorContext) -> None:
        self._context = context
        self.buffered: list[Buffered] = []
        self.arrived = 0
        self.k = 0
        self.greatest: int | None = None
        self.emitted: int | None = None  # time of the event emitted last
        self.due: int | None = None  # when the timeout emits what is buffered

    def snapshot(self) -> tuple[Any, ...]:
        return self.buffered, self.arrived, self.k, self.greatest, self.emitted, self.due

    def restore(self, state: Sequence[Any]) -> None:
        self.buffered = [(time, number, event) for time, number, event in state[0]]
        self.arrived, self.k, self.greatest, self.emitted, self.due = state[1:]

    def process(
        self, event: Event, time: int | None, timeout: int = -1, most: int = 2**63 - 1, discard: bool = False
    ) -> list[Event] | None:
        if time is None:
            raise ValueError("reorder:kslack() got null as time")
        return self.buffer(event, time, timeout, most, discard)

    def buffer(self, event: Event, time: int, timeout: int, most: int, discard: bool) -> list[Event] | None:
        """Add an event; return those that are ready."""
        if discard and self.emitted is not None and time < self.emitted:
            return None
        self.arrived += 1
        insort(self.buffered, (time, self.arrived, event))
        if timeout > 0 and self.due is None:
            self.due = self._context.now + timeout
            self._context.schedule(self.due)
        if self.greatest is not None and time <= self.greatest:
            return None
        self.greatest = time
        delay = time - self.buffered[0][0]
        if delay > self.k and self.grows:
            self.k = min(delay, most)
        ready = 0
        while ready < len(self.buffered) and self.buffered[ready][0] + self.k <= time:
            ready += 1
        return self.emit(ready)

    def on_timer(self, time: int) -> list[Event] | None:
        if self.due is None or time < self.due:
            return None
        self.due = None
        return self.emit(len(self.buffered))

    def emit(self, count: int) -> list[Event] | None:
        """Remove and return the first events of the buffer."""
        if not count:
            return None
        ready, self.buffered = self.buffered[:count], self.buffered[count:]
        self.emitted = ready[-1][0]
        return [event for _, _, event in ready]


class AKSlack(KSlack):
    """Buffers events and emits them in order of a time attribute, with a k that is adapted after each batch.

    Until the first batch ends, k grows as that of :class:`KSlack`. Then it is the least delay within which the needed share of
    the batch's events arrived. The share is such that the mean of the correlated field over the events that arrive in
    time deviates from that over all by the error threshold at most, with the confidence level: by the normal approximation
    for a sample from n values, whose deviation relative to the mean is v, it is 1 / (1 + n * (error / (z * v))^2).
    """

    def __init__(self, context: ProcessorContext) -> None:
        super().__init__(context)
        given = context.arguments[2:]
        self._size: int = given[0] if given else 10_000
        self._timeout: int = given[1] if len(given) > 1 else -1
        self._most: int = given[2] if len(given) > 2 else 2**63 - 1
        self._discards: bool = given[3] if len(given) > 3 else False
        self._error: float = given[4] if len(given) > 4 else 0.03
        confidence: float = given[5] if len(given) > 5 else 0.95
        self._z = NormalDist().inv_cdf(0.5 + confidence / 2)
        self.latest: int | None = None  # greatest time seen
        self.delays: list[int] = []
        self.fields: list[float] = []

    def snapshot(self) -> tuple[Any, ...]:
        return super().snapshot(), self.grows, self.latest, self.delays, self.fields

    def restore(self, state: Sequence[Any]) -> None:
        super().restore(state[0])
        self.grows, self.latest = state[1:3]
        self.delays, self.fields = list(state[3]), list(state[4])

    def process(self, event: Event, time: int | None, field: float | None = None, *_: Any) -> list[Event] | None:
        if time is None:
            raise ValueError("reorder:akslack() got null as time")
        self.latest = time if self.latest is None else max(self.latest, time)
        self.delays.append(self.latest - time)
        if field is not None:
            self.fields.append(float(field))
        if len(self.delays) >= self._size:
            self.adapt()
        return self.buffer(event, time, self._timeout, self._most, self._discards)

    def adapt(self) -> None:
        """Choose k for the next batch."""
        delays = sorted(self.delays)
        position = ceil(self.share() * len(delays)) - 1
        self.k = min(delays[max(position, 0)], self._most)
        self.grows = False
        self.delays, self.fields = [], []

    def share(self) -> float:
        """Return the share of events that must arrive in time."""
        count = len(self.fields)
        mean = sum(self.fields) / count if count else 0.0
        deviation = sqrt(sum((value - mean) ** 2 for value in self.fields) / count) if count else 0.0
        if not deviation:
            return 0.0 if count else 1.0
        if not mean:
            return 1.0
        return 1.0 / (1.0 + count * (self._error * abs(mean) / (self._z * deviation)) ** 2)
