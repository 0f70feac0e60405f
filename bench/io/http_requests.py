"""Requests and events per second, and latency, of the HTTP source and sink over real connections.

    python bench/io/http_requests.py                               # every case
    python bench/io/http_requests.py --case single --connections 64 --seconds 10
    python bench/io/http_requests.py --client wrk                  # with wrk (Debian: apt-get install wrk) instead of a client in Python

``single`` sends JSON events one by one, ``batch`` in lists of 100, ``sink`` receives what the HTTP sink sends. The client is a
process of its own; it sends the next request of a connection when the one before was answered. Latency is measured in a second
run at a fifth of that rate: from the moment a request is written to the callback with its event, by the monotonic clock of both
processes; an event has the number of its request.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

from siddhi import SiddhiManager

CASES = ("single", "batch", "sink")
AIMS = {"single": 8_000, "batch": 300_000, "sink": 0}
"""Events per second on two processors, together with the client."""
HEAD = b"POST /trades HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


def request(number: int, batch: int) -> bytes:
    """Return a request with events that have its number."""
    rows = [
        f'{{"n":{number},"symbol":"S{row % 100}","price":{100.0 + row % 7},"volume":{row}}}' for row in range(batch)
    ]
    body = (rows[0] if batch == 1 else f"[{','.join(rows)}]").encode()
    return HEAD % len(body) + body


class Client(asyncio.Protocol):
    """One connection: sends a request at a time."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.sent = 0.0
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def send(self) -> None:
        content = self.load.next()
        if content is not None and self.transport is not None:
            self.sent = time.perf_counter()
            self.transport.write(content)

    def data_received(self, data: bytes) -> None:
        if not data.startswith(b"HTTP/1.1 200"):
            self.load.failures += 1
        self.load.answered(self, time.perf_counter() - self.sent)


class Load:
    """The requests of a run.

    Args:
        batch: events of a request.
        seconds: duration of the run.
        rate: requests per second; None: as many as the connections allow.
    """

    def __init__(self, batch: int, seconds: float, rate: float | None) -> None:
        self.failures = 0
        self.times: list[float] = []
        self.written: list[int] = []
        self._batch = batch
        self._rate = rate
        self._seconds = seconds
        self._end = 0.0
        self._free: list[Client] = []
        self._content = request(0, batch)
        self._last = asyncio.Event()

    def next(self) -> bytes | None:
        if time.perf_counter() > self._end:
            return None
        number = len(self.written)
        content = self._content if self._rate is None else request(number, self._batch)
        self.written.append(time.perf_counter_ns())
        self._last.clear()
        return content

    def answered(self, client: Client, seconds: float) -> None:
        self.times.append(seconds)
        if self._rate is None:
            client.send()
        else:
            self._free.append(client)
        if len(self.times) == len(self.written):
            self._last.set()

    async def run(self, port: int, connections: int) -> float:
        loop = asyncio.get_running_loop()
        clients = [
            (await loop.create_connection(lambda: Client(self), "127.0.0.1", port))[1] for _ in range(connections)
        ]
        start = time.perf_counter()
        self._end = start + self._seconds
        if self._rate is None:
            for client in clients:
                client.send()
            await asyncio.sleep(self._seconds)
        else:
            self._free = list(clients)
            while (now := time.perf_counter()) < self._end:
                while self._free and len(self.written) < (now - start) * self._rate:
                    self._free.pop().send()
                await asyncio.sleep(0.0002)
        elapsed = time.perf_counter() - start
        await self._last.wait()
        for client in clients:
            if client.transport is not None:
                client.transport.close()
        return elapsed


def send(port: int, batch: int, connections: int, seconds: float, rate: float | None, pipe: Connection) -> None:
    """Send requests; report seconds, times of answers, moments of writing and the number of failures."""
    load = Load(batch, seconds, rate)
    elapsed = asyncio.run(load.run(port, connections))
    pipe.send((elapsed, load.times, load.written if rate is not None else [], load.failures))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def share(values: list[float], part: float) -> float:
    """Return the value that a part of all values does not exceed, in ms."""
    return sorted(values)[min(int(len(values) * part), len(values) - 1)] * 1000 if values else 0.0


def run_source(batch: int, connections: int, seconds: float, rate: float | None = None) -> dict[str, Any]:
    """Run an app with an HTTP source, and a client."""
    port = free_port()
    arrived: dict[int, int] = {}
    counted = 0

    def receive(events: list[Any]) -> None:
        nonlocal counted
        counted += len(events)
        if rate is not None:
            arrived.setdefault(events[0].data[0], time.perf_counter_ns())

    runtime = SiddhiManager().create_siddhi_app_runtime(
        f"@source(type = 'http', receiver.url = 'http://127.0.0.1:{port}/trades', @map(type = 'json')) "
        "define stream Trades (n long, symbol string, price double, volume long);"
    )
    runtime.add_callback("Trades", receive)
    here, there = multiprocessing.Pipe()
    client = multiprocessing.get_context("spawn").Process(
        target=send, args=(port, batch, connections, seconds, rate, there)
    )
    with runtime:
        used = time.process_time()
        client.start()
        elapsed, times, written, failures = here.recv()
        used = time.process_time() - used
        client.join()
    assert not failures, f"{failures} requests failed"
    assert counted == len(times) * batch, f"{counted} events of {len(times)} requests arrived"
    return {
        "requests": len(times) / elapsed,
        "processor": len(times) / used,
        "times": times,
        "latencies": [(arrived[number] - at) / 1e9 for number, at in enumerate(written)],
    }


def run_wrk(batch: int, connections: int, seconds: float) -> float:
    """Return the requests per second that wrk sends to an app."""
    port = free_port()
    body = request(0, batch).partition(b"\r\n\r\n")[2].decode()
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(
            f'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\nwrk.body = [==[{body}]==]\n'
        )
        script.flush()
        runtime = SiddhiManager().create_siddhi_app_runtime(
            f"@source(type = 'http', receiver.url = 'http://127.0.0.1:{port}/trades', @map(type = 'json')) "
            "define stream Trades (n long, symbol string, price double, volume long);"
        )
        with runtime:
            command = [
                "wrk",
                "-t1",
                f"-c{connections}",
                f"-d{seconds:g}s",
                "-s",
                script.name,
                f"http://127.0.0.1:{port}/trades",
            ]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in output, output
    found = re.search(r"Requests/sec:\s+([0-9.]+)", output)
    assert found is not None, output
    return float(found[1])


def receive(port: int, count: int, pipe: Connection) -> None:
    """Answer requests until a number of them has arrived."""
    left = count

    class Server(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            self.transport = transport
            self.received = b""

        def data_received(self, data: bytes) -> None:
            nonlocal left
            self.received += data
            head, end, body = self.received.partition(b"\r\n\r\n")
            if end and (length := int(re.search(rb"Content-Length: (\d+)", head)[1])) <= len(body):  # type: ignore[index]
                self.received = body[length:]
                self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                left -= 1
                if not left:
                    done.set()

    async def serve() -> None:
        nonlocal done
        done = asyncio.Event()
        server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", port)
        pipe.send("listening")
        await done.wait()
        pipe.send(time.perf_counter())
        server.close()

    done = asyncio.Event()
    asyncio.run(serve())


def run_sink(threads: int, count: int) -> float:
    """Return the requests per second that a sink sends, so many at the same time."""
    port = free_port()
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=receive, args=(port, count, there))
    server.start()
    assert here.recv() == "listening"
    runtime = SiddhiManager().create_siddhi_app_runtime(
        f"@sink(type = 'http', publisher.url = 'http://127.0.0.1:{port}/trades', executor.service.threads = '{threads}', "
        "@map(type = 'json')) define stream Trades (n long, symbol string, price double, volume long);"
    )
    with runtime:
        handler = runtime.input_handler("Trades")
        start = time.perf_counter()
        for number in range(count):
            handler.send((number, "S1", 101.0, 10))
        end: float = here.recv()
    server.join()
    return count / (end - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", nargs="*", choices=CASES, default=CASES)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--client", choices=("python", "wrk"), default="python")
    options = parser.parse_args()
    if options.client == "wrk" and shutil.which("wrk") is None:
        sys.exit("wrk is not installed: apt-get install wrk")
    for case in options.case:
        if case == "sink":
            for threads in (1, 20):
                print(f"sink, {threads} at a time: {run_sink(threads, int(1000 * options.seconds)):,.0f} requests/s")
            continue
        batch = 1 if case == "single" else 100
        if options.client == "wrk":
            rate = run_wrk(batch, options.connections, options.seconds)
            print(f"{case}: {rate:,.0f} requests/s, {rate * batch:,.0f} events/s (aim: {AIMS[case]:,})")
            continue
        found = run_source(batch, options.connections, options.seconds)
        print(
            f"{case}: {found['requests']:,.0f} requests/s, {found['requests'] * batch:,.0f} events/s "
            f"(aim: {AIMS[case]:,}; {found['processor']:,.0f} requests per processor second of the app); "
            f"answer p50 {share(found['times'], 0.5):.2f} ms, p99 {share(found['times'], 0.99):.2f} ms"
        )
        slow = run_source(batch, options.connections, min(options.seconds, 3.0), found["requests"] / 5)
        print(
            f"    at {slow['requests']:,.0f} requests/s: socket to callback p50 {share(slow['latencies'], 0.5):.2f} ms, "
            f"p99 {share(slow['latencies'], 0.99):.2f} ms"
        )
    assert threading.active_count() == 1, "threads are left"


if __name__ == "__main__":
    main()
