"""Speed of temporal events: ``python bench/temporal.py``.

*rates*: M rows/s of each query, the best of R runs. A row has a lifetime; a CTI follows every 100 rows. In *event* mode each
row is one call of ``insert`` or ``point``, and a temporal callback gets the items; in *batch* mode rows are tables of 10,000
rows for ``insert_batch``, and the output is collected as columns. The output of every run is compared with what numpy
computes.

*growth*: nanoseconds per change while 1,000, … 1,000,000 lifetimes are alive. A row makes two changes: one at its start, one
at its end. The lengths are equal, so that rows leave in the order in which they came, or random, so that every row that leaves
is a cache miss.

Exit code 1 if an output is wrong, or if a change with a million lifetimes costs more than ``--factor`` times that with a
thousand (random lengths: ``--random-factor``).
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

import numpy as np

ROWS = 10_000
"""Rows per table."""
GROWTH_ROWS = 1_000
"""Rows per table, and CTI, while the number of live lifetimes grows."""
EVERY = 100
"""Rows per CTI of event mode."""
LIVE = 1_000
"""Lifetimes that are alive at a time."""
SIZES = (1_000, 10_000, 100_000, 1_000_000)
START_MS = 1_500_000_000_000
MAX = (1 << 63) - 1

Clock = Callable[[], float]
Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Scenario:
    """A query, its input and the number of its results.

    Attributes:
        query: inserts into Out.
        rows: columns of the streams from the number of rows; ``start``, ``end`` (absent: points), ``k``, ``v``.
        results: number of results from the same columns.
    """

    query: str
    rows: Callable[[int], dict[str, Columns]]
    results: Callable[[dict[str, Columns]], int]

    @property
    def app(self) -> str:
        return (
            "@temporal(model = 'interval') define stream A (k int, v double);"
            "@temporal(model = 'interval') define stream B (k int, v double);"
            f"{self.query} insert into Out;"
        )


def lifetimes(length: int, keys: int = 1_000) -> Callable[[int], dict[str, Columns]]:
    """Return a maker of rows of stream A: one starts per millisecond and is valid for `length` ms; 0: points."""

    def make(n: int) -> dict[str, Columns]:
        number = np.arange(n, dtype=np.int64)
        columns: Columns = {
            "start": START_MS + number,
            "k": (number * 7_919 % keys).astype(np.int32),
            "v": (number * 2_654_435_761 % 1_000_003).astype(np.float64) / 1000,
        }
        if length:
            columns["end"] = columns["start"] + length
        return {"A": columns}

    return make


def two_sides(n: int) -> dict[str, Columns]:
    """Return rows of A and B, each valid for ten milliseconds; one row in a hundred finds a match on the other side."""
    half = np.arange(n // 2, dtype=np.int64)
    a: Columns = {"start": START_MS + half, "end": START_MS + half + 10, "k": half.astype(np.int32), "v": half * 0.5}
    b: Columns = dict(a, k=np.where(half % 100 == 0, half, -1 - half).astype(np.int32))
    return {"A": a, "B": b}


def distinct_windows(hop: int, size: int) -> Callable[[dict[str, Columns]], int]:
    """Return the number of windows on the grid that contain points."""

    def count(streams: dict[str, Columns]) -> int:
        first, last = streams["A"]["start"][0], streams["A"]["start"][-1]
        return int(last // hop - (first - size) // hop)

    return count


SCENARIOS = {
    "filter": Scenario("from A[v > 500.0] select k, v", lifetimes(10), lambda s: int((s["A"]["v"] > 500).sum())),
    "join": Scenario(
        "from A as l join B as r on l.k == r.k select l.k as k, l.v as v, r.v as w",
        two_sides,
        lambda s: int((s["B"]["k"] >= 0).sum()),
    ),
    "snapshot": Scenario(
        "from A#window.snapshot() select count() as n, sum(v) as total",
        lifetimes(LIVE),
        lambda s: len(s["A"]["start"]) + LIVE - 1,
    ),
    "snapshot_extremum": Scenario(
        "from A#window.snapshot() select min(v) as low, max(v) as high",
        lifetimes(LIVE),
        lambda s: len(s["A"]["start"]) + LIVE - 1,
    ),
    "tumbling": Scenario(
        "from A#window.tumbling(1000) select count() as n, sum(v) as total", lifetimes(0), distinct_windows(1000, 1000)
    ),
    "hopping": Scenario(
        "from A#window.hopping(1000, 100) select count() as n, sum(v) as total",
        lifetimes(0),
        distinct_windows(100, 1000),
    ),
    "time_weighted": Scenario(
        "from A#window.tumbling(100, 0, 'clip') select temporal:timeWeightedAvg(v) as x",
        lifetimes(LIVE),
        lambda s: int((s["A"]["end"][-1] - 1) // 100 - s["A"]["start"][0] // 100 + 1),
    ),
    "top_10": Scenario(
        "from A#window.tumbling(100) select k, v order by v desc limit 10",
        lifetimes(LIVE),
        lambda s: sum(
            min(10, int(((s["A"]["start"] < at + 100) & (s["A"]["end"] > at)).sum()))
            for at in range(START_MS, int(s["A"]["end"][-1]), 100)
        ),
    ),
    "clip_by_next": Scenario(
        "from A#temporal:pointToSignal(k) select k, v", lifetimes(0), lambda s: len(s["A"]["start"])
    ),
    "anti_join": Scenario(
        "from A#temporal:antiJoin(B, k == B.k) select k, v", two_sides, lambda s: int((s["B"]["k"] < 0).sum())
    ),
}


def tables(columns: Columns, rows: int = ROWS) -> list[Any]:
    """Return columns as tables."""
    import pyarrow as pa

    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    return [table.slice(first, rows) for first in range(0, len(table), rows)]


def timed(scenario: Scenario, mode: str, n: int, clock: Clock) -> tuple[float, int]:
    """Return the seconds of one run in a new app, and the number of results."""
    from siddhi import SiddhiManager

    streams = scenario.rows(n)
    results = 0

    def add(items: list[Any]) -> None:
        nonlocal results
        results += len(items) - (bool(items) and items[-1].kind == "cti")

    def add_batch(batch: Any) -> None:
        nonlocal results
        results += len(batch)

    with SiddhiManager().create_siddhi_app_runtime(scenario.app) as runtime:
        if mode == "event":
            runtime.add_temporal_callback("Out", add)
        else:
            runtime.add_batch_callback("Out", add_batch)
        run = (run_events if mode == "event" else run_batches)(runtime, streams)
        gc.collect()
        gc.freeze()  # exclude the input rows from garbage collection
        started = clock()
        run()
        seconds = clock() - started
    return seconds, results


def run_events(runtime: Any, streams: dict[str, Columns]) -> Callable[[], None]:
    """Return a function that sends rows one by one, the streams in turn."""
    handlers = [runtime.input_handler(stream) for stream in streams]
    points = "end" not in streams["A"]
    rows = []
    for columns in streams.values():
        data = zip(columns["k"].tolist(), columns["v"].tolist())
        times = (columns[name].tolist() for name in ("start", "end") if name in columns)
        rows.append(list(zip(*times, data)))
    ctis = streams["A"]["start"].tolist()

    def run() -> None:
        for first in range(0, len(ctis), EVERY):
            for handler, mine in zip(handlers, rows):
                if points:
                    point = handler.point
                    for start, row in mine[first : first + EVERY]:
                        point(start, row)
                else:
                    insert = handler.insert
                    for start, end, row in mine[first : first + EVERY]:
                        insert(start, end, row)
            for handler in handlers:
                handler.cti(ctis[min(first + EVERY, len(ctis)) - 1])
        for handler in handlers:
            handler.cti(MAX)

    return run


def run_batches(runtime: Any, streams: dict[str, Columns]) -> Callable[[], None]:
    """Return a function that sends tables, the streams in turn."""
    handlers = [runtime.input_handler(stream) for stream in streams]
    ready = [tables(columns) for columns in streams.values()]
    end = "end" if "end" in streams["A"] else None
    ctis = [int(table["start"][-1].as_py()) for table in ready[0]]

    def run() -> None:
        for number, cti in enumerate(ctis):
            for handler, mine in zip(handlers, ready):
                handler.insert_batch(mine[number], start="start", end=end, cti=cti)
        for handler in handlers:
            handler.cti(MAX)

    return run


GROWTH = {
    "snapshot": "from A#window.snapshot() select count() as n, sum(v) as total",
    "extremum": "from A#window.snapshot() select min(v) as low, max(v) as high",
    "join": "from A as l join B as r on l.k == r.k select l.k as k, l.v as v, r.v as w",
    "top_10": "from A#window.snapshot() select k, v order by v desc limit 10",
    "anti_join": "from A#temporal:antiJoin(B, k == B.k) select k, v",
}


class Growing:
    """A query with a number of lifetimes alive: one begins per millisecond; their lengths are equal or random.

    A query of two streams has them on both sides; half of the rows find a match.
    """

    def __init__(self, query: str, size: int, *, even: bool = False) -> None:
        from siddhi import SiddhiManager

        self.size = size
        self.even = even
        self.sides = ["A", "B"] if "B" in query else ["A"]
        self.random = np.random.default_rng(size)
        self.sent = 0
        self.best = float("inf")
        self.results = 0
        self.runtime = SiddhiManager().create_siddhi_app_runtime(Scenario(query, lifetimes(0), len).app)
        self.runtime.add_batch_callback("Out", self.add)
        self.runtime.start()
        self.handlers = [self.runtime.input_handler(side) for side in self.sides]
        self.send(self.more(2 * size // len(self.sides)))

    def add(self, batch: Any) -> None:
        self.results += len(batch)

    def more(self, n: int) -> list[tuple[Any, int, list[Any]]]:
        """Return (handler, CTI, table) of the next n rows per side."""
        number = np.arange(self.sent, self.sent + n, dtype=np.int64)
        self.sent += n
        made = []
        for side, handler in zip(self.sides, self.handlers):
            alive = self.size // len(self.sides)
            keys = number * 2 if side == "A" else np.where(number % 2 == 0, number * 2, -1 - number)
            columns = {
                "start": number,
                "end": number + (alive if self.even else self.random.integers(1, 2 * alive, n)),
                "k": keys.astype(np.int32),
                "v": self.random.random(n),
            }
            made.append([(handler, table) for table in tables(columns, GROWTH_ROWS)])
        return [(handler, int(table["start"][-1].as_py()), table) for turn in zip(*made) for handler, table in turn]

    @staticmethod
    def send(ready: list[tuple[Any, int, Any]]) -> None:
        for handler, cti, table in ready:
            handler.insert_batch(table, start="start", end="end", cti=cti)

    def round(self, rows: int, clock: Clock) -> None:
        ready = self.more(rows // len(self.sides))
        gc.collect()
        started = clock()
        self.send(ready)
        self.best = min(self.best, (clock() - started) / (2 * rows) * 1e9)


def measure_rates(options: argparse.Namespace, clock: Clock) -> list[str]:
    wrong = []
    print(f"{'query':<20}" + "".join(f"{mode:>9}" for mode in options.mode) + "   M rows/s")
    for name in options.query:
        scenario = SCENARIOS[name]
        expected = scenario.results(scenario.rows(options.rows))
        rates = []
        for mode in options.mode:
            runs = [timed(scenario, mode, options.rows, clock) for _ in range(options.repeat)]
            rates.append(options.rows / min(seconds for seconds, _ in runs) / 1e6)
            wrong += [f"{name}, {mode}: {got} results, not {expected}" for _, got in runs[:1] if got != expected]
        print(f"{name:<20}" + "".join(f"{rate:>9.2f}" for rate in rates), flush=True)
    return wrong


def measure_growth(options: argparse.Namespace, clock: Clock) -> list[str]:
    wrong = []
    sizes = [size for size in SIZES if size <= options.largest]
    print(f"{'ns per change':<20}{'lengths':<9}" + "".join(f"{size:>11,}" for size in sizes) + f"{'growth':>9}")
    for name in options.growth:
        for even in (True, False):
            lengths, limit = ("equal", options.factor) if even else ("random", options.random_factor)
            subjects = [Growing(GROWTH[name], size, even=even) for size in sizes]
            for _ in range(options.repeat):
                for subject in subjects:
                    subject.round(options.rows, clock)
            for subject in subjects:
                subject.runtime.shutdown()
            found = [subject.best for subject in subjects]
            growth = found[-1] / found[0]
            figures = "".join(f"{ns:>11.0f}" for ns in found)
            print(f"{name:<20}{lengths:<9}{figures}{growth:>9.2f}", flush=True)
            if growth > limit:
                wrong.append(f"{name}, {lengths} lengths: a change costs {growth:.2f} times as much, {limit} allowed")
            if any(subject.results == 0 for subject in subjects):
                wrong.append(f"{name}, {lengths} lengths: no results")
    return wrong


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--query", nargs="*", default=list(SCENARIOS), choices=list(SCENARIOS), metavar="NAME")
    parser.add_argument("--growth", nargs="*", default=list(GROWTH), choices=list(GROWTH), metavar="NAME")
    parser.add_argument("--mode", nargs="+", default=["event", "batch"], choices=["event", "batch"])
    parser.add_argument("--rows", type=int, default=200_000, help="per run (default: 200,000)")
    parser.add_argument("--repeat", type=int, default=3, help="number of timed runs, the best one counts (default: 3)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="maximal number of live lifetimes")
    parser.add_argument("--factor", type=float, default=2.5, help="maximal growth of the cost, lengths equal")
    parser.add_argument("--random-factor", type=float, default=10.0, help="maximal growth of the cost, lengths random")
    parser.add_argument("--cpu", action="store_true", help="measure processor time, for a machine with other load")
    options = parser.parse_args(arguments)
    clock = process_time if options.cpu else perf_counter
    wrong = measure_rates(options, clock) if options.query else []
    wrong += measure_growth(options, clock) if options.growth else []
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
