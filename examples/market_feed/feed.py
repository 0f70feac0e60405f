"""A market feed on this computer: replays bars.csv to each client that subscribes, in the way of an exchange.

    python feed.py --port 8765 --pause 0.01

A client connects to ws://localhost:8765/stream and sends {"op": "subscribe", "symbols": ["IBM"]}. It gets a confirmation, then
one message for each bar of these symbols.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
from pathlib import Path

from websockets.asyncio.server import ServerConnection, serve

BARS = Path(__file__).with_name("bars.csv")


def messages(symbols: list[str]) -> list[str]:
    """The messages that a subscriber gets."""
    with BARS.open(encoding="utf-8", newline="") as file:
        bars = [row for row in csv.DictReader(file) if row["symbol"] in symbols]
    found = [{"type": "subscribed", "symbols": symbols}]
    for bar in bars:
        numbers = {name: float(bar[name]) for name in ("open", "high", "low", "close")}
        found.append(
            {"type": "bar", "date": bar["date"], "symbol": bar["symbol"], **numbers, "volume": int(bar["volume"])}
        )
    return [json.dumps(message) for message in found]


async def main(port: int, pause: float) -> None:
    async def subscribe(connection: ServerConnection) -> None:
        request = json.loads(await connection.recv())
        for message in messages(request["symbols"]):
            await connection.send(message)
            if pause:
                await asyncio.sleep(pause)
        await connection.wait_closed()

    async with serve(subscribe, "localhost", port) as server:
        await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Replay bars.csv to WebSocket clients.")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--pause", type=float, default=0.01, help="seconds between two bars")
    given = parser.parse_args()
    asyncio.run(main(given.port, given.pause))
