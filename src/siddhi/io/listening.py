"""Sockets that listen, and end without leaving a client that connects in that moment.

A server of ``loop.create_server`` leaves it, before Python 3.12: its connection is neither served nor closed, so that the client
waits for an answer. Servers either accept with :class:`Listening`, or end with :func:`end_listening`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress

__all__ = ["Listening", "end_listening"]

logger = logging.getLogger("siddhi")

_BACKLOG = 1024
_PAUSE_SECONDS = 1.0
"""Pause after an error of accept, such as too many open files."""


_STEPS = 3
"""Steps of the event loop from an accepted connection to its handler: a task makes the transport, it calls the protocol, and that
starts a task."""


async def end_listening(server: asyncio.Server) -> None:
    """Accept no more connections, wait until those accepted have reached their handlers, and close a server.

    The connections stay open. The caller waits for them or ends them.
    """
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):  # an event loop without readers closes what it accepts
        for listening in server.sockets:
            loop.remove_reader(listening.fileno())
    for _ in range(_STEPS):
        await asyncio.sleep(0)
    server.close()


class Listening:
    """The listening sockets of an address. Used on the event loop only.

    Args:
        accepted: called with each connected socket, which does not block.
    """

    def __init__(self, accepted: Callable[[socket.socket], object]) -> None:
        self._accepted = accepted
        self._sockets: list[socket.socket] = []
        self._tasks: list[asyncio.Task[None]] = []  # on event loops without readers
        self._loop = asyncio.get_running_loop()

    async def open(self, host: str, port: int) -> None:
        """Listen at all addresses of a host.

        Raises:
            OSError: the address can't be used.
        """
        found = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        addresses = dict.fromkeys((family, str(address[0]), int(address[1])) for family, _, _, _, address in found)
        try:
            for family, name, number in addresses:
                listening = socket.create_server((name, number), family=family, backlog=_BACKLOG)
                listening.setblocking(False)
                self._sockets.append(listening)
            for listening in self._sockets:
                self._start(listening)
        except BaseException:
            self.close()
            raise

    @property
    def port(self) -> int:
        """The port of the first address."""
        port: int = self._sockets[0].getsockname()[1]
        return port

    def close(self) -> None:
        """Listen no more. The accepted sockets stay open."""
        sockets, self._sockets = self._sockets, []
        for task in self._tasks:
            task.cancel()
        for listening in sockets:
            if not self._tasks:
                self._loop.remove_reader(listening)
            listening.close()

    def _start(self, listening: socket.socket) -> None:
        try:
            self._loop.add_reader(listening, self._accept, listening)
        except NotImplementedError:
            self._tasks.append(self._loop.create_task(self._accept_all(listening)))

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_BACKLOG):
            try:
                connected, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                logger.error("can't accept connections: %s", error)
                self._loop.remove_reader(listening)
                self._loop.call_later(_PAUSE_SECONDS, self._continue, listening)
                return
            connected.setblocking(False)
            self._accepted(connected)

    def _continue(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            self._loop.add_reader(listening, self._accept, listening)

    async def _accept_all(self, listening: socket.socket) -> None:
        while True:
            try:
                connected, _ = await self._loop.sock_accept(listening)
            except ConnectionAbortedError:
                continue
            except OSError as error:
                logger.error("can't accept connections: %s", error)
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            connected.setblocking(False)
            self._accepted(connected)
