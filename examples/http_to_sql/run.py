"""Run the apps of this folder, send the bars of each day as a request, and print what is in the database then.

python run.py [--broker localhost:9092] [--topic bars] [--port 8280] [--database breakouts.db]
"""

from __future__ import annotations

import argparse
import http.client
import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from siddhi import SiddhiManager

here = Path(__file__).parent
options = argparse.ArgumentParser()
options.add_argument("--broker", default="localhost:9092")
options.add_argument("--topic", default="bars")
options.add_argument("--port", type=int, default=8280)
options.add_argument("--database", default="breakouts.db")
given = options.parse_args()


def app(name: str) -> str:
    """Return the text of an app with the given addresses."""
    text = (here / name).read_text(encoding="utf-8")
    text = text.replace("localhost:9092", given.broker).replace("'bars'", f"'{given.topic}'")
    return text.replace(":8280/", f":{given.port}/").replace("breakouts.db", given.database)


days = (here / "bars.jsonl").read_text(encoding="utf-8").splitlines()
total = sum(len(json.loads(day)) for day in days)
read: list = []
all_read = threading.Event()


def count(events: list) -> None:
    read.extend(events)
    if len(read) >= total:
        all_read.set()


manager = SiddhiManager()
breakouts = manager.create_siddhi_app_runtime(app("breakouts.siddhi"))
breakouts.add_callback("Bars", count)
gateway = manager.create_siddhi_app_runtime(app("gateway.siddhi"))
with breakouts, gateway, closing(http.client.HTTPConnection("127.0.0.1", given.port)) as client:
    for day in days:
        client.request("POST", "/bars", day, {"Content-Type": "application/json"})
        answer = client.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"status {answer.status} for {day}")
    if not all_read.wait(60):
        raise SystemExit(f"{total - len(read)} bars did not arrive from {given.broker}")

with closing(sqlite3.connect(given.database)) as connection:
    for row in connection.execute("SELECT date, symbol, close, average FROM Breakouts ORDER BY date, symbol"):
        print(json.dumps(dict(zip(("date", "symbol", "close", "average"), row, strict=True))))
