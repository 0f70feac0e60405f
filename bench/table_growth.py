"""Cost of a lookup by primary key as a table grows: ``python bench/table_growth.py``.

A table of 1,000, 10,000, ... 10 million rows is joined with a stream of random keys, all of which the table contains. The
result is nanoseconds per event, the best of R rounds of N events, sent as tables of 10,000 rows or one by one. Keys are
integers, or texts (up to ``--texts`` rows). Bytes per row are the growth of the process while the table was filled.

Exit code 1 if a result is wrong, or if an event costs more than ``--factor`` times as much with the largest table of
integer keys as with the smallest one, with events in tables.
"""

from __future__ import annotations

import argparse
import gc
import sys
from time import perf_counter, process_time
from typing import Any

import numpy as np

import soak

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
ROWS = 10_000
"""Events per table."""
APP = """
define stream Fill (k {type}, v double);
define stream S (k {type}, w double);
@primaryKey('k') define table T (k {type}, v double);
from Fill insert into T;
from S join T on T.k == S.k select T.v as v, S.w as w insert into Out;
"""


def keys_of(numbers: np.ndarray) -> np.ndarray:
    """Return keys that do not reveal the position of their row."""
    return numbers * np.int64(6_364_136_223_846_793_005) + np.int64(1_442_695_040_888_963_407)


class Subject:
    """An app with a table of a given size."""

    def __init__(self, size: int, *, texts: bool) -> None:
        from siddhi import SiddhiManager

        self.size, self.texts = size, texts
        self.random = np.random.default_rng(size)
        self.best: dict[str, float] = {}
        self.found = self.expected = 0
        self.names = [f"key {key}" for key in keys_of(np.arange(size, dtype=np.int64)).tolist()] if texts else []
        gc.collect()
        before = soak.resident_mb()
        self.runtime = SiddhiManager().create_siddhi_app_runtime(APP.format(type="string" if texts else "long"))
        self.runtime.add_batch_callback("Out", self.take)
        self.runtime.start()
        fill = self.runtime.input_handler("Fill")
        for first in range(0, size, 100_000):
            numbers = np.arange(first, min(first + 100_000, size), dtype=np.int64)
            fill.send_batch({"k": self.keys(numbers), "v": numbers * 0.5})
        gc.collect()
        self.bytes_per_row = (soak.resident_mb() - before) * 1e6 / size

    def take(self, batch: Any) -> None:
        self.found += len(batch)

    def keys(self, numbers: np.ndarray) -> Any:
        return [self.names[number] for number in numbers] if self.texts else keys_of(numbers)

    def tables(self, count: int) -> list[Any]:
        import pyarrow as pa

        made = []
        for _ in range(0, count, ROWS):
            keys = self.keys(self.random.integers(self.size, size=ROWS))
            made.append(pa.table({"k": pa.array(keys), "w": pa.array(np.arange(ROWS) * 0.5)}))
        return made

    def rows(self, count: int) -> list[Any]:
        numbers = self.random.integers(self.size, size=count)
        keys = self.keys(numbers)
        return [(key, 0.5) for key in (keys if self.texts else keys.tolist())]

    def measure(self, count: int, clock: Any) -> None:
        handler = self.runtime.input_handler("S")
        tables, rows = self.tables(count), self.rows(count // 4)
        gc.collect()
        began = clock()
        for table in tables:
            handler.send_batch(table)
        self.note("tables", (clock() - began) / (len(tables) * ROWS))
        send = handler.send
        began = clock()
        for row in rows:
            send(row)
        self.note("rows", (clock() - began) / len(rows))
        self.expected += len(tables) * ROWS + len(rows)

    def note(self, case: str, seconds: float) -> None:
        self.best[case] = min(self.best.get(case, float("inf")), seconds * 1e9)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--events", type=int, default=500_000, help="events in tables per round; a quarter of them one by one"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--texts", type=int, default=1_000_000, help="rows of the largest table with texts as keys")
    parser.add_argument("--factor", type=float, default=3.0)
    parser.add_argument("--cpu", action="store_true", help="measure processor time instead of wall time")
    arguments = parser.parse_args()
    clock = process_time if arguments.cpu else perf_counter
    failed = False
    for texts in (False, True):
        sizes = [size for size in arguments.sizes if not texts or size <= arguments.texts]
        smallest = 0.0
        for size in sizes:
            subject = Subject(size, texts=texts)
            for _ in range(arguments.rounds):
                subject.measure(arguments.events, clock)
            right = subject.found == subject.expected
            failed |= not right
            smallest = smallest or subject.best["tables"]
            growth = subject.best["tables"] / smallest
            print(
                f"{'texts' if texts else 'numbers':8} {size:>11,} rows  {subject.best['tables']:6.0f} ns in tables "
                f"({growth:.1f} x)  {subject.best['rows']:6.0f} ns one by one  {subject.bytes_per_row:5.0f} bytes/row"
                f"{'' if right else f'  WRONG: {subject.found} of {subject.expected} found'}",
                flush=True,
            )
            subject.runtime.shutdown()
            if not texts and size == sizes[-1] and growth > arguments.factor:
                print(f"FAILED: cost grows by a factor of {growth:.1f}, {arguments.factor} allowed")
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
