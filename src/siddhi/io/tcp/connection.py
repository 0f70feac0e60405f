"""Options of TCP connections, and the connection of a client."""

from __future__ import annotations

import asyncio
import socket

__all__ = ["ClientConnection", "set_options"]

_ALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""Seconds without traffic before the system asks whether the peer is alive, seconds between two questions, and their number."""


def set_options(transport: asyncio.BaseTransport, *, no_delay: bool, keep_alive: bool) -> None:
    """Set options of a connection's socket."""
    connection: socket.socket | None = transport.get_extra_info("socket")
    if connection is None:
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(no_delay))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, int(keep_alive))
    if keep_alive:
        for name, value in _ALIVE.items():
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class ClientConnection(asyncio.Protocol):
    """A connection that only sends. It notes at once that the server closed it."""

    def __init__(self, *, no_delay: bool, keep_alive: bool) -> None:
        self._no_delay = no_delay
        self._keep_alive = keep_alive
        self._transport: asyncio.Transport | None = None
        self._written: asyncio.Future[None] | None = None
        self._lost: Exception | None = None
        self.closed = asyncio.get_running_loop().create_future()

    async def write(self, content: bytes) -> None:
        """Write bytes; return when the operating system, or TLS, has taken all of them.

        Raises:
            OSError: the connection is lost. The last bytes may have been sent.
        """
        if self._lost is not None:
            raise self._lost
        assert self._transport is not None
        self._transport.write(content)
        if self._written is not None:
            await asyncio.shield(self._written)
        if self._lost is not None:
            raise self._lost

    async def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()
            await asyncio.wait([self.closed], timeout=5)
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=1, low=0)  # paused while anything is left; 0 stalls TLS
        set_options(transport, no_delay=self._no_delay, keep_alive=self._keep_alive)

    def pause_writing(self) -> None:
        self._written = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        written, self._written = self._written, None
        if written is not None and not written.done():
            written.set_result(None)

    def eof_received(self) -> bool | None:
        self._lost = ConnectionResetError("the server has closed the connection")
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._lost is None:
            self._lost = (
                exc if isinstance(exc, OSError) else ConnectionResetError(str(exc or "the connection is closed"))
            )
        self.resume_writing()
        if not self.closed.done():
            self.closed.set_result(None)
