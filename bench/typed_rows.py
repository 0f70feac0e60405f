"""Typed rows in and out: ``python bench/typed_rows.py --cpu``.

M events/s, the best of R rounds in turns, of trades with three attributes through a query that selects them all:

- *send*: one ``send`` per object; *batch*: ``send_batch`` with lists of 10,000 objects. Nothing is attached to the output.
- *out*: columns in, and a callback with ``type=`` that counts; *tuple* stands for plain events. The input takes part.
- *callback*: one ``send`` of a tuple with a synchronous callback, which typed rows must not slow down.

Exit code 1 if one of the typed figures is below 3 M events/s.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np

import siddhi

LIMIT = 3.0
ROWS = 10_000
TEXT = (
    "define stream In (symbol string, price double, volume long); from In select symbol, price, volume insert into Out;"
)


@dataclasses.dataclass
class Plain:
    symbol: str
    price: float
    volume: int


@dataclasses.dataclass(slots=True, frozen=True)
class Slots:
    volume: int
    symbol: str
    price: float


class Struct(msgspec.Struct):
    symbol: str
    price: float
    volume: int


class Named(NamedTuple):
    volume: int
    symbol: str
    price: float


KINDS: dict[str, Any] = {"dataclass": Plain, "slots": Slots, "msgspec": Struct, "named tuple": Named, "dict": dict}


def trades(n: int) -> list[tuple[str, float, int]]:
    names = [f"SYM{i:03d}" for i in range(100)]
    return [(names[i % 100], i / 7, i) for i in range(n)]


def by_send(rows: list[Any], app: siddhi.App) -> None:
    send = app["In"].send
    for row in rows:
        send(row)


def by_batch(rows: list[Any], app: siddhi.App) -> None:
    send_batch = app["In"].send_batch
    for start in range(0, len(rows), ROWS):
        send_batch(rows[start : start + ROWS])


def columns_in(columns: dict[str, Any], app: siddhi.App) -> None:
    for start in range(0, len(columns["price"]), ROWS):
        app["In"].send_batch({name: values[start : start + ROWS] for name, values in columns.items()})


def timed(work: Callable[[siddhi.App], None], clock: Callable[[], float], kind: Any, *, counted: int | None) -> float:
    count = 0

    def callback(rows: list[Any]) -> None:
        nonlocal count
        count += len(rows)

    with siddhi.App(TEXT) as app:
        if counted is not None:
            app.on("Out", callback, type=kind) if kind is not None else app.on("Out", callback)
        gc.collect()
        gc.freeze()
        start = clock()
        work(app)
        seconds = clock() - start
    assert counted is None or count == counted
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--cpu", action="store_true", help="processor time, on a machine with other load")
    options = parser.parse_args()
    clock, n = time.process_time if options.cpu else time.perf_counter, options.events
    rows = trades(n)
    columns = {
        "symbol": np.array([row[0] for row in rows], object),
        "price": np.array([row[1] for row in rows]),
        "volume": np.array([row[2] for row in rows]),
    }
    names = tuple(columns)
    objects = {name: [kind(**dict(zip(names, row))) for row in rows] for name, kind in KINDS.items()}
    objects = {"tuple": rows, **objects}
    best: dict[tuple[str, str], float] = {}
    for _ in range(options.repeat):
        for name, given in objects.items():
            kind = KINDS.get(name)
            for way, seconds in (
                ("send", timed(partial(by_send, given), clock, None, counted=None)),
                ("batch", timed(partial(by_batch, given), clock, None, counted=None)),
                ("out", timed(partial(columns_in, columns), clock, kind, counted=n)),
            ):
                best[name, way] = min(best.get((name, way), float("inf")), seconds)
        seconds = timed(partial(by_send, rows), clock, None, counted=n)
        best["tuple", "callback"] = min(best.get(("tuple", "callback"), float("inf")), seconds)
    print(f"{'M events/s':12}{'send':>8}{'batch':>8}{'out':>8}")
    for name in objects:
        print(f"{name:12}" + "".join(f"{n / best[name, way] / 1e6:8.2f}" for way in ("send", "batch", "out")))
    print(f"{'callback':12}{n / best['tuple', 'callback'] / 1e6:8.2f}")
    slow = [f"{name} {way}" for (name, way), seconds in best.items() if name in KINDS and n / seconds / 1e6 < LIMIT]
    if slow:
        print(f"below {LIMIT} M events/s: {', '.join(slow)}")
    return bool(slow)


if __name__ == "__main__":
    sys.exit(main())
