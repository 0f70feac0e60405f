"""The stream processors ``extrema:minMax``, ``extrema:kalmanMinMax`` and ``extrema:kernelMinMax``: local extrema of a series."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from math import exp
from typing import Any

from siddhi.event import Event
from siddhi.extension.processors import ProcessorContext

__all__ = ["KalmanMinMax", "KernelMinMax", "MinMax"]


class _Series:
    """The last numbers with their events; a null or NaN is left out."""

    def __init__(self, context: ProcessorContext, length: int) -> None:
        self.wanted = ("min", "max") if (kind := context.arguments[-1].lower()) == "minmax" else (kind,)
        self.recent: deque[tuple[float, Event]] = deque(maxlen=length)

    def snapshot(self) -> Any:
        return list(self.recent)

    def restore(self, state: Any) -> None:
        self.recent.clear()
        self.recent.extend((value, event) for value, event in state)

    def process(self, event: Event, value: float | None, *_: Any) -> list[Event] | None:
        if value is None or value != value or event.is_expired:
            return None
        self.recent.append((float(value), event))
        return self.found()

    @abstractmethod
    def found(self) -> list[Event] | None:
        """Return the extremum that the last number confirms."""

    @staticmethod
    def marked(event: Event, kind: str) -> list[Event]:
        return [Event(event.timestamp, (*event.data, kind))]


class MinMax(_Series):
    """Emits an event whose value is an extremum among the events before and after it, once the change after it is seen."""

    def __init__(self, context: ProcessorContext) -> None:
        _, before, after, before_change, after_change, _ = context.arguments
        super().__init__(context, before + after + 1)
        self._before, self._after = before, after
        self._before_change, self._after_change = before_change / 100.0, after_change / 100.0
        self.age: dict[str, int] = {}  # events since the extremum emitted last, by kind

    def snapshot(self) -> Any:
        return super().snapshot(), self.age

    def restore(self, state: Any) -> None:
        super().restore(state[0])
        self.age = dict(state[1])

    def found(self) -> list[Event] | None:
        values = [value for value, _ in self.recent]
        last = len(values) - 1
        for kind in self.age:
            self.age[kind] += 1
        result: list[Event] = []
        for kind in self.wanted:
            # The extremum that this value can confirm is the strict one of the last events.
            best = self._candidate(values, kind)
            if best is None or self.age.get(kind, last + 1) <= last - best:
                continue
            self.age[kind] = last - best
            result += self.marked(self.recent[best][1], kind)
        return result or None

    def _candidate(self, values: list[float], kind: str) -> int | None:
        last, sign = len(values) - 1, 1.0 if kind == "max" else -1.0
        first = max(0, last - self._after)
        best = max(range(first, last + 1), key=lambda i: sign * values[i])
        if best == last or best == 0:
            return None
        extreme = values[best]
        before = values[max(0, best - self._before) : best]
        if any(sign * value >= sign * extreme for value in before):
            return None
        opposite = min(before) if kind == "max" else max(before)
        scale = abs(extreme)
        if sign * (extreme - opposite) < scale * self._before_change:
            return None
        return best if sign * (extreme - values[last]) >= scale * self._after_change else None


class _Smoothed(_Series):
    """Emits the event in the middle of the last n where their smoothed values have an extremum."""

    def __init__(self, context: ProcessorContext) -> None:
        self._length = int(context.arguments[-2])
        super().__init__(context, self._length)

    @abstractmethod
    def around(self, values: Sequence[float], middle: int) -> tuple[float, float, float]:
        """Return the smoothed values before, at and after the middle."""

    def found(self) -> list[Event] | None:
        if len(self.recent) < self._length:
            return None
        middle = self._length // 2
        before, here, after = self.around([value for value, _ in self.recent], middle)
        event = self.recent[middle][1]
        if "max" in self.wanted and before < here > after:
            return self.marked(event, "max")
        return self.marked(event, "min") if "min" in self.wanted and before > here < after else None


class KalmanMinMax(_Smoothed):
    """Smooths by a Kalman filter of a value that drifts: q is the variance of its steps, r that of the measurements."""

    def __init__(self, context: ProcessorContext) -> None:
        super().__init__(context)
        self._q, self._r = float(context.arguments[1]), float(context.arguments[2])

    def around(self, values: Sequence[float], middle: int) -> tuple[float, float, float]:
        estimate, variance = values[0], self._r
        found = [estimate]
        for value in values[1 : middle + 2]:
            variance += self._q
            gain = variance / (variance + self._r)
            estimate += gain * (value - estimate)
            variance *= 1.0 - gain
            found.append(estimate)
        return found[middle - 1], found[middle], found[middle + 1]


class KernelMinMax(_Smoothed):
    """Smooths by the mean of all values, weighted by a Gaussian of their distance in events."""

    def __init__(self, context: ProcessorContext) -> None:
        super().__init__(context)
        bandwidth = float(context.arguments[1])
        self._weights = [exp(-0.5 * (distance / bandwidth) ** 2) for distance in range(self._length)]

    def around(self, values: Sequence[float], middle: int) -> tuple[float, float, float]:
        before, here, after = (self._smoothed(values, at) for at in (middle - 1, middle, middle + 1))
        return before, here, after

    def _smoothed(self, values: Sequence[float], at: int) -> float:
        weights = [self._weights[abs(i - at)] for i in range(len(values))]
        return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
