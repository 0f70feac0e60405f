"""Reference results of windows in plain Python, for scenarios without a hand-written loop.

``python bench/answers.py`` prints the results for the first million trades in the format of ``expected.json``.
"""

from __future__ import annotations

import bisect
import json
import math
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import trades
from scenarios import Answer

Out = tuple[int, list[Any]]
"""An output event: timestamp and values."""

MILLION = 1_000_000


def answer(name: str, n: int) -> Answer:
    """Return the result of a scenario for the first *n* trades."""
    count, last = 0, None
    for out in ANSWERS[name](trades.rows(n)):
        count, last = count + 1, out
    return Answer(count, last)


class Sums:
    """Sum of prices, sum of volumes and number of trades by symbol."""

    def __init__(self) -> None:
        self.price: dict[str, float] = defaultdict(float)
        self.volume: dict[str, int] = defaultdict(int)
        self.count: dict[str, int] = defaultdict(int)

    def add(self, row: trades.Row) -> None:
        symbol, price, volume, _ = row
        self.price[symbol] += price
        self.volume[symbol] += volume
        self.count[symbol] += 1

    def remove(self, row: trades.Row) -> None:
        symbol, price, volume, _ = row
        self.count[symbol] -= 1
        self.volume[symbol] -= volume
        self.price[symbol] = self.price[symbol] - price if self.count[symbol] else 0.0

    def average(self, symbol: str) -> float:
        return self.price[symbol] / self.count[symbol]


def batch_sum(rows: Iterable[trades.Row]) -> Iterator[Out]:
    """Sum over batches of one trade each."""
    for symbol, price, volume, ts in rows:
        yield ts, [symbol, price, volume]


def timelength_avg(rows: Iterable[trades.Row]) -> Iterator[Out]:
    sums, held = Sums(), deque[trades.Row]()
    for row in rows:
        while held and held[0][3] + 1000 <= row[3]:
            sums.remove(held.popleft())
        if len(held) == 1000:
            sums.remove(held.popleft())
        held.append(row)
        sums.add(row)
        yield row[3], [row[0], sums.average(row[0])]


def expression_avg(rows: Iterable[trades.Row]) -> Iterator[Out]:
    """Average of the last 1000 trades."""
    sums, held = Sums(), deque[trades.Row]()
    for row in rows:
        if len(held) == 1000:
            sums.remove(held.popleft())
        held.append(row)
        sums.add(row)
        yield row[3], [row[0], sums.average(row[0])]


def sort_avg(rows: Iterable[trades.Row]) -> Iterator[Out]:
    """Average of the 1000 cheapest trades; a new trade is counted before the most expensive one is removed."""
    sums = Sums()
    held: list[tuple[float, int, trades.Row]] = []
    for number, row in enumerate(rows):
        sums.add(row)
        yield row[3], [row[0], sums.average(row[0])]
        bisect.insort(held, (row[1], number, row))
        if len(held) > 1000:
            sums.remove(held.pop()[2])


def session_sum(rows: Iterable[trades.Row]) -> Iterator[Out]:
    """Sum by session; a session ends after ten milliseconds without a trade of its symbol."""
    sessions: dict[str, tuple[int, int, int]] = {}
    for symbol, _, volume, ts in rows:
        end, total, count = sessions.get(symbol, (0, 0, 0))
        if ts >= end:
            total = count = 0
        sessions[symbol] = (ts + 10, total + volume, count + 1)
        yield ts, [symbol, total + volume, count + 1]


def frequent_count(rows: Iterable[trades.Row]) -> Iterator[Out]:
    """Misra-Gries with 50 counters; only the last trade of an evicted symbol expires."""
    counters: dict[str, int] = {}
    passed = Counter[str]()
    for symbol, _, _, ts in rows:
        if symbol not in counters and len(counters) == 50:
            counters = {other: count - 1 for other, count in counters.items()}
            gone = [other for other, count in counters.items() if not count]
            for other in gone:
                del counters[other]
                passed[other] -= 1
            if not gone:
                continue
        counters[symbol] = counters.get(symbol, 0) + 1
        passed[symbol] += 1
        yield ts, [symbol, passed[symbol]]


def lossyfrequent_count(rows: Iterable[trades.Row]) -> Iterator[Out]:
    """Lossy counting; a trade below the threshold is not emitted, but replaces the last one of its symbol."""
    support, error = 0.01, 0.001
    width = math.ceil(1 / error)
    counts, missed = Counter[str](), dict[str, int]()
    passed = Counter[str]()
    for total, (symbol, _, _, ts) in enumerate(rows, 1):
        bucket = -(-total // width)
        missed.setdefault(symbol, bucket - 1)
        counts[symbol] += 1
        if counts[symbol] >= (support - error) * total:
            passed[symbol] += 1
            yield ts, [symbol, passed[symbol]]
        if total % width == 0:
            for other in [other for other in counts if counts[other] + missed[other] <= bucket]:
                del counts[other], missed[other]
                passed[other] -= 1


def delay_project(rows: Iterable[trades.Row]) -> Iterator[Out]:
    held = deque[trades.Row]()
    for row in rows:
        while held and held[0][3] + 1000 <= row[3]:
            symbol, price, _, _ = held.popleft()
            yield row[3], [symbol, price]
        held.append(row)


def externaltimebatch_sum(rows: Iterable[trades.Row]) -> Iterator[Out]:
    held: list[trades.Row] = []
    end = None
    for row in rows:
        if end is None:
            end = row[3] + 1000
        if row[3] >= end:
            yield from batch_sums(held, Sums())
            held = []
            end += ((row[3] - end) // 1000 + 1) * 1000
        held.append(row)


def cron_sum(rows: Iterable[trades.Row]) -> Iterator[Out]:
    """At every full second the previous batch expires, then the collected trades are emitted."""
    sums, held, released = Sums(), list[trades.Row](), list[trades.Row]()
    tick = None
    for row in rows:
        if tick is not None and row[3] >= tick:
            for gone in released:
                sums.remove(gone)
            yield from batch_sums(held, sums)
            released, held, tick = held, [], None
        if tick is None:
            tick = (row[3] // 1000 + 1) * 1000
        held.append(row)


def expressionbatch_sum(rows: Iterable[trades.Row]) -> Iterator[Out]:
    """Batches of 1000 trades, each emitted by the next trade, with its timestamp."""
    sums, held, released = Sums(), list[trades.Row](), list[trades.Row]()
    for row in rows:
        if len(held) == 1000:
            for gone in released:
                sums.remove(gone)
            yield from ((row[3], values) for _, values in batch_sums(held, sums))
            released, held = held, []
        held.append(row)


def batch_sums(batch: Iterable[trades.Row], sums: Sums) -> Iterator[Out]:
    """Yield the sums of a batch: one output per symbol, that of its last trade, in order of first trades."""
    last: dict[str, Out] = {}
    for row in batch:
        sums.add(row)
        symbol = row[0]
        last[symbol] = (row[3], [symbol, sums.price[symbol], sums.volume[symbol]])
    yield from last.values()


ANSWERS: dict[str, Callable[[Iterable[trades.Row]], Iterator[Out]]] = {
    "batch_sum": batch_sum,
    "timelength_avg": timelength_avg,
    "externaltimebatch_sum": externaltimebatch_sum,
    "session_sum": session_sum,
    "sort_avg": sort_avg,
    "frequent_count": frequent_count,
    "lossyfrequent_count": lossyfrequent_count,
    "cron_sum": cron_sum,
    "delay_project": delay_project,
    "expression_avg": expression_avg,
    "expressionbatch_sum": expressionbatch_sum,
}


if __name__ == "__main__":
    for name in sys.argv[1:] or ANSWERS:
        found = answer(name, MILLION)
        print(f'"{name}":', json.dumps({"events": MILLION, "outputs": found.outputs, "last": found.last}), flush=True)
