"""The trading bot trades in backtest and live what pandas finds by the rules."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "trading"
WEEK = 7 * 86_400_000


@pytest.fixture(scope="module")
def bot() -> ModuleType:
    spec = importlib.util.spec_from_file_location("siddhi_example_bot", FOLDER / "bot.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def trades_of(ticks: pd.DataFrame, cash: float) -> list[tuple[Any, ...]]:
    """The trades by their rules: an order is executed at the last price of the week of its signal."""
    found = []
    for symbol, rows in ticks.groupby("symbol"):
        week = (rows.ts - rows.ts.iloc[0]) // WEEK
        bars = rows.groupby(week).agg(close=("price", "last"))
        bars["average"] = bars.close.rolling(10, min_periods=1).mean()
        is_below = is_above = False
        position: tuple[int, float] | None = None
        for bar in list(bars.itertuples())[:-1]:  # the last week is never closed
            if is_below and bar.close > bar.average * 1.02:
                is_below = False
                if position is None:
                    position = (int(cash / bar.close), bar.close)
            elif bar.close < bar.average:
                is_below = True
            if is_above and bar.close < bar.average * 0.98:
                is_above = False
                if position is not None:
                    found.append((symbol, *position, bar.close))
                    position = None
            elif bar.close > bar.average:
                is_above = True
    return sorted(found)


def test_backtest_and_live_trade_what_pandas_finds(bot: ModuleType) -> None:
    ticks = pd.DataFrame(bot.ticks(), columns=["ts", "symbol", "price", "volume"])
    expected = trades_of(ticks, bot.CASH)
    assert len(expected) == 6
    past = [trade.data for trade in bot.backtest()]
    assert sorted(trade[1:5] for trade in past) == expected
    assert [trade.data for trade in asyncio.run(bot.live(0))] == past
