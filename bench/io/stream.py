"""Events per second, and latency, from a socket to a callback: TCP frames and WebSocket messages.

    python bench/io/stream.py                         # every case: 2,000,000 events in batches of 1,000
    python bench/io/stream.py --case tcp --batch 100 --events 500000

A process of its own sends messages that were made before. Throughput is the time from the first message to the last event in
the callback; on a machine with other load look at the events per second of processor time of the receiver. Latency is measured in a second run at a fifth of that rate: the time from the moment a message is written to the
callback with its events; both processes read the same monotonic clock, and the first attribute of an event is the number of its
message.

The p99 of JSON has a full garbage collection in it: about 15 ms of processor time for the 25,000 objects of the modules, once in some 200
messages of 1,000 events, and more on a machine with other load. Both ends have TCP_NODELAY, which asyncio sets.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

from siddhi import SiddhiManager

CASES = ("tcp", "tcp-strings", "websocket-binary", "websocket-json")
SESSION = b"bench"


def messages(case: str, events: int, batch: int) -> Iterator[bytes | str]:
    """Yield the messages of a case: numbers of messages, symbols and prices."""
    for number in range(events // batch):
        rows = [(number, f"S{row % 100}", 100.0 + row % 7, row) for row in range(batch)]
        if case == "websocket-json":
            yield json.dumps([{"event": dict(zip(("n", "symbol", "price", "volume"), row))} for row in rows])
            continue
        parts = [struct.pack(">i", batch)]
        for n, symbol, price, volume in rows:
            text = symbol.encode()
            if case == "tcp":
                parts.append(struct.pack(">qqdq", 1_000_000 + number, n, price, volume))
            else:
                parts.append(
                    struct.pack(">qqi", 1_000_000 + number, n, len(text)) + text + struct.pack(">dq", price, volume)
                )
        yield b"".join(parts)


def app(case: str, port: int) -> str:
    """Return the app that receives a case."""
    if case.startswith("tcp"):
        source = f"type = 'tcp', host = '127.0.0.1', port = '{port}', context = 'c', @map(type = 'binary')"
    else:
        source = f"type = 'websocket', url = 'ws://127.0.0.1:{port}/', @map(type = '{case.partition('-')[2]}')"
    symbol = "" if case == "tcp" else "symbol string, "
    return f"@app:name('Bench') @source({source}) define stream In (n long, {symbol}price double, volume long);"


def send(case: str, events: int, batch: int, port: int, pipe: Connection, rate: float | None) -> None:
    """Send the messages once the pipe says so; with a rate, in messages per second, note when each was written."""
    made = list(messages(case, events, batch))
    pipe.send("ready")
    pipe.recv()
    if case.startswith("tcp"):
        pipe.send(_send_tcp(made, port, rate))
        pipe.recv()
    else:
        asyncio.run(_serve_websocket(made, port, pipe, rate))


def _send_tcp(made: list[Any], port: int, rate: float | None) -> list[int]:
    frames = []
    for payload in made:
        body = b"".join(struct.pack(">i", len(part)) + part for part in (SESSION, b"c", payload))
        frames.append(struct.pack(">Bi", 2, len(body)) + body)
    written = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start = time.perf_counter()
        for number, content in enumerate(frames):
            if rate is not None and (left := start + number / rate - time.perf_counter()) > 0:
                time.sleep(left)
            written.append(time.perf_counter_ns())
            connection.sendall(content)
    return written


async def _serve_websocket(made: list[Any], port: int, pipe: Connection, rate: float | None) -> None:
    from websockets.asyncio.server import ServerConnection, serve

    written: list[int] = []
    done = asyncio.Event()

    async def feed(connection: ServerConnection) -> None:
        start = time.perf_counter()
        for number, content in enumerate(made):
            if rate is not None and (left := start + number / rate - time.perf_counter()) > 0:
                await asyncio.sleep(left)
            written.append(time.perf_counter_ns())
            await connection.send(content)
        done.set()
        await connection.wait_closed()

    async with serve(feed, "127.0.0.1", port, compression=None):
        pipe.send("listening")
        await done.wait()
        await asyncio.to_thread(pipe.recv)
        pipe.send(written)
        await asyncio.to_thread(pipe.recv)  # the app has closed the connection


def run(case: str, events: int, batch: int, rate: float | None = None) -> tuple[float, float, list[float]]:
    """Return the seconds of a run, the processor seconds of the receiver, and the latency of each message in seconds."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    here, there = multiprocessing.Pipe()
    sender = multiprocessing.get_context("spawn").Process(target=send, args=(case, events, batch, port, there, rate))
    sender.start()
    here.recv()
    count, finished = 0, threading.Event()
    arrived: list[int] = []

    def callback(received: list[Any]) -> None:
        nonlocal count
        count += len(received)
        arrived.append(time.perf_counter_ns())
        if count == events:
            finished.set()

    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(app(case, port))
        runtime.add_callback("In", callback)
        if not case.startswith("tcp"):
            here.send("go")
            here.recv()
        processor = time.process_time()
        start = time.perf_counter()
        runtime.start()
        if case.startswith("tcp"):
            start = time.perf_counter()
            here.send("go")
        if not finished.wait(600):
            sys.exit(f"{case}: {count} of {events} events arrived")
        seconds, processor = time.perf_counter() - start, time.process_time() - processor
        if not case.startswith("tcp"):
            here.send("done")
        written = here.recv()
    here.send("end")
    sender.join()
    assert len(arrived) == len(written), "a message is one chunk"
    return seconds, processor, [(end - begin) / 1e9 for begin, end in zip(written, arrived)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", nargs="*", choices=CASES, default=CASES)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=2)
    given = parser.parse_args()
    print(f"{'case':20} {'batch':>7} {'events/s':>12} {'events/CPU s':>13} {'p50 ms':>8} {'p99 ms':>8}")
    for case in given.case:
        runs = [run(case, given.events, given.batch) for _ in range(given.repeat)]
        rate, by_processor = (given.events / min(one[index] for one in runs) for index in (0, 1))
        part = max(given.batch * 100, given.events // 10)
        *_, latency = run(case, part, given.batch, rate / 5 / given.batch)
        latency = sorted(latency)
        p50, p99 = (latency[int(len(latency) * share)] * 1000 for share in (0.5, 0.99))
        print(f"{case:20} {given.batch:7,} {rate:12,.0f} {by_processor:13,.0f} {p50:8.2f} {p99:8.2f}", flush=True)


if __name__ == "__main__":
    main()
