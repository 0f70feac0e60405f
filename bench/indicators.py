"""Indicators, order statistics and windows of ``unique`` beside loops in C: ``python -m bench.indicators`` in the checkout.

Nanoseconds of processor time per event in batches of 4096 rows, the best of R rounds: the query, its
difference to one that only passes the value on (*net*), the loop of ``limits/indicators.pyx``, and how often net holds it.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import siddhi

BATCH, BATCHES, KEYS = 4096, 24, 200

PASSED = "pass on"
CASES: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    PASSED: ("from S select v as x", "Copy", ()),
    "ema(v, 12)": ("from S select ema(v, 12) as x", "Ema", (2 / 13,)),
    "ta:ema(v, 12)": ("from S select ta:ema(v, 12) as x", "Ema", (2 / 13,)),
    "ta:sma(v, 20)": ("from S select ta:sma(v, 20) as x", "Sma", (20,)),
    "ta:rsi(v, 14)": ("from S select ta:rsi(v, 14) as x", "Rsi", (14.0,)),
    "median, length 100": ("from S#window.length(100) select median(v) as x", "Median", (100,)),
    "median, length 1000": ("from S#window.length(1000) select median(v) as x", "Median", (1000,)),
    "first, length 100": ("from S#window.length(100) select first(v) as x", "First", (100,)),
    "sum, unique:ever": ("from S#window.unique:ever(k) select sum(v) as x", "UniqueSum", ("ever", 0)),
    "sum, unique:length 50": ("from S#window.unique:length(k, 50) select sum(v) as x", "UniqueSum", ("length", 50)),
    "sum, unique:time 100": ("from S#window.unique:time(k, 100) select sum(v) as x", "UniqueSum", ("time", 100)),
}


def best(repeat: int, run: Callable[[], float]) -> float:
    """Return the least nanoseconds per event."""
    return min(run() for _ in range(repeat)) * 1e9 / (BATCH * BATCHES)


def measure(name: str, repeat: int) -> tuple[float, float]:
    """Return nanoseconds per event of the query and of the loop."""
    query, loop, parameters = CASES[name]
    numbers = np.random.default_rng(1)
    batches = [
        {
            "k": numbers.integers(0, KEYS, BATCH),
            "v": numbers.random(BATCH),
            "t": 1_700_000_000_000 + at * BATCH + np.arange(BATCH),
        }
        for at in range(BATCHES)
    ]
    module = importlib.import_module("limits.indicators")

    def engine() -> float:
        app = f"@app:playback define stream S (k long, v double); {query} insert into O;"
        with siddhi.run(app) as runtime:
            runtime.add_batch_callback("O", lambda _batch: None)
            send = runtime.input_handler("S").send_batch
            started = process_time()
            for batch in batches:
                send(batch, timestamp="t")
            return process_time() - started

    def in_c() -> float:
        run = getattr(module, loop)().run
        started = process_time()
        for batch in batches:
            run(batch["k"], batch["v"], *parameters)
        return process_time() - started

    return best(repeat, engine), best(repeat, in_c)


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    importlib.import_module("limits.build").build()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    print(f"{'ns per event':28} {'query':>8} {'net':>8} {'loop':>8} {'ratio':>8}")
    passed = 0.0
    for name in CASES:
        query, loop = measure(name, options.repeat)
        passed = query if name == PASSED else passed
        print(f"{name:28} {query:8.0f} {query - passed:8.0f} {loop:8.1f} {(query - passed) / loop:8.1f}")


if __name__ == "__main__":
    main()
