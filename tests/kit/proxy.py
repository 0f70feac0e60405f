"""A TCP proxy for tests of faults: it drops, stalls, half-closes and refuses the connections to a server."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from siddhi.io.listening import Listening

__all__ = ["FaultProxy"]

_T = TypeVar("_T")
_CHUNK = 64 * 1024


class _Pair:
    """A client's connection and the one to the server that belongs to it."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client = client
        self.server = server
        self.tasks: list[asyncio.Task[None]] = []
        self.half_closed = False

    def abort(self) -> None:
        for writer in (self.client, self.server):
            _reset(writer)
        for task in self.tasks:
            task.cancel()


class FaultProxy:
    """Forwards connections to ``host:port``, in a thread of its own; a context manager.

    ``tls`` is the context of a server: clients need TLS then, the server behind gets none.
    Every method returns when its fault is there. :attr:`target` can be changed at any time: new connections go to it.

    Attributes:
        target: host and port of the server.
        port: the port of the proxy on 127.0.0.1; it stays the same.
        connected: number of connections that reached the server so far.
        rewrite: changes what the server sends, such as addresses of the server in its answers.
    """

    def __init__(self, port: int, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self.target = (host, port)
        self._tls = tls
        self.port = 0
        self.connected = 0
        self._pairs: set[_Pair] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, name="fault-proxy", daemon=True)
        self._server: Listening | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._flows = asyncio.Event()
        self.rewrite: Callable[[bytes], bytes] = lambda content: content
        self._left: int | None = None  # bytes that are forwarded before the next drop

    def __enter__(self) -> FaultProxy:
        self._thread.start()
        self._flows.set()
        self.accept()
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    # --- faults

    @property
    def open_connections(self) -> int:
        """Number of connections that are forwarded now."""
        return len(self._pairs)

    def drop(self) -> int:
        """Reset all connections at once; new ones are forwarded as before. Return how many there were."""
        return self._run(self._call(self._drop))

    def drop_after(self, size: int) -> None:
        """Reset all connections as soon as they have forwarded ``size`` more bytes together: in the midst of a message."""

        def limit() -> None:
            self._left = size

        self._run(self._call(limit))

    def stall(self) -> None:
        """Forward nothing more, in both directions, until :meth:`flow`; nothing is closed and nothing is lost."""
        self._run(self._call(self._flows.clear))

    def flow(self) -> None:
        """End :meth:`stall`."""
        self._run(self._call(self._flows.set))

    def half_close(self) -> None:
        """Tell the clients that the server sends no more (FIN); what they send is still forwarded."""

        def finish() -> None:
            for pair in self._pairs:
                pair.half_closed = True
                with suppress(OSError):
                    pair.client.write_eof()

        self._run(self._call(finish))

    def refuse(self) -> None:
        """Reset all connections, and refuse new ones until :meth:`accept`."""
        self._run(self._refuse())

    def accept(self) -> None:
        """Forward new connections, as at the beginning."""
        self._run(self._accept())

    # --- on the loop of the proxy

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def _run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    @staticmethod
    async def _call(function: Callable[[], _T]) -> _T:
        return function()

    async def _accept(self) -> None:
        if self._server is None:
            self._server = Listening(self._accepted)
            await self._server.open("127.0.0.1", self.port)
            self.port = self._server.port

    def _accepted(self, connected: socket.socket) -> None:
        task = self._loop.create_task(self._connect(connected))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, connected: socket.socket) -> None:
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader(), self._forward)
        with suppress(OSError):  # no TLS
            await self._loop.connect_accepted_socket(lambda: protocol, connected, ssl=self._tls)

    async def _refuse(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
        self._drop()

    def _drop(self) -> int:
        self._left = None
        pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            pair.abort()
        return len(pairs)

    async def _end(self) -> None:
        await self._refuse()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _forward(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        try:
            answers, server = await asyncio.open_connection(*self.target)
        except OSError:
            _reset(client)
            return
        pair = _Pair(client, server)
        if self._server is None:  # refused meanwhile
            pair.abort()
            return
        self._pairs.add(pair)
        self.connected += 1
        pair.tasks = [
            asyncio.ensure_future(self._pump(pair, reader, server)),
            asyncio.ensure_future(self._pump(pair, answers, client)),
        ]
        with suppress(asyncio.CancelledError):  # the streams of asyncio log a server's task that is cancelled
            await asyncio.gather(*pair.tasks, return_exceptions=True)
        self._pairs.discard(pair)
        for writer in (client, server):
            writer.close()

    async def _pump(self, pair: _Pair, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while content := await reader.read(_CHUNK):
                await self._flows.wait()
                if writer is pair.client:
                    content = self.rewrite(content)
                if pair.half_closed and writer is pair.client:
                    continue
                if self._left is not None:
                    content = content[: self._left]
                    self._left -= len(content)
                writer.write(content)
                await writer.drain()
                if self._left == 0:
                    self._drop()
                    return
            if not (pair.half_closed and writer is pair.client):
                writer.write_eof()
        except OSError:
            _reset(pair.client)
            _reset(pair.server)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection with RST instead of FIN, as a machine that lost it would."""
    with suppress(OSError):
        if (open_ := writer.get_extra_info("socket")) is not None:  # None: a handshake of TLS has failed
            open_.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
