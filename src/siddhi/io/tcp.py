"""Siddhi's TCP protocol: its frames, and the servers that all sources of the process share.

A frame is one message to one channel, big endian: the byte 2, the int32 size of the rest, then the session, the channel and the
payload, each as an int32 length and its bytes. Nothing is answered.
"""

from __future__ import annotations

import asyncio
import logging
import struct
from collections.abc import Awaitable, Callable
from typing import ClassVar

from siddhi.errors import SiddhiAppCreationError

__all__ = ["LARGEST_FRAME", "Channel", "FrameError", "TcpServer", "frame", "read_frame"]

logger = logging.getLogger("siddhi")

LARGEST_FRAME = 64 * 1024 * 1024
"""Bytes of the largest frame that a server reads."""

_PROTOCOL = 2
_HEAD = struct.Struct(">Bi")
_LENGTH = struct.Struct(">i")

Channel = Callable[[bytes], Awaitable[None]]
"""Receives the payloads of a channel; the connection is not read meanwhile."""


class FrameError(ValueError):
    """Bytes that are not a frame."""


def frame(session: str, channel: str, payload: bytes) -> bytes:
    """Return the bytes of a frame."""
    parts = [session.encode(), channel.encode(), payload]
    size = sum(_LENGTH.size + len(part) for part in parts)
    return b"".join([_HEAD.pack(_PROTOCOL, size), *(_LENGTH.pack(len(part)) + part for part in parts)])


async def read_frame(reader: asyncio.StreamReader) -> tuple[str, bytes] | None:
    """Read the channel and the payload of the next frame; None at the end of the connection.

    Raises:
        FrameError: the bytes are not a frame, or the frame is larger than :data:`LARGEST_FRAME`.
    """
    head = await reader.read(1)
    if not head:
        return None
    try:
        head += await reader.readexactly(_HEAD.size - 1)
        protocol, size = _HEAD.unpack(head)
        if protocol != _PROTOCOL:
            raise FrameError(f"expected protocol {_PROTOCOL}, got {protocol}")
        if not 0 <= size <= LARGEST_FRAME:
            raise FrameError(f"a frame of {size} bytes; the largest has {LARGEST_FRAME}")
        body = await reader.readexactly(size)
    except asyncio.IncompleteReadError:
        raise FrameError("the connection ended within a frame") from None
    _, at = _part(body, 0)
    channel, at = _part(body, at)
    payload, at = _part(body, at)
    if at != size:
        raise FrameError(f"a frame of {size} bytes has {size - at} bytes too many")
    try:
        return channel.decode(), payload
    except UnicodeDecodeError as error:
        raise FrameError(f"the name of the channel is not UTF-8: {error}") from None


def _part(body: bytes, at: int) -> tuple[bytes, int]:
    start = at + _LENGTH.size
    if start > len(body):
        raise FrameError("a frame ends within a length")
    (length,) = _LENGTH.unpack_from(body, at)
    if not 0 <= length <= len(body) - start:
        raise FrameError(f"a part of {length} bytes in a frame of {len(body)}")
    return body[start : start + length], start + length


class TcpServer:
    """A listening server, shared by the sources of all apps that use its address. Used on the event loop only."""

    _running: ClassVar[dict[tuple[str, int], TcpServer]] = {}

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self._channels: dict[str, Channel] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()
        self._server: asyncio.Server | None = None

    @classmethod
    async def open(cls, host: str, port: int, name: str, channel: Channel) -> TcpServer:
        """Add a channel to the server of an address; the first one starts it.

        Raises:
            SiddhiAppCreationError: another source has a channel of this name.
            OSError: the address can't be used.
        """
        server = cls._running.setdefault((host, port), cls(host, port))
        if name in server._channels:
            raise SiddhiAppCreationError(
                f"channel '{name}' of tcp://{host}:{port} belongs to another source", code="E326", hint="set 'context'"
            )
        server._channels[name] = channel
        try:
            async with server._starting:
                if server._server is None:
                    server._server = await asyncio.start_server(server._serve, host, port)
        except BaseException:
            await server.close(name)
            raise
        return server

    @property
    def listening_port(self) -> int:
        """The port that the server listens on; another one than :attr:`port` if that is 0."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self, name: str) -> None:
        """Remove a channel; the last one ends the server and its connections."""
        self._channels.pop(name, None)
        if self._channels:
            return
        self._running.pop((self.host, self.port), None)
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for connection in tuple(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        peer = writer.get_extra_info("peername")
        try:
            while (found := await read_frame(reader)) is not None:
                name, payload = found
                channel = self._channels.get(name)
                if channel is None:
                    logger.error(
                        "tcp://%s:%d: a message to the unknown channel %r was dropped", self.host, self.port, name
                    )
                else:
                    await channel(payload)
        except (FrameError, ConnectionError) as error:
            logger.error("tcp://%s:%d: connection of %s closed: %s", self.host, self.port, peer, error)
        except asyncio.CancelledError:
            pass  # the server is closed
        finally:
            self._connections.discard(task)
            writer.close()
