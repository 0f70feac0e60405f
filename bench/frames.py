"""Frame to frame: ``python bench/frames.py``.

Seconds of processor time for 10 million trades in a pandas frame, the best of R rounds in turns: through ``siddhi.query``, and
by hand with ``send_batch`` and ``drain``, with columns in and out. *merged*: two frames that are merged by time, row by row in
turns, at a tenth of the events, which ``send_batch`` has no counterpart for.

Exit code 1 if ``siddhi.query`` takes more than 1.1 times as long as the calls by hand.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable
from functools import partial
from time import process_time

import numpy as np
import pandas as pd

import siddhi

START_MS = 1_700_000_000_000
LIMIT = 1.1
DEFINITION = "define stream Trades (symbol string, price double, volume long);\n"
QUERIES = {
    "filter": "from Trades[price > 0.5] select symbol, price insert into Out;",
    "window": "from Trades#window.time(1 sec) select symbol, avg(price) as mean, sum(volume) as total group by symbol "
    "insert into Out;",
}
MERGED = """define stream A (x double); define stream B (x double);
from A#window.length(1) as a join B#window.length(1) as b on a.x >= 0.0 select a.x as x, b.x as y insert into Out;"""


def trades(n: int) -> pd.DataFrame:
    random = np.random.default_rng(7)
    names = np.array([f"SYM{i:03d}" for i in range(100)], object)
    columns = {
        "timestamp": np.arange(n) // 10 + START_MS,
        "symbol": pd.Categorical(names[random.integers(0, 100, n)]),
        "price": random.random(n),
        "volume": random.integers(0, 1000, n),
    }
    frame: pd.DataFrame = pd.DataFrame(columns)
    return frame


def by_query(text: str, frame: pd.DataFrame) -> siddhi.EventBatch:
    return siddhi.query(text, Trades=frame, until=None)["Out"]


def by_hand(text: str, frame: pd.DataFrame) -> siddhi.EventBatch:
    app = siddhi.App(text)
    app.enable_playback(True)
    app.collect("Out", timestamp=None, chunk=None)
    with app:
        app["Trades"].send_batch(frame, timestamp="timestamp")
        return app.drain()["Out"]


def timed(work: Callable[[], siddhi.EventBatch]) -> tuple[float, int]:
    gc.collect()
    start = process_time()
    rows = len(work())
    return process_time() - start, rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    frame = trades(options.events)
    slow = []
    for name, query in QUERIES.items():
        text = DEFINITION + query
        best = {by_query: float("inf"), by_hand: float("inf")}
        for _ in range(options.repeat):
            counts = set()
            for way, before in list(best.items()):
                seconds, rows = timed(partial(way, text, frame))
                best[way] = min(before, seconds)
                counts.add(rows)
            assert len(counts) == 1, "both ways have the same result"
        ratio = best[by_query] / best[by_hand]
        print(f"{name:8} query {best[by_query]:6.2f} s, by hand {best[by_hand]:6.2f} s, ratio {ratio:.3f}")
        if ratio > LIMIT:
            slow.append(name)
    n = options.events // 20
    sides = {
        "A": pd.DataFrame({"timestamp": np.arange(n) * 2 + START_MS, "x": np.arange(n) / 2}),
        "B": pd.DataFrame({"timestamp": np.arange(n) * 2 + 1 + START_MS, "x": np.arange(n) / 3}),
    }
    seconds, _ = timed(lambda: siddhi.query(MERGED, sides)["Out"])
    print(f"{'merged':8} query {seconds:6.2f} s for {2 * n:,} events in turns, {2 * n / seconds / 1e6:.2f} M events/s")
    if slow:
        print(f"over {LIMIT} times of the calls by hand: {', '.join(slow)}")
    return bool(slow)


if __name__ == "__main__":
    sys.exit(main())
