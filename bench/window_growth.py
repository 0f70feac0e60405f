"""Cost of an event as its window grows: ``python bench/window_growth.py``.

Every built-in window is filled with 10, 100, ... 1,000,000 events; then the time of further events is measured. The result
is nanoseconds per event, the best of R rounds of N events sent as tables. The query adds up a double by group, and a batch
callback counts its outputs. If the cost does not depend on the size of the window, all columns have the same figure,
except for the effect of the processor's caches, which hold a hundred thousand events but not a million.

Exit code 1 if an event costs more than ``--factor`` times as much with a million events as with a thousand.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

import numpy as np

SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
ROWS = 10_000
"""Events per table."""
START_MS = 1_500_000_000_000

Column = Callable[[int, np.ndarray], np.ndarray]
"""``fn(size, numbers of events)`` returns the values of a column."""


def one_a_millisecond(size: int, number: np.ndarray) -> np.ndarray:
    return START_MS + number


def one_window_a_second(size: int, number: np.ndarray) -> np.ndarray:
    return START_MS + number * 1000 // size


def bursts(size: int, number: np.ndarray) -> np.ndarray:
    """Return times for `size` events, one per millisecond, and then a pause after which all have left the window."""
    return START_MS + number + number // size * 10_000


def sixteen_groups(size: int, number: np.ndarray) -> np.ndarray:
    return number * 7 % 16


def two_million(size: int, number: np.ndarray) -> np.ndarray:
    """Return keys that are new to a window of `size` keys; every figure includes the cost of creating the texts."""
    return number % (2 * SIZES[-1])


@dataclass(frozen=True)
class Case:
    """One window. ``text`` contains ``{n}``, the size; ``fill`` is the number of events that fill it, as a multiple of the size."""

    text: str
    playback: bool = False
    times: Column = one_a_millisecond
    keys: Column = sixteen_groups
    fill: float = 1.0


CASES = {
    "length": Case("length({n})"),
    "lengthBatch": Case("lengthBatch({n})"),
    "time": Case("time({n})", playback=True),
    "timeBatch": Case("timeBatch({n})", playback=True),
    "timeLength": Case("timeLength({n}, {n})", playback=True),
    "externalTime": Case("externalTime(ts, {n})"),
    "externalTimeBatch": Case("externalTimeBatch(ts, {n})"),
    "session": Case("session(1000 milliseconds, name)", playback=True, times=bursts),
    "batch": Case("batch({n})"),
    "sort": Case("sort({n}, price)"),
    "frequent": Case("frequent({n}, name)", keys=two_million),
    "lossyFrequent": Case("lossyFrequent(0.5, {error}, name)", keys=two_million),
    "cron": Case("cron('* * * * * ?')", playback=True, times=one_window_a_second),
    "delay": Case("delay({n})", playback=True),
    "expression": Case("expression('count() <= {n}')"),
    "expressionBatch": Case("expressionBatch('count() <= {n}')"),
}


def app_of(case: Case, size: int) -> str:
    """Return the app: a sum by group, after the window."""
    window = case.text.format(n=size, error=f"{1 / size:.9f}")
    return (
        f"{'@app:playback ' if case.playback else ''}"
        "define stream S (name string, key int, price double, ts long);"
        f"from S#window.{window} select key, sum(price) as total group by key insert into Out;"
    )


def tables(case: Case, size: int, start: int, count: int) -> Iterator[Any]:
    """Return the events start, start + 1, ... as tables; their prices are neither sorted nor random."""
    import pyarrow as pa

    for first in range(start, start + count, ROWS):
        number = np.arange(first, min(first + ROWS, start + count), dtype=np.int64)
        keys = case.keys(size, number)
        yield pa.table(
            {
                "name": pa.array(keys.astype(str).tolist()),
                "key": pa.array(sixteen_groups(size, number).astype(np.int32)),
                "price": pa.array((number * 2_654_435_761 % 1_000_003).astype(np.float64) / 1000),
                "ts": pa.array(case.times(size, number)),
            }
        )


def nanoseconds(case: Case, size: int, events: int, rounds: int, clock: Callable[[], float]) -> float:
    """Return the time per event with a full window of a size."""
    from siddhi import SiddhiManager

    with SiddhiManager().create_siddhi_app_runtime(app_of(case, size)) as runtime:
        count = 0

        def add(batch: Any) -> None:
            nonlocal count
            count += len(batch)

        runtime.add_batch_callback("Out", add)
        send = runtime.input_handler("S").send_batch
        sent = int(size * (case.fill + 1))
        for table in tables(case, size, 0, sent):
            send(table, timestamp="ts")
        best = float("inf")
        # A batch is emitted once per window size, so a round contains at least one batch.
        per_round = max(events, size)
        for _ in range(rounds):
            ready = list(tables(case, size, sent, per_round))
            sent += per_round
            gc.collect()
            started = clock()
            for table in ready:
                send(table, timestamp="ts")
            best = min(best, (clock() - started) / per_round)
    return best * 1e9


def label(size: int) -> str:
    return f"{size:,}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", nargs="+", default=list(CASES), choices=list(CASES), metavar="NAME", help="all")
    parser.add_argument("--events", type=int, default=200_000, help="per round (default: 200,000)")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds, the best one counts (default: 3)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="do not measure larger windows")
    parser.add_argument("--cpu", action="store_true", help="measure processor time, for a machine with other load")
    parser.add_argument("--factor", type=float, default=4.0, help="maximal growth of the cost from 1,000 events on")
    options = parser.parse_args(arguments)
    sizes = [size for size in SIZES if size <= options.largest]
    print("ns per event, by events in the window")
    print(f"{'window':<20}" + "".join(f"{label(size):>11}" for size in sizes) + f"{'growth':>9}")
    grown = []
    for name in options.window:
        case = CASES[name]
        found = [
            nanoseconds(case, size, options.events, options.rounds, process_time if options.cpu else perf_counter)
            for size in sizes
        ]
        base = found[sizes.index(1_000)] if 1_000 in sizes else found[0]
        growth = found[-1] / base
        if growth > options.factor:
            grown.append(name)
        print(f"{name:<20}" + "".join(f"{ns:>11.0f}" for ns in found) + f"{growth:>9.1f}", flush=True)
    if grown:
        print(f"cost grows with the size of the window: {', '.join(grown)}")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
