"""CPU time of an event on a stream with n queries or patterns, of which it concerns about one: ``python bench/many/filters.py``.

One line per kind of filter and n: microseconds per event, matches per event, and the slope: the time at n over the time
at a tenth of n. ``--without`` measures the same apps without the predicate index, up to 1,000 queries.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib import import_module

from siddhi import SiddhiManager

STREAM = "define stream S (symbol string, price double, volume long);\n"

KINDS: dict[str, Callable[[int, int], str]] = {
    "equality": lambda i, n: f"symbol == 'K{i}'",
    "equality + range": lambda i, n: f"symbol == 'K{i}' and price > {i % 50}.5",
    "range + equality": lambda i, n: f"price > {i % 50}.5 and symbol == 'K{i}'",
    "100 ranges a value": lambda i, n: f"price > {100 * (i % 100) + 99.5} and symbol == 'K{i // 100}'",
    "list of 3": lambda i, n: f"symbol == 'K{i}' or symbol == 'K{(i + 1) % n}' or symbol == 'K{(i + 2) % n}'",
    "range": lambda i, n: f"volume >= {10 * i} and volume < {10 * i + 10}",
    "threshold": lambda i, n: f"volume > {10 * i}",
    "null or equality": lambda i, n: f"volume is null and symbol == 'K{i}' or symbol == 'L{i}'",
}
PATTERNS: dict[str, Callable[[int, int], str]] = {
    "pattern": lambda i, n: (
        f"every e1=S[symbol == 'K{i}' and price > 10] -> e2=S[symbol == e1.symbol and price >= e1.price]"
    ),
    "pattern within": lambda i, n: (
        f"every e1=S[symbol == 'K{i}' and price > 10] -> e2=S[symbol == e1.symbol and price > e1.price] within 1 sec"
    ),
}
"""An event completes the match that waits and begins the next one; with `within`, events begin none."""
EVENTS = 256


def rows_of(kind: str, n: int) -> list[tuple[str, float, int]]:
    rows = []
    for k in range(EVENTS):
        i = k * 7919 % n
        price = 100.0 * ((i + 1) % 100) if kind == "100 ranges a value" else 5.0 if kind == "pattern within" else 60.0
        symbol = f"K{i // 100}" if kind == "100 ranges a value" else f"L{i}" if kind.startswith("null") else f"K{i}"
        rows.append((symbol, price, 13 if kind == "threshold" else 10 * i + 3))
    return rows


def measured(kind: str, n: int, rounds: int) -> tuple[float, float, float]:
    """Return the best CPU time of an event (µs), the matches of an event, and the time to create the app (s)."""
    if kind in PATTERNS:
        queries = (f"from {PATTERNS[kind](i, n)} select e1.symbol, e2.price insert into Out;" for i in range(n))
    else:
        queries = (f"from S[{KINDS[kind](i, n)}] select symbol, price insert into Out;" for i in range(n))
    app = STREAM + "\n".join(queries)
    matches = 0

    def count(events: list[object]) -> None:
        nonlocal matches
        matches += len(events)

    started = time.process_time()
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        created = time.process_time() - started
        handler = runtime.input_handler("S")
        rows = rows_of(kind, n)
        runtime.add_callback("Out", count)
        for row in rows:
            handler.send(row)
        best = float("inf")
        for _ in range(rounds):
            begun = time.process_time()
            for row in rows:
                handler.send(row)
            best = min(best, time.process_time() - begun)
    return best / EVENTS * 1e6, matches / EVENTS / (rounds + 1), created


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="*", default=[*KINDS, *PATTERNS], choices=[*KINDS, *PATTERNS])
    parser.add_argument("--most", type=int, default=10_000, help="largest number of queries")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--without", action="store_true", help="without the predicate index")
    arguments = parser.parse_args()
    if arguments.without:
        rule = import_module("siddhi.planner.rules.file_queries")
        rule.FEWEST_QUERIES = 10**9
    most = min(arguments.most, 1000) if arguments.without else arguments.most
    print(f"{'filter':20} {'n':>8} {'µs/event':>9} {'matches':>8} {'slope':>6} {'create s':>9}")
    for kind in arguments.kinds:
        before = None
        n = 1
        while n <= most:
            spent, matches, created = measured(kind, n, arguments.rounds)
            slope = "" if before is None else f"{spent / before:.2f}"
            print(f"{kind:20} {n:8} {spent:9.3f} {matches:8.2f} {slope:>6} {created:9.2f}", flush=True)
            before = spent
            n *= 10


if __name__ == "__main__":
    main()
