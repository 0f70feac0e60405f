"""The stream processors ``ta:timeBars``, ``ta:tickBars`` and ``ta:volumeBars``: open, high, low and close of groups of trades."""

from __future__ import annotations

from math import isfinite
from typing import Any

from siddhi.event import Event
from siddhi.extension.processors import ProcessorContext

__all__ = ["TickBars", "TimeBars", "VolumeBars"]


class _Bar:
    """A bar that is not over. Its last event carries it."""

    __slots__ = ("close", "high", "last", "low", "open", "start", "traded", "trades", "volume")

    def __init__(self, price: float, start: int) -> None:
        self.open = self.high = self.low = self.close = price
        self.start, self.volume, self.traded, self.trades = start, 0.0, 0.0, 0
        self.last: Event | None = None

    def add(self, event: Event, price: float, volume: float) -> None:
        if price > self.high:
            self.high = price
        if price < self.low:
            self.low = price
        self.close = price
        self.volume += volume
        self.traded += price * volume
        self.trades += 1
        self.last = event

    def event(self, time: int) -> Event:
        """Return the last event with the attributes of the bar."""
        assert self.last is not None
        mean = self.traded / self.volume if self.volume else None
        bar = (self.open, self.high, self.low, self.close, self.volume, mean, self.trades, self.start)
        return Event(time, (*self.last.data, *bar))

    def state(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    @classmethod
    def of(cls, state: tuple[Any, ...]) -> _Bar:
        bar = cls(0.0, 0)
        for name, value in zip(cls.__slots__, state, strict=True):
            setattr(bar, name, value)
        return bar


class _Bars:
    """The current bar of each key."""

    def __init__(self, context: ProcessorContext) -> None:
        self._context = context
        self.bars: dict[Any, _Bar] = {}

    def snapshot(self) -> Any:
        return [(key, bar.state()) for key, bar in self.bars.items()]

    def restore(self, state: Any) -> None:
        self.bars = {key: _Bar.of(bar) for key, bar in state}

    def add(self, event: Event, price: float | None, volume: float | None, key: Any) -> _Bar | None:
        """Add a trade to the bar of its key; return it."""
        if price is None or not isfinite(price) or event.is_expired:
            return None
        bar = self.bars.get(key)
        if bar is None:
            bar = self.bars[key] = _Bar(float(price), event.timestamp)
        bar.add(event, float(price), 0.0 if volume is None else float(volume))
        return bar


class TickBars(_Bars):
    """A bar of each n trades."""

    def process(
        self, event: Event, price: float | None, volume: float | None, count: int, key: Any = None
    ) -> Event | None:
        bar = self.add(event, price, volume, key)
        if bar is None or bar.trades < count:
            return None
        del self.bars[key]
        return bar.event(event.timestamp)


class VolumeBars(_Bars):
    """A bar ends with the trade with which its volume reaches a size."""

    def process(
        self, event: Event, price: float | None, volume: float | None, size: float, key: Any = None
    ) -> Event | None:
        bar = self.add(event, price, volume, key)
        if bar is None or bar.volume < size:
            return None
        del self.bars[key]
        return bar.event(event.timestamp)


class TimeBars(_Bars):
    """A bar of each interval; intervals begin at multiples of their length. An interval without trades has no bar."""

    def __init__(self, context: ProcessorContext) -> None:
        super().__init__(context)
        self._interval = int(context.arguments[2])
        self.end: int | None = None

    def snapshot(self) -> Any:
        return super().snapshot(), self.end

    def restore(self, state: Any) -> None:
        super().restore(state[0])
        self.end = state[1]

    def process(self, event: Event, price: float | None, volume: float | None, _interval: int, key: Any = None) -> None:
        if self.add(event, price, volume, key) is not None and self.end is None:
            self.end = (self._context.now // self._interval + 1) * self._interval
            self._context.schedule(self.end)

    def on_timer(self, time: int) -> list[Event] | None:
        if self.end is None or time < self.end:
            return None
        end, self.end = self.end, None
        bars, self.bars = self.bars, {}
        return [bar.event(end) for bar in bars.values()]
