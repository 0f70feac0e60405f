"""Listening sockets: every connection is accepted or refused, also in the moment of the end."""

from __future__ import annotations

import asyncio
import errno
import select
import socket
import threading
from contextlib import suppress

import pytest

from siddhi.io import listening
from siddhi.io.http.options import Address
from siddhi.io.http.server import HttpServer
from siddhi.io.listening import Listening, end_listening
from tests.kit.http import WAIT


class Nothing:
    """An endpoint that answers everything."""

    methods = ("GET",)
    most_bytes = most_header_bytes = 1000
    too_large = header_too_large = (413, "")
    origins = None
    needs_body = False

    def refuse(self, request) -> None:
        return None

    def handle(self, request) -> None:
        request.reply(200)


def test_a_server_that_ends_leaves_no_client_waiting() -> None:
    """Clients connect while servers start and end; each gets an answer, a refusal, or the end of its connection."""
    stopped = threading.Event()
    port = 0
    waited: list[str] = []
    answers = 0

    def client() -> None:
        nonlocal answers
        while not stopped.is_set():
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as connection:
                    connection.sendall(b"GET /s HTTP/1.1\r\nHost: h\r\n\r\n")
                    answers += connection.recv(100).startswith(b"HTTP/1.1 200 ")
            except TimeoutError:
                waited.append("a client waited")
            except OSError:
                continue

    async def serve() -> None:
        nonlocal port
        for _ in range(60):
            server = await HttpServer.open(Address("127.0.0.1", port), "/s", Nothing(), None, 10.0)
            port = server.listening_port
            if not threads[0].is_alive():
                for thread in threads:
                    thread.start()
            await asyncio.sleep(0.005)
            await server.close("/s")

    threads = [threading.Thread(target=client) for _ in range(4)]
    try:
        asyncio.run(serve())
    finally:
        stopped.set()
        for thread in threads:
            thread.join(WAIT)
    assert waited == []
    assert answers


@pytest.mark.parametrize("has_readers", [True, False])
def test_connections_are_accepted(has_readers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> list[bytes]:
        loop = asyncio.get_running_loop()
        accepted: asyncio.Queue[socket.socket] = asyncio.Queue()
        found = Listening(accepted.put_nowait)
        if not has_readers:  # as the event loop of Windows
            with monkeypatch.context() as patch:
                patch.setattr(loop, "add_reader", _not_implemented)
                await found.open("127.0.0.1", 0)
        else:
            await found.open("127.0.0.1", 0)
        received, port = [], found.port
        for number in range(3):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"%d" % number)
            with await accepted.get() as connected:
                received.append(await loop.sock_recv(connected, 10))
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        found.close()
        await asyncio.sleep(0)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        return received

    def _not_implemented(*_: object) -> None:
        raise NotImplementedError

    assert asyncio.run(run()) == [b"0", b"1", b"2"]


def test_accepting_goes_on_after_too_many_open_files(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listening, "_PAUSE_SECONDS", 0.01)

    async def run() -> None:
        accepted: asyncio.Queue[socket.socket] = asyncio.Queue()
        found = Listening(accepted.put_nowait)
        await found.open("127.0.0.1", 0)
        failures = 2
        accept = socket.socket.accept

        def failing(self: socket.socket) -> tuple[socket.socket, object]:
            nonlocal failures
            if failures:
                failures -= 1
                raise OSError(errno.EMFILE, "too many open files")
            return accept(self)

        monkeypatch.setattr(socket.socket, "accept", failing)
        _, writer = await asyncio.open_connection("127.0.0.1", found.port)
        (await asyncio.wait_for(accepted.get(), WAIT)).close()
        found.close()
        writer.close()

    asyncio.run(run())
    assert caplog.text.count("can't accept connections") == 2


def test_a_server_of_asyncio_ends_after_its_accepted_connections_are_served() -> None:
    """Otherwise sockets that were accepted in the moment of the end would stay open."""

    async def run() -> int:
        served = asyncio.Event()

        async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()
            served.set()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        address = server.sockets[0].getsockname()
        loop = asyncio.get_running_loop()
        accepting = server.sockets[0].fileno()
        client = socket.create_connection(address)
        while not select.select([accepting], [], [], WAIT)[0]:  # it waits to be accepted
            pass
        for _ in range(2):  # it is accepted then, and has no transport yet
            await asyncio.sleep(0)
        with client:
            await end_listening(server)
            await asyncio.wait_for(served.wait(), WAIT)
            return len(await loop.run_in_executor(None, client.recv, 10))

    assert asyncio.run(run()) == 0
