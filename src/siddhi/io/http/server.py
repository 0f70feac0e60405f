"""The listening servers of the process: one per host and port, shared by the sources and sinks of all apps."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from contextlib import suppress
from functools import partial
from typing import ClassVar

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.event_loop import end_tasks
from siddhi.io.http.connection import HEADER_SECONDS, Connection
from siddhi.io.http.messages import Endpoint
from siddhi.io.http.options import Address
from siddhi.io.listening import Listening

__all__ = ["HttpServer"]

logger = logging.getLogger("siddhi")

MOST_CONNECTIONS = 10_000
"""Number of connections of a server; further ones are answered with 503."""
MOST_BUFFERED = 256 * 1024 * 1024
"""Bytes of bodies that a server has in memory; further requests are answered with 503."""
CLOSE_SECONDS = 5.0
"""Maximum time for clients to read the last answers."""
_CHECK_SECONDS = 0.5


class HttpServer:
    """A listening server. Used on the event loop only."""

    _running: ClassVar[dict[tuple[str, int], HttpServer]] = {}

    def __init__(self, address: Address) -> None:
        self.address = address
        self.idle_seconds = 0.0
        self.is_closing = False
        self._endpoints: dict[str, Endpoint] = {}
        self._connections: set[Connection] = set()
        self._left = asyncio.Event()
        self._buffered = 0
        self._starting = asyncio.Lock()
        self._listening: Listening | None = None
        self._greetings: set[asyncio.Task[None]] = set()  # connections that are being made
        self._checking: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls, address: Address, path: str, endpoint: Endpoint, context: ssl.SSLContext | None, idle_seconds: float
    ) -> HttpServer:
        """Add a path to the server of an address; the first one starts it.

        Args:
            address: the address.
            path: the path, decoded.
            endpoint: whom it belongs to.
            context: TLS of the server; None: there is none.
            idle_seconds: time after which connections without a request are closed; the longest one of a server holds.

        Raises:
            SiddhiAppCreationError: the path belongs to another connector, or the server has another TLS.
            OSError: the address can't be used.
        """
        key = (address.host, address.port)
        server = cls._running.setdefault(key, cls(address))
        if server.address.tls != address.tls:
            raise SiddhiAppCreationError(
                f"the server of {address.host}:{address.port} runs with other TLS settings",
                code="E326",
                hint="use the same scheme and 'tls.' options, or another port",
            )
        if path in server._endpoints:
            raise SiddhiAppCreationError(
                f"'{server.address.url}{path}' belongs to another connector", code="E326", hint="use another path"
            )
        server._endpoints[path] = endpoint
        server.idle_seconds = max(server.idle_seconds, idle_seconds)
        try:
            async with server._starting:
                if server._listening is None:
                    await server._listen(context)
        except BaseException:
            await server.close(path)
            raise
        return server

    async def _listen(self, context: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        listening = Listening(partial(self._accept, context))
        await listening.open(self.address.host, self.address.port)
        self._listening = listening
        self._checking = loop.create_task(self._check())

    def _accept(self, context: ssl.SSLContext | None, connected: socket.socket) -> None:
        if len(self._greetings) >= MOST_CONNECTIONS:
            connected.close()
            return
        task = asyncio.get_running_loop().create_task(self._greet(context, connected))
        self._greetings.add(task)
        task.add_done_callback(self._greetings.discard)

    async def _greet(self, context: ssl.SSLContext | None, connected: socket.socket) -> None:
        """Make the connection of a socket, with TLS if there is any."""
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: Connection(self),
                connected,
                ssl=context,
                ssl_handshake_timeout=None if context is None else HEADER_SECONDS,
            )
        except OSError as error:  # ssl.SSLError is one
            logger.debug("%s: a connection failed: %s", self.address.url, error)

    @property
    def listening_port(self) -> int:
        """The port that the server listens on; another one than that of the address if that is 0."""
        assert self._listening is not None
        return self._listening.port

    async def close(self, path: str) -> None:
        """Remove a path; the last one ends the server and its connections."""
        self._endpoints.pop(path, None)
        if self._endpoints:
            return
        key = (self.address.host, self.address.port)
        if self._running.get(key) is self:
            del self._running[key]
        self.is_closing = True
        listening, self._listening = self._listening, None
        if listening is not None:
            listening.close()
        await asyncio.sleep(0)  # from now on the sockets belong to asyncio, which closes them
        await end_tasks(tuple(self._greetings))
        for connection in tuple(self._connections):
            connection.end()
        await self._wait_for_clients()
        if self._checking is not None:
            await end_tasks((self._checking,))

    async def _wait_for_clients(self) -> None:
        """Wait until the clients have read their answers, and end those that do not."""
        deadline = asyncio.get_running_loop().time() + CLOSE_SECONDS
        while self._connections and (left := deadline - asyncio.get_running_loop().time()) > 0:
            self._left.clear()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._left.wait(), left)
        for connection in tuple(self._connections):
            connection.abort()
        await asyncio.sleep(0)

    async def _check(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            now = loop.time()
            for connection in tuple(self._connections):
                try:
                    connection.check(now)
                except Exception:  # the other connections are checked all the same
                    logger.exception("%s: a connection failed", self.address.url)
                    connection.abort()

    # --- called by connections

    def endpoint(self, path: str) -> Endpoint | None:
        return self._endpoints.get(path)

    def add(self, connection: Connection) -> bool:
        self._connections.add(connection)
        return len(self._connections) <= MOST_CONNECTIONS

    def remove(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._left.set()

    def reserve(self, size: int) -> bool:
        if size > 0 and self._buffered + size > MOST_BUFFERED:
            return False
        self._buffered += size
        return True
