"""The market feed example: feed, app and a client of the alerts run, and the alerts are those that pandas finds."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("websockets")

from websockets.asyncio.client import ClientConnection, connect

from siddhi import SiddhiManager
from tests.io.test_tcp import free_port, wait_for
from tests.kit.running import collect

FOLDER = Path(__file__).parents[2] / "examples" / "market_feed"
WAIT = 60


def alerts_of(bars: pd.DataFrame) -> set[tuple[Any, ...]]:
    """The alerts by their definition."""
    found: set[tuple[Any, ...]] = set()
    for symbol, rows in bars.groupby("symbol"):
        means = rows[["close", "volume"]].rolling(20, min_periods=1).mean()
        since = None
        for row, mean in zip(rows.itertuples(), means.itertuples()):
            if row.volume > 2 * mean.volume:
                found.add(("volume", symbol, row.date, row.date, row.close))
            if since is None:
                since = row.date if row.close < 0.85 * mean.close else None
            elif row.close > mean.close:
                found.add(("rebound", symbol, since, row.date, row.close))
                since = None
    return found


@contextmanager
def feed(port: int) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, str(FOLDER / "feed.py"), "--port", str(port), "--pause", "0"])
    try:
        yield
    finally:
        process.terminate()
        process.wait(WAIT)


def test_the_alerts_are_those_of_pandas(capfd: pytest.CaptureFixture[str]) -> None:
    expected = alerts_of(pd.read_csv(FOLDER / "bars.csv"))
    assert {alert[0] for alert in expected} == {"volume", "rebound"}
    ports = free_port(), free_port()
    text = (FOLDER / "alerts.siddhi").read_text(encoding="utf-8")
    text = text.replace("localhost:8765", f"localhost:{ports[0]}").replace("'8766'", f"'{ports[1]}'")
    received: list[tuple[Any, ...]] = []

    async def listen(client: ClientConnection) -> None:
        while len(received) < len(expected):
            alert = json.loads(await client.recv())["event"]
            received.append(tuple(alert[name] for name in ("kind", "symbol", "since", "date", "close")))

    async def follow() -> None:
        async with connect(f"ws://localhost:{ports[1]}/alerts", proxy=None) as client:
            with feed(ports[0]):  # the app has tried to connect before
                await asyncio.wait_for(listen(client), WAIT)

    with SiddhiManager().create_siddhi_app_runtime(text) as runtime:
        rows = collect(runtime, "Alerts")
        asyncio.run(follow())
    assert len(rows) == len(set(rows)) == len(expected)
    assert set(rows) == set(received) == expected
    printed = [json.loads(line)["event"]["date"] for line in capfd.readouterr().out.splitlines()]
    assert printed == [row[3] for row in rows]


def test_the_subscription_is_sent_again_after_a_loss() -> None:
    ports = free_port(), free_port()
    text = (FOLDER / "alerts.siddhi").read_text(encoding="utf-8")
    text = text.replace("localhost:8765", f"localhost:{ports[0]}").replace("'8766'", f"'{ports[1]}'")
    with SiddhiManager().create_siddhi_app_runtime(text) as runtime:
        rows = collect(runtime, "Messages")
        for number in (1, 2):
            with feed(ports[0]):
                wait_for(lambda number=number: len(rows) == number * 1009)
        assert [row[0] for row in rows].count("subscribed") == 2
