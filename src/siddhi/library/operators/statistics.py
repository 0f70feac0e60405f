"""The aggregators first, last, percentile, median and ema."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from typing import Any

__all__ = ["Ema", "First", "Last", "Median", "Percentile"]


class _FirstOfAll:
    """The first value since the last reset, where no event is removed."""

    def __init__(self) -> None:
        self.has_value = False
        self.kept: Any = None

    def add(self, value: Any) -> None:
        if not self.has_value:
            self.has_value, self.kept = True, value

    def remove(self, _value: Any) -> None:
        raise RuntimeError("no event is removed here")

    def reset(self) -> None:
        self.has_value, self.kept = False, None

    def value(self) -> Any:
        return self.kept


class _LastOfAll(_FirstOfAll):
    """The last value since the last reset, where no event is removed."""

    def add(self, value: Any) -> None:
        self.has_value, self.kept = True, value


class First:
    """The value of the first of the current events."""

    compiled = "first"

    without_removal = _FirstOfAll

    def __init__(self) -> None:
        self.values: deque[Any] = deque()

    def add(self, value: Any) -> None:
        self.values.append(value)

    def remove(self, value: Any) -> None:
        # The oldest event leaves most windows first.
        if self.values and self.values[0] == value:
            self.values.popleft()
        elif value in self.values:
            self.values.remove(value)

    def reset(self) -> None:
        self.values.clear()

    def value(self) -> Any:
        return self.values[0] if self.values else None

    def snapshot(self) -> list[Any]:
        return list(self.values)

    def restore(self, state: list[Any]) -> None:
        self.values = deque(state)


class Last(First):
    """The value of the last of the current events."""

    compiled = "last"
    without_removal = _LastOfAll

    def value(self) -> Any:
        return self.values[-1] if self.values else None


class Percentile:
    """A percentile of the current numbers, interpolated as NIST recommends; null and NaN are left out."""

    compiled = "percentile"  # the form for queries without lifetimes

    def __init__(self) -> None:
        self.values: list[float] = []
        self.percent = 50.0

    def add(self, value: float | None, percent: float = 50.0) -> None:
        self.percent = percent
        if value is not None and not math.isnan(value):
            insort(self.values, value)

    def remove(self, value: float | None, *_: float) -> None:
        if value is None or math.isnan(value):
            return
        position = bisect_left(self.values, value)
        if position < len(self.values) and self.values[position] == value:
            del self.values[position]

    def reset(self) -> None:
        self.values.clear()

    def value(self) -> float | None:
        values = self.values
        if not values:
            return None
        position = self.percent / 100 * (len(values) + 1)
        below = int(position)
        if below < 1:
            return float(values[0])
        if below >= len(values):
            return float(values[-1])
        low, high = float(values[below - 1]), float(values[below])
        return low if low == high else low + (position - below) * (high - low)


class Median(Percentile):
    """The median of the current numbers: the middle one, or the mean of the two in the middle."""

    compiled = "median"

    def value(self) -> float | None:
        count = len(self.values)
        if not count:
            return None
        low, high = float(self.values[(count - 1) // 2]), float(self.values[count // 2])
        return low if low == high else low / 2 + high / 2


class Ema:
    """The exponential moving average: each number has the weight 2 / (period + 1), the first one starts it. It goes over all
    numbers since the last reset, also those of events that expired; null, NaN and infinity are left out."""

    compiled = "ema"

    def __init__(self) -> None:
        self.average: float | None = None

    def add(self, value: float | None, period: int) -> None:
        if value is None or not math.isfinite(value):
            return
        if self.average is None:
            self.average = float(value)
        else:
            self.average += (value - self.average) * (2.0 / (period + 1))

    def remove(self, _value: float | None, _period: int) -> None:
        pass

    def reset(self) -> None:
        self.average = None

    def value(self) -> float | None:
        return self.average

    def is_empty(self) -> bool:
        return self.average is None
