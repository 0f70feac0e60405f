"""Speed of coroutines around an app: ``python bench/coroutines.py``.

*latency*: nanoseconds from the clock before the sending of an event to the clock in the reader, on one event loop: by a bare
``asyncio.Queue``; by an app whose callback puts the events into such a queue; by ``async for`` over a stream of the app; by an
``async def`` callback. The app passes the event through one query. The four alternate round by round; the next event follows
when the reader waits again.

*rates*: M events/s from senders to readers: single events by ``send_async``, and tables of 10,000 rows by ``send_batch_async``,
read as events and as batches; the best of R runs.

Exit code 1 if an event is missing, if ``async for`` takes more than ``--most`` µs longer at the median than a bare queue, or if
tables read as batches do not reach ``--least`` M events/s.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
from collections.abc import Awaitable, Callable
from time import perf_counter, perf_counter_ns

import numpy as np

import siddhi

TEXT = """
define stream Trades (symbol string, price double, volume long);
from Trades[price > 0.0] select symbol, price, volume insert into Out;
"""
ROWS = 10_000
"""Rows per table."""
ROW = ("IBM", 700.0, 100)

Put = Callable[[], None]
Way = Callable[[siddhi.App, Callable[[], None]], Awaitable[tuple[Put, Callable[[], None]]]]


async def bare_queue(app: siddhi.App, arrived: Callable[[], None]) -> tuple[Put, Callable[[], None]]:
    queue: asyncio.Queue[list[object]] = asyncio.Queue()

    async def read() -> None:
        while True:
            await queue.get()
            arrived()

    reading = asyncio.create_task(read())

    def end() -> None:
        reading.cancel()

    return (lambda: queue.put_nowait([ROW])), end


async def queue_behind_an_app(app: siddhi.App, arrived: Callable[[], None]) -> tuple[Put, Callable[[], None]]:
    queue: asyncio.Queue[object] = asyncio.Queue()

    async def read() -> None:
        while True:
            await queue.get()
            arrived()

    reading = asyncio.create_task(read())
    attachment = app.on("Out", queue.put_nowait)
    send = app["Trades"].send

    def end() -> None:
        reading.cancel()
        attachment.detach()

    return (lambda: send(ROW)), end


async def async_for(app: siddhi.App, arrived: Callable[[], None]) -> tuple[Put, Callable[[], None]]:
    stream = app.stream("Out")

    async def read() -> None:
        async for _ in stream:
            arrived()

    asyncio.create_task(read())  # noqa: RUF006 - it ends with the stream
    send = app["Trades"].send
    return (lambda: send(ROW)), stream.close


async def async_callback(app: siddhi.App, arrived: Callable[[], None]) -> tuple[Put, Callable[[], None]]:
    async def called(events: list[siddhi.Event]) -> None:
        arrived()

    attachment = app.on("Out", called)
    send = app["Trades"].send
    return (lambda: send(ROW)), attachment.detach


WAYS: dict[str, Way] = {
    "a bare asyncio.Queue": bare_queue,
    "callback, asyncio.Queue": queue_behind_an_app,
    "async for": async_for,
    "async def callback": async_callback,
}


async def delays(way: Way, n: int) -> list[int]:
    """Return the ns from sending to reading of *n* events, one after the other."""
    samples = []
    end = 0

    def arrived() -> None:
        nonlocal end
        end = perf_counter_ns()

    async with siddhi.App(TEXT) as app:
        put, stop = await way(app, arrived)
        for _ in range(5):
            await asyncio.sleep(0)
        for _ in range(n):
            end = 0
            start = perf_counter_ns()
            put()
            while not end:  # noqa: ASYNC110 - an event would be another wake-up
                await asyncio.sleep(0)
            samples.append(end - start)
            await asyncio.sleep(0)  # the reader waits again
            await asyncio.sleep(0)
        stop()
    return samples


def latency(n: int, rounds: int) -> dict[str, int]:
    """Print the delays by way; return the medians."""
    found: dict[str, list[int]] = {name: [] for name in WAYS}
    for _ in range(rounds):
        for name, way in WAYS.items():
            found[name] += asyncio.run(delays(way, n))
    print(f"{'latency, ns':28}{'p50':>9}{'p99':>9}")
    medians = {}
    for name, samples in found.items():
        samples.sort()
        medians[name] = int(statistics.median(samples))
        print(f"{name:28}{medians[name]:9,}{samples[len(samples) * 99 // 100]:9,}")
    return medians


async def rate(n: int, *, tables: bool, batch: bool) -> float:
    """Return M events/s from the first one sent to the last one read."""
    table = {
        "symbol": np.array(["IBM"] * ROWS, dtype=object),
        "price": np.full(ROWS, 700.0),
        "volume": np.arange(ROWS, dtype=np.int64),
    }
    async with siddhi.App(TEXT) as app:
        stream = app.stream("Out", batch=True) if batch else app.stream("Out")

        async def read() -> int:
            count = 0
            if batch:
                async for found in stream:
                    count += len(found)
                    if count >= n:
                        break
            else:
                async for _ in stream:
                    count += 1
                    if count >= n:
                        break
            return count

        reading = asyncio.create_task(read())
        handler = app["Trades"]
        start = perf_counter()
        if tables:
            for _ in range(n // ROWS):
                await handler.send_batch_async(table)
        else:
            for _ in range(n):
                await handler.send_async(ROW)
        count = await reading
        seconds = perf_counter() - start
    assert count == n, f"{count} of {n} events were read"
    return n / seconds / 1e6


def rates(n: int, repeat: int) -> dict[tuple[bool, bool], float]:
    """Print the rates; return them by (tables sent, batches read)."""
    found = {}
    print(f"\n{'rates, M events/s':28}{'as events':>12}{'as batches':>12}")
    for tables in (False, True):
        for batch in (False, True):
            events = n if tables else n // 10
            found[tables, batch] = max(asyncio.run(rate(events, tables=tables, batch=batch)) for _ in range(repeat))
        name = "send_batch_async" if tables else "send_async"
        print(f"{name:28}{found[tables, False]:12.2f}{found[tables, True]:12.2f}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=5_000, help="events per round and way of the latency")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--events", type=int, default=2_000_000, help="of tables; single events: a tenth of them")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each rate; the best one counts")
    parser.add_argument("--most", type=float, default=5.0, help="µs that async for may take longer than a bare queue")
    parser.add_argument("--least", type=float, default=1.0, help="M events/s of tables read as batches")
    options = parser.parse_args()
    medians = latency(options.samples, options.rounds)
    found = rates(options.events // ROWS * ROWS, options.repeat)
    added = (medians["async for"] - medians["a bare asyncio.Queue"]) / 1000
    print(f"\nasync for adds {added:.1f} µs to a bare queue; {found[True, True]:.1f} M events/s in batches")
    return int(added > options.most or found[True, True] < options.least)


if __name__ == "__main__":
    sys.exit(main())
