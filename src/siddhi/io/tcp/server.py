"""Servers of Siddhi's TCP protocol: one for each address, shared by the sources of the process that use it."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import ClassVar

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.event_loop import end_tasks
from siddhi.io.listening import end_listening
from siddhi.io.tcp.connection import set_options
from siddhi.io.tcp.frames import FrameBuffer, FrameError

__all__ = ["Channel", "ServerOptions", "TcpServer"]

logger = logging.getLogger("siddhi")

_READ_SIZE = 256 * 1024

Channel = Callable[[list[bytes]], Awaitable[None]]
"""Receives payloads of a channel; the connection is not read meanwhile."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of a server. The sources that share it must have the same.

    Attributes:
        host: the address to listen on.
        port: the port.
        no_delay: whether small packets are sent at once.
        keep_alive: whether the system finds out that a silent client is gone.
        tls: texts of the options of TLS.
    """

    host: str
    port: int
    no_delay: bool
    keep_alive: bool
    tls: tuple[str | None, ...] = field(repr=False)

    @property
    def name(self) -> str:
        """The server for messages."""
        return f"tcp://{self.host}:{self.port}"


class TcpServer:
    """A listening server. Used on the event loop only."""

    _running: ClassVar[dict[tuple[str, int], TcpServer]] = {}

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self._channels: dict[str, Channel] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()
        self._server: asyncio.Server | None = None

    @classmethod
    async def open(
        cls, options: ServerOptions, context: ssl.SSLContext | None, name: str, channel: Channel
    ) -> TcpServer:
        """Add a channel to the server of an address; the first one starts it.

        Raises:
            SiddhiAppCreationError: another source has a channel of this name, or the server has other options.
            OSError: the address can't be used.
        """
        server = cls._running.setdefault((options.host, options.port), cls(options))
        if server.options != options:
            raise SiddhiAppCreationError(
                f"the server {options.name} runs with other options already",
                code="E326",
                hint="sources with one host and port need the same options of the server; only 'context' may differ",
            )
        if name in server._channels:
            raise SiddhiAppCreationError(
                f"channel '{name}' of {options.name} belongs to another source", code="E326", hint="set 'context'"
            )
        server._channels[name] = channel
        try:
            async with server._starting:
                if server._server is None:
                    server._server = await asyncio.start_server(
                        server._serve, options.host, options.port, limit=_READ_SIZE, ssl=context
                    )
        except BaseException:
            await server.close(name)
            raise
        return server

    @property
    def listening_port(self) -> int:
        """The port that the server listens on; another one than that of the options if that is 0."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self, name: str) -> None:
        """Remove a channel; the last one ends the server and its connections."""
        self._channels.pop(name, None)
        if self._channels:
            return
        self._running.pop((self.options.host, self.options.port), None)
        server, self._server = self._server, None
        if server is not None:
            await end_listening(server)
        await end_tasks(tuple(self._connections))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        peer = writer.get_extra_info("peername")
        try:
            set_options(writer.transport, no_delay=self.options.no_delay, keep_alive=self.options.keep_alive)
            await self._read(reader)
        except (FrameError, OSError) as error:
            logger.error("%s: connection of %s closed: %s", self.options.name, peer, error)
        except asyncio.CancelledError:
            pass  # the server is closed
        finally:
            self._connections.discard(task)
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        buffer = FrameBuffer()
        while content := await reader.read(_READ_SIZE):
            found, error = buffer.feed(content)
            for name, frames in groupby(found, itemgetter(0)):
                channel = self._channels.get(name)
                if channel is None:
                    logger.error("%s: a message to the unknown channel %r was dropped", self.options.name, name)
                else:
                    await channel([payload for _, payload in frames])
            if error is not None:
                raise error
        if (error := buffer.end()) is not None:
            raise error
