"""On-demand queries with parameters: ``python bench/parameters.py``.

Nanoseconds of processor time per call of ``app.query``, the best of R rounds in turns, over a table of 1,000 rows: a text with the
value in it, which is cached, against a text with a parameter and the same or another value each time. *key*: a lookup by primary
key, where the call with a keyword shows; *scan*: a condition on every row.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time

import siddhi

TEXT = """define stream S (id long, price double, name string);
@primaryKey('id') define table T (id long, price double, name string);
from S insert into T;"""


def key_text(app: siddhi.App, n: int) -> None:
    for _ in range(n):
        app.query("from T on id == 7 select price, name")


def key_same(app: siddhi.App, n: int) -> None:
    for _ in range(n):
        app.query("from T on id == :id select price, name", id=7)


def key_other(app: siddhi.App, n: int) -> None:
    for number in range(n):
        app.query("from T on id == :id select price, name", id=number % 1000)


def scan_text(app: siddhi.App, n: int) -> None:
    for _ in range(n // 20):
        app.query("from T on price > 300.0 select price, name")


def scan_same(app: siddhi.App, n: int) -> None:
    for _ in range(n // 20):
        app.query("from T on price > :price select price, name", price=300.0)


WAYS: tuple[tuple[Callable[[siddhi.App, int], None], int], ...] = (
    (key_text, 1),
    (key_same, 1),
    (key_other, 1),
    (scan_text, 20),
    (scan_same, 20),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=9)
    options = parser.parse_args()
    best: dict[str, float] = {}
    with siddhi.App(TEXT) as app:
        app["S"].send_batch([(number, number / 3, f"n{number}") for number in range(1000)])
        for _ in range(options.repeat):
            for way, fewer in WAYS:
                start = process_time()
                way(app, options.calls)
                ns = (process_time() - start) * 1e9 / (options.calls // fewer)
                best[way.__name__] = min(best.get(way.__name__, ns), ns)
    for name, ns in best.items():
        print(f"{name:10} {ns:8.0f} ns, {ns / best[name.split('_')[0] + '_text']:.2f} times the text")


if __name__ == "__main__":
    main()
