"""Cost of an event as the number of partial matches grows: ``python bench/pattern_growth.py``.

A keyed pattern, ``every e1=S[b == false] -> e2=S[b == true and k == e1.k] within T``, has 100, 1,000, ... partial matches while
events arrive. The result is nanoseconds per event, the best of R rounds of N events, as tables or single rows:

- *match*: an event completes a random partial match, the next one starts another with a new key;
- *expire*: every event starts a partial match, and the oldest one expires; none is completed;
- *miss*: every event has a key that no partial match has.

Partial matches are chosen at random, so that neither order nor keys help the processor's caches. Every round runs each size
in turn, so that other load of the machine affects all sizes.

Then a million partial matches expire one by one, and the memory of the process is compared before and after.

Exit code 1 if an event with 100,000 partial matches costs more than ``--factor`` times that with 100, if a count is wrong, or
if the memory has grown.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numpy as np

import soak

SIZES = (100, 1_000, 10_000, 100_000)
ROWS = 10_000
"""Events per table."""
START_MS = 1_500_000_000_000
GROWN_MB = 2.0
"""Growth above the fluctuation of the interpreter itself."""


class Feed:
    """Generator of the events of one case, one per millisecond."""

    def __init__(self, case: str, size: int) -> None:
        self.case = case
        self.size = size
        self.sent = 0
        self.live = self.keys_of(np.arange(size, dtype=np.int64))
        self.random = np.random.default_rng(size)

    @staticmethod
    def keys_of(number: np.ndarray) -> np.ndarray:
        """Return unique keys."""
        return number * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407

    def app(self) -> str:
        within = self.size if self.case == "expire" else 1 << 40
        return (
            "define stream S (k long, b bool, v double, ts long);"
            f"from every e1=S[b == false] -> e2=S[b == true and k == e1.k] within {within} milliseconds "
            "select e1.v as begun, e2.v as ended insert into Out;"
        )

    def columns(self, count: int, ends: np.ndarray, keys: np.ndarray) -> dict[str, np.ndarray]:
        number = np.arange(self.sent, self.sent + count, dtype=np.int64)
        self.sent += count
        return {"k": keys, "b": ends, "v": number * 0.5, "ts": START_MS + number}

    def fill(self) -> dict[str, np.ndarray]:
        """Return the events that start the initial partial matches."""
        return self.columns(self.size, np.zeros(self.size, dtype=bool), self.live)

    def more(self, count: int) -> dict[str, np.ndarray]:
        fresh = self.keys_of(np.arange(self.sent, self.sent + count, dtype=np.int64))
        if self.case == "expire":
            return self.columns(count, np.zeros(count, dtype=bool), fresh)
        if self.case == "miss":
            return self.columns(count, np.ones(count, dtype=bool), fresh)
        ends = np.arange(count) % 2 == 0
        for at, place in zip(range(0, count, 2), self.random.integers(self.size, size=count // 2), strict=True):
            fresh[at], self.live[place] = self.live[place], fresh[at + 1]
        return self.columns(count, ends, fresh)


def senders(runtime: Any, *, batches: bool) -> tuple[Callable[[dict[str, np.ndarray]], Any], Callable[[Any], None]]:
    """Return a function that prepares columns (untimed), and one that sends them."""
    import pyarrow as pa

    handler = runtime.input_handler("S")

    def as_tables(columns: dict[str, np.ndarray]) -> list[Any]:
        table = pa.table({name: pa.array(column) for name, column in columns.items()})
        return [table.slice(first, ROWS) for first in range(0, len(table), ROWS)]

    def as_rows(columns: dict[str, np.ndarray]) -> list[Any]:
        lists = [column.tolist() for column in columns.values()]
        return list(zip(zip(*lists, strict=True), lists[-1], strict=True))

    def send_tables(tables: list[Any]) -> None:
        for table in tables:
            handler.send_batch(table, timestamp="ts")

    def send_rows(rows: list[Any]) -> None:
        send = handler.send
        for row, ts in rows:
            send(row, timestamp=ts)

    return (as_tables, send_tables) if batches else (as_rows, send_rows)


class Subject:
    """A pattern with a number of partial matches."""

    def __init__(self, case: str, size: int, *, batches: bool) -> None:
        from siddhi import SiddhiManager

        self.feed = Feed(case, size)
        self.found = 0
        self.expected = 0
        self.best = float("inf")
        self.runtime = SiddhiManager().create_siddhi_app_runtime(self.feed.app())
        if batches:
            self.runtime.add_batch_callback("Out", self.add)
        else:
            self.runtime.add_callback("Out", self.add)
        self.runtime.start()
        self.ready, self.send = senders(self.runtime, batches=batches)
        self.send(self.ready(self.feed.fill()))

    def add(self, found: Any) -> None:
        self.found += len(found)

    def round(self, events: int, clock: Callable[[], float]) -> None:
        ready = self.ready(self.feed.more(events))
        gc.collect()
        started = clock()
        self.send(ready)
        self.best = min(self.best, (clock() - started) / events * 1e9)
        self.expected += events // 2 if self.feed.case == "match" else 0


def measure(case: str, sizes: list[int], options: argparse.Namespace) -> tuple[list[float], bool]:
    """Return the nanoseconds per event by size, and whether all matches were found."""
    subjects = [Subject(case, size, batches=options.mode == "batch") for size in sizes]
    for _ in range(options.rounds + 1):  # the first round fragments the memory
        for subject in subjects:
            subject.round(options.events, process_time if options.cpu else perf_counter)
    for subject in subjects:
        subject.runtime.shutdown()
    return [subject.best for subject in subjects], all(s.found == s.expected for s in subjects)


def memory_grown(expired: int) -> float:
    """Return the MB by which the process has grown while partial matches expired."""
    subject = Subject("expire", 1_000, batches=True)
    for _ in range(10):
        subject.round(ROWS, perf_counter)
    before = soak.resident_mb()
    for _ in range(expired // ROWS):
        subject.round(ROWS, perf_counter)
    gc.collect()
    grown = soak.resident_mb() - before
    subject.runtime.shutdown()
    return grown


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cases = ["match", "expire", "miss"]
    parser.add_argument(
        "--case", nargs="+", default=cases, choices=cases, metavar="NAME", help=f"of {', '.join(cases)}"
    )
    parser.add_argument("--mode", choices=["batch", "event"], default="batch", help="tables or single rows")
    parser.add_argument("--events", type=int, default=200_000, help="per round (default: 200,000)")
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds, the best one counts (default: 5)")
    parser.add_argument(
        "--largest", type=int, default=SIZES[-1], help="maximal number of partial matches; sizes are powers of ten"
    )
    parser.add_argument("--cpu", action="store_true", help="measure processor time, for a machine with other load")
    parser.add_argument(
        "--factor", type=float, default=2.0, help="maximal growth of the cost from 100 to 100,000 partial matches"
    )
    options = parser.parse_args(arguments)
    options.events -= options.events % 2
    sizes = [size for size in (*SIZES, 1_000_000) if size <= options.largest]
    wrong = []
    print(f"ns per event in {'tables' if options.mode == 'batch' else 'single rows'}, by partial matches held")
    print(f"{'case':<10}" + "".join(f"{size:>11,}" for size in sizes) + f"{'growth':>9}")
    for case in options.case:
        found, right = measure(case, sizes, options)
        growth = found[sizes.index(min(sizes[-1], SIZES[-1]))] / found[0]
        print(f"{case:<10}" + "".join(f"{ns:>11.0f}" for ns in found) + f"{growth:>9.2f}", flush=True)
        if not right:
            wrong.append(f"{case}: wrong number of matches")
        if growth > options.factor:
            wrong.append(f"{case}: cost grows by a factor of {growth:.2f}, {options.factor} allowed")
    grown = memory_grown(1_000_000)
    print(f"memory after a million have expired: {grown:+.1f} MB")
    if grown > GROWN_MB:
        wrong.append(f"memory has grown by {grown:.1f} MB after partial matches expired")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
