"""The namespace ``ta``: technical analysis of prices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siddhi.extension.metadata import (
    AggregatorMetadata,
    ExtensionMetadata,
    NullRule,
    Overload,
    Parameter,
    StreamProcessorMetadata,
)
from siddhi.library.namespaces.declare import Namespace, takes
from siddhi.library.operators import bars
from siddhi.library.type_sets import INT, NUMERIC, REAL, TIME, VALUES
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType

__all__ = ["EXTENSIONS"]

MOST = 1_000_000
"""Largest number of values of an indicator."""

_ta = Namespace("ta", NullRule.NULL)
_VALUE = Parameter("value", NUMERIC, description="a price or another number; null, NaN and infinity are left out")
_PERIOD = Parameter("period", INT, dynamic=False, description="number of values n, 1 to 1000000")
_WIDTH = Parameter("width", REAL, dynamic=False, description="number of standard deviations")
_FAST = Parameter("fast", INT, dynamic=False, description="period of the fast average")
_SLOW = Parameter("slow", INT, dynamic=False, description="period of the slow average, above that of the fast one")
_SIGNAL = Parameter("signal", INT, dynamic=False, description="period of the signal")
_HIGH, _LOW, _CLOSE, _PRICE = (
    Parameter(name, NUMERIC, description=f"{name} price" if name != "price" else "price of the trade")
    for name in ("high", "low", "close", "price")
)
_VOLUME = Parameter("volume", NUMERIC, description="volume of the trade")
_FIRST, _SECOND = Parameter("first", NUMERIC), Parameter("second", NUMERIC)


def _check(types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    """Check periods, the literals of type int, and the order of those of MACD."""
    periods = [
        value
        for value, type_ in zip(constants[1:], types[1:], strict=True)
        if type_ is AttributeType.INT and value is not None
    ]
    if any(not 1 <= period <= MOST for period in periods):
        raise ValueError(f"invalid period of an indicator: expected a number from 1 to {MOST}")


def _check_macd(types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    _check(types, constants)
    if constants[1] >= constants[2]:
        raise ValueError(f"invalid periods {constants[1]} and {constants[2]}: expected that the fast one is less")


def _indicator(
    name: str,
    overloads: Sequence[Overload],
    description: str,
    arguments: str,
    *,
    returns: AttributeType = AttributeType.DOUBLE,
    kept: int | None = None,
) -> AggregatorMetadata:
    return AggregatorMetadata(
        name=name,
        namespace="ta",
        builtin=f"ta:{name}",
        overloads=tuple(overloads),
        returns=returns,
        kept=kept,
        check=_check_macd if name.startswith("macd") else None if name.startswith("cross") else _check,
        description=description,
        example=f"from S select symbol, ta:{name}({arguments}) as x group by symbol insert into O;",
    )


def _of_last(name: str, what: str) -> AggregatorMetadata:
    return _indicator(
        name, takes(_VALUE, _PERIOD), f"{what} Null while there are fewer than n values.", "price, 20", kept=1
    )


_MACD = "the exponential average with the fast period less that with the slow one"
_AVERAGES = (
    _of_last("sma", "The mean of the last n values."),
    _of_last(
        "wma", "The mean of the last n values, of which the last has the weight n, the one before n - 1, and so on."
    ),
    _indicator(
        "ema",
        takes(_VALUE, _PERIOD),
        "The exponential moving average: it begins as the mean of the first n values; then each has the weight 2 / (n + 1). Null "
        "while there are fewer than n values. The aggregator ema without a namespace begins with the first value.",
        "price, 20",
    ),
    _of_last("stdDev", "The standard deviation of the last n values, of which they are all."),
    _of_last(
        "zScore", "The distance of the value from the mean of the last n, in standard deviations; null where that is 0."
    ),
    _of_last("bollingerMiddle", "The mean of the last n values."),
    _indicator(
        "bollingerUpper",
        takes(_VALUE, _PERIOD, _WIDTH),
        "The mean of the last n values plus a number of their standard deviations. Null while there are fewer than n values.",
        "price, 20, 2.0",
        kept=1,
    ),
    _indicator(
        "bollingerLower",
        takes(_VALUE, _PERIOD, _WIDTH),
        "The mean of the last n values less a number of their standard deviations. Null while there are fewer than n values.",
        "price, 20, 2.0",
        kept=1,
    ),
    _indicator(
        "macd",
        takes(_VALUE, _FAST, _SLOW),
        f"Moving average convergence divergence: {_MACD}; both begin with the same value. Null before.",
        "price, 12, 26",
    ),
    _indicator(
        "macdSignal",
        takes(_VALUE, _FAST, _SLOW, _SIGNAL),
        "The exponential average of ta:macd. Null while there are too few values.",
        "price, 12, 26, 9",
    ),
    _indicator(
        "macdHistogram",
        takes(_VALUE, _FAST, _SLOW, _SIGNAL),
        "The difference of ta:macd and ta:macdSignal. Null while there are too few values.",
        "price, 12, 26, 9",
    ),
)

_OTHERS = (
    _indicator(
        "rsi",
        takes(_VALUE, _PERIOD),
        "The relative strength index of Wilder, 0 to 100: the average gain as a percentage of the average gain and loss; 50 where "
        "nothing has changed. Null while there are fewer than n changes.",
        "price, 14",
    ),
    _indicator(
        "atr",
        takes(_HIGH, _LOW, _CLOSE, _PERIOD),
        "The average true range of Wilder. Null while there are fewer than n ranges, of which the first event has none.",
        "ask, bid, price, 14",
    ),
    _indicator(
        "vwap",
        takes(_PRICE, _VOLUME, optional=(_PERIOD,)),
        "The mean of the prices, weighted by volume: of all trades since the last reset, or of the last n. Null where the volume is 0, "
        "and while there are fewer than n trades.",
        "price, distance",
        kept=2,
    ),
    _indicator(
        "returns",
        takes(_VALUE, optional=(_PERIOD,)),
        "The value, divided by the one n events before (1 by default), less 1. Null where that is 0 or does not exist.",
        "price",
        kept=1,
    ),
    _indicator(
        "logReturns",
        takes(_VALUE, optional=(_PERIOD,)),
        "The natural logarithm of the value divided by the one n events before (1 by default). Null where that does not exist, or one "
        "of both is not above 0.",
        "price",
        kept=1,
    ),
    _indicator(
        "drawdown",
        takes(_VALUE),
        "The loss since the greatest value, as a fraction of it: 0.25 is a quarter. Null while that is not above 0.",
        "price",
    ),
    _indicator("maxDrawdown", takes(_VALUE), "The greatest ta:drawdown. Null while there is none.", "price"),
    _indicator(
        "crossOver",
        takes(_FIRST, _SECOND),
        "Whether the first value is above the second, and was not with the event before. Null for the first event.",
        "bid, price",
        returns=AttributeType.BOOL,
    ),
    _indicator(
        "crossUnder",
        takes(_FIRST, _SECOND),
        "Whether the first value is below the second, and was not with the event before. Null for the first event.",
        "bid, price",
        returns=AttributeType.BOOL,
    ),
)


def _check_bars(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if not constants[2] > 0:
        raise ValueError(f"invalid length {constants[2]} of a bar: expected a number above 0")


def _bars(
    name: str, implementation: type, length: Parameter, description: str, example: str
) -> StreamProcessorMetadata:
    return StreamProcessorMetadata(
        name=name,
        namespace="ta",
        implementation=implementation,
        overloads=tuple(
            takes(
                _PRICE,
                _VOLUME,
                length,
                optional=(Parameter("key", VALUES, description="each of its values has bars of its own"),),
            )
        ),
        appends=(
            *(
                Attribute(f"bar{part}", AttributeType.DOUBLE)
                for part in ("Open", "High", "Low", "Close", "Volume", "Vwap")
            ),
            Attribute("barTrades", AttributeType.LONG),
            Attribute("barStart", AttributeType.LONG),
        ),
        clock_driven=hasattr(implementation, "on_timer"),
        check=_check_bars,
        description=f"{description} The last event of a bar is emitted with barOpen, barHigh, barLow, barClose, barVolume, barVwap (null "
        "without volume), barTrades and barStart, the time of its first event. Trades without a price are left out.",
        example=f"from S#ta:{name}(price, distance, {example}, symbol) select symbol, barOpen, barClose insert into O;",
    )


_BARS = (
    _bars(
        "tickBars",
        bars.TickBars,
        Parameter("count", INT, dynamic=False, description="number of trades, above 0"),
        "A bar of each n trades.",
        "100",
    ),
    _bars(
        "timeBars",
        bars.TimeBars,
        Parameter("interval", TIME, dynamic=False, description="duration, above 0"),
        "A bar of each interval with trades, emitted at its end. Intervals begin at multiples of their length since 1970.",
        "1 min",
    ),
    _bars(
        "volumeBars",
        bars.VolumeBars,
        Parameter("size", NUMERIC, dynamic=False, description="volume of a bar, above 0"),
        "A bar ends with the trade with which its volume reaches a size. No trade is divided.",
        "10000",
    ),
)

EXTENSIONS: tuple[ExtensionMetadata, ...] = (
    *_AVERAGES,
    *_OTHERS,
    _ta.function(
        "imbalance",
        takes(
            Parameter("bid.size", NUMERIC, description="what buyers want"),
            Parameter("ask.size", NUMERIC, description="what sellers offer"),
        ),
        AttributeType.DOUBLE,
        "The imbalance of an order book, -1 to 1: the difference of bid and ask size, divided by their sum; null where that is 0.",
        ("ta:imbalance(300, 100)", 0.5),
        ("ta:imbalance(0, 0)", None),
    ),
    *_BARS,
)
