"""A trading bot: the same app over a file of ticks (backtest) and over a feed (live).

    python bot.py backtest
    python bot.py live

The feed here replays the same ticks; the broker executes each order at once at the last price.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import siddhi

FOLDER = Path(__file__).parent
BARS = FOLDER.parent / "market_feed" / "bars.csv"
CASH = 10_000.0
Tick = tuple[int, str, float, int]


def ticks() -> Iterator[Tick]:
    """Four trades per stock and day: at the open, the high, the low and the close."""
    with BARS.open(encoding="utf-8", newline="") as file:
        for bar in csv.DictReader(file):
            day = datetime.fromisoformat(bar["date"]).replace(tzinfo=timezone.utc)
            for hour, name in ((14, "open"), (16, "high"), (18, "low"), (20, "close")):
                ts = int(day.replace(hour=hour).timestamp() * 1000)
                yield ts, bar["symbol"], float(bar[name]), int(bar["volume"]) // 4


class PaperBroker:
    """Executes orders at the last price, and reports each as a fill."""

    def __init__(self, app: siddhi.App) -> None:
        self.prices: dict[str, float] = {}
        self._fills = app["Fills"]
        app.add_callback("Orders", self.execute)
        app.add_callback("Ticks", self.watch)

    def watch(self, events: list[siddhi.Event]) -> None:
        for event in events:
            self.prices[event["symbol"]] = event["price"]

    def execute(self, orders: list[siddhi.Event]) -> None:
        for order in orders:
            price = self.prices[order["symbol"]]
            self._fills.send((order["ts"], order["symbol"], order["side"], order["quantity"], price))


def make_bot() -> tuple[siddhi.App, list[siddhi.Event]]:
    """Return the app with its broker, and the list that its trades are added to."""
    app = siddhi.App((FOLDER / "bot.siddhi").read_text(encoding="utf-8"), cash=CASH)
    PaperBroker(app)
    trades: list[siddhi.Event] = []
    app.add_callback("Trades", trades.extend)
    return app, trades


def backtest() -> list[siddhi.Event]:
    """Send all ticks as fast as the app takes them."""
    app, trades = make_bot()
    with app:
        send = app["Ticks"].send
        for tick in ticks():
            send(tick, timestamp=tick[0])
    return trades


async def live(pause: float) -> list[siddhi.Event]:
    """Send each tick when it arrives; the app's clock is that of the system."""
    app, trades = make_bot()
    with app:
        send = app["Ticks"].send
        async for tick in feed(pause):
            send(tick)
    return trades


async def feed(pause: float):
    for tick in ticks():
        yield tick
        await asyncio.sleep(pause)


def report(trades: list[siddhi.Event]) -> None:
    for trade in trades:
        day = datetime.fromtimestamp(trade["ts"] / 1000, timezone.utc).date()
        print(
            f"{day} {trade['symbol']:5} {trade['quantity']:4} bought at {trade['bought']:8.2f}, sold at "
            f"{trade['sold']:8.2f}: {trade['profit']:9.2f}"
        )
    print(f"{len(trades)} trades, {sum(trade['profit'] for trade in trades):,.2f} dollars")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Run the bot over past ticks, or over a feed.")
    parser.add_argument("mode", choices=["backtest", "live"])
    parser.add_argument("--pause", type=float, default=0.001, help="live: seconds between two ticks")
    given = parser.parse_args()
    report(backtest() if given.mode == "backtest" else asyncio.run(live(given.pause)))
