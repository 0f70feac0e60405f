"""A WebSocket server and clients for tests, in a thread of their own."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

pytest.importorskip("websockets")

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

from siddhi.io.listening import end_listening
from tests.kit.event_loop import Loop

__all__ = ["Client", "FeedServer", "client", "connected"]

WAIT = 30


class FeedServer:
    """A server that notes what it receives and sends what a test asks for; stopping and starting keeps the port.

    Attributes:
        received: the messages of all clients.
        requests: path and headers of each client.
        closed: the codes with which clients closed.
        behave: serves a client; the default receives.
    """

    def __init__(self, loop: Loop, **arguments: Any) -> None:
        self._loop = loop
        self._arguments = arguments
        self._server: Server | None = None
        self.port = 0
        self.received: list[str | bytes] = []
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.closed: list[int] = []
        self.clients: set[ServerConnection] = set()
        self.behave: Callable[[ServerConnection], Awaitable[None]] = self.receive

    def start(self) -> FeedServer:
        self._loop.run(self._start())
        return self

    def stop(self) -> None:
        self._loop.run(self._stop())

    def send(self, *messages: str | bytes) -> None:
        """Send messages to all clients."""

        async def send() -> None:
            for message in messages:
                for one in tuple(self.clients):
                    with suppress(ConnectionClosed):
                        await one.send(message)

        self._loop.run(send())

    async def receive(self, connection: ServerConnection) -> None:
        while True:
            self.received.append(await connection.recv())

    async def _start(self) -> None:
        self._server = await serve(self._serve, "127.0.0.1", self.port, **self._arguments)
        self.port = next(iter(self._server.sockets)).getsockname()[1]

    async def _stop(self) -> None:
        if self._server is not None:
            server, self._server = self._server, None
            await end_listening(server.server)
            server.close()
            await server.wait_closed()

    async def _serve(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        self.requests.append((connection.request.path, dict(connection.request.headers.raw_items())))
        self.clients.add(connection)
        try:
            await self.behave(connection)
        except ConnectionClosed as error:
            if error.rcvd is not None:
                self.closed.append(error.rcvd.code)
        finally:
            self.clients.discard(connection)


@contextmanager
def client(loop: Loop, url: str, context: ssl.SSLContext | None = None, **arguments: Any) -> Iterator[Client]:
    """Connect to a server, and close the connection at the end."""
    made = connected(loop, url, context, **arguments)
    yield made
    made.close()


def connected(loop: Loop, url: str, context: ssl.SSLContext | None = None, **arguments: Any) -> Client:
    """Connect to a server."""
    return Client(loop, loop.run(_connect(url, ssl=context, **arguments)))


async def _connect(url: str, **arguments: Any) -> ClientConnection:
    return await connect(url, proxy=None, **arguments)


class Client:
    """A client whose calls wait."""

    def __init__(self, loop: Loop, connection: ClientConnection) -> None:
        self.connection = connection
        self._loop = loop

    def send(self, *messages: str | bytes) -> None:
        async def send() -> None:
            for message in messages:
                await self.connection.send(message)

        self._loop.run(send())

    def receive(self) -> str | bytes:
        return self._loop.run(self.connection.recv())

    def close(self) -> None:
        self._loop.run(self.connection.close())

    @property
    def is_closed(self) -> bool:
        """Whether one of both sides has closed the connection."""
        return self.connection.state is not State.OPEN

    def close_code(self) -> int | None:
        """Wait until the server closes the connection, and return its code."""

        async def wait() -> int | None:
            try:
                while True:
                    await self.connection.recv()
            except ConnectionClosed as error:
                return None if error.rcvd is None else error.rcvd.code

        return self._loop.run(wait())
