"""Measurement: send trades to a subject, take the time, check the results."""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable
from time import perf_counter, perf_counter_ns
from typing import Any

import answers
import trades
from scenarios import Answer, Scenario
from subjects import Engine, Last, Loop, Subject, has_loop

SubjectClass = type[Engine] | type[Loop]
Clock = Callable[[], float]

LATENCY_WARM_UP = 20_000


class WrongAnswerError(Exception):
    """A subject produced wrong outputs; its time is meaningless."""


@functools.lru_cache(maxsize=2)
def _stamped(n: int) -> tuple[list[trades.Row], list[int]]:
    rows = trades.rows(n)
    return rows, [row[3] for row in rows]


def feed_events(subject: Subject, n: int, clock: Clock = perf_counter) -> float:
    """Send *n* trades, one ``send(row, timestamp=ms)`` each; return the seconds by *clock*."""
    rows, stamps = _stamped(n)
    send, send_second = subject.send, subject.send_second
    if send_second is None:
        start = clock()
        for row, stamp in zip(rows, stamps):
            send(row, timestamp=stamp)
        return clock() - start
    pairs = zip(rows[0::2], stamps[0::2], rows[1::2], stamps[1::2])
    start = clock()
    for row, stamp, row_second, stamp_second in pairs:
        send(row, timestamp=stamp)
        send_second(row_second, timestamp=stamp_second)
    return clock() - start


def feed_batches(subject: Subject, n: int, clock: Clock = perf_counter) -> float:
    """Send *n* trades as tables of ``trades.BATCH_ROWS`` rows; return the seconds by *clock*.

    With a second stream each part is sent as two tables: the even trades first, then the odd ones.
    """
    send_batch, send_second = subject.send_batch, subject.send_batch_second
    if send_second is None:
        tables = trades.tables(n)
        start = clock()
        for table in tables:
            send_batch(table, timestamp="ts")
        return clock() - start
    pairs = list(zip(trades.tables(n, 2, 0), trades.tables(n, 2, 1)))
    start = clock()
    for table, table_second in pairs:
        send_batch(table, timestamp="ts")
        send_second(table_second, timestamp="ts")
    return clock() - start


FEEDS: dict[str, Callable[..., float]] = {"event": feed_events, "batch": feed_batches}


def _counting() -> tuple[Callable[[Any], None], Callable[[], int]]:
    count = 0

    def callback(outputs: Any) -> None:
        nonlocal count
        count += len(outputs)

    return callback, lambda: count


def answer(kind: SubjectClass, scenario: Scenario, mode: str, n: int) -> Answer:
    """Return the result of *kind* for the first *n* trades, from all outputs. Not for timing."""
    count = 0
    latest: Any = None

    def callback(outputs: Any) -> None:
        nonlocal count, latest
        count += len(outputs)
        if len(outputs):
            latest = outputs

    subject = _subject(kind, scenario, mode, callback)
    try:
        FEEDS[mode](subject, n)
        rows = subject.rows() if scenario.check else None
        last: Last | None = None
        if latest is not None:
            last = subject.last_row(latest) if mode == "batch" else subject.last_event(latest)
    finally:
        subject.close()
    return Answer(count, last, None if rows is None else len(rows), rows[0] if rows else None)


def must_be(scenario: Scenario, mode: str, n: int) -> Answer:
    """Return the expected result after *n* trades: the recorded one if it exists, else the loop's or that of ``answers.py``.

    Batches of a two-stream scenario arrive in another order than single events, so their result is always the loop's.
    """
    if n == scenario.events and scenario.expected and not (mode == "batch" and scenario.second):
        return scenario.expected
    return answer(Loop, scenario, mode, n) if has_loop(scenario) else answers.answer(scenario.name, n)


def check(kind: SubjectClass, scenario: Scenario, mode: str, n: int) -> Answer:
    """Run once, untimed, and return the result; raise `WrongAnswerError` if it is wrong."""
    want = must_be(scenario, mode, n)
    got = answer(kind, scenario, mode, n)
    difference = want.difference(got)
    if difference:
        raise WrongAnswerError(f"{scenario.name} ({mode}, {n} events): {difference}")
    return got


def prepare(kind: SubjectClass, scenario: Scenario, mode: str) -> tuple[Subject, Callable[[], int]]:
    """Start a subject with a counting callback (none if the scenario has no subscriber); return it and the counter."""
    callback, total = _counting()
    return _subject(kind, scenario, mode, callback if scenario.subscriber else None), total


def timed(
    kind: SubjectClass, scenario: Scenario, mode: str, n: int, outputs: int, clock: Clock = perf_counter
) -> float:
    """Return the seconds by *clock* for *n* trades into a new subject; raise `WrongAnswerError` if outputs are missing."""
    subject, total = prepare(kind, scenario, mode)
    try:
        seconds = FEEDS[mode](subject, n, clock)
    finally:
        subject.close()
    if scenario.subscriber and total() != outputs:
        raise WrongAnswerError(f"{scenario.name} ({mode}, {n} events): {total()} outputs instead of {outputs}")
    return seconds


def latencies(kind: SubjectClass, scenario: Scenario, n: int) -> array[int]:
    """Return the sorted nanoseconds of *n* single sends after a warm-up; they include reading the clock."""
    rows, stamps = _stamped(LATENCY_WARM_UP + n)
    subject, _ = prepare(kind, scenario, "event")
    senders = [subject.send, subject.send_second or subject.send]
    samples = array("q", bytes(8 * len(rows)))
    try:
        for i, (row, stamp) in enumerate(zip(rows, stamps)):
            send = senders[i & 1]
            start = perf_counter_ns()
            send(row, timestamp=stamp)
            samples[i] = perf_counter_ns() - start
    finally:
        subject.close()
    return array("q", sorted(samples[LATENCY_WARM_UP:]))


def clock_ns() -> int:
    """Return the median cost of reading the clock twice, which every latency sample includes."""
    samples = []
    for _ in range(10_000):
        start = perf_counter_ns()
        samples.append(perf_counter_ns() - start)
    return sorted(samples)[len(samples) // 2]


def _subject(kind: SubjectClass, scenario: Scenario, mode: str, callback: Callable[[Any], None] | None) -> Subject:
    subject: Subject = kind(scenario, None, callback) if mode == "batch" else kind(scenario, callback, None)
    return subject
