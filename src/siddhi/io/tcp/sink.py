"""``@sink(type = 'tcp')``: sends messages of Siddhi's TCP protocol."""

from __future__ import annotations

import asyncio
import ssl
import uuid
from urllib.parse import urlsplit

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.io.async_sink import AsyncSink
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.tcp.connection import ClientConnection
from siddhi.io.tcp.frames import LARGEST_FRAME, frame
from siddhi.io.tls import client_context, refuse_java_stores

__all__ = ["TcpSink"]


class TcpSink(AsyncSink):
    """Sends payloads to a channel of a TCP server.

    A payload counts as published when the operating system has accepted all of it. The protocol has no acknowledgement: what
    was on its way is lost if the connection breaks.
    """

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        url = options.static("url")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if host is None or port is None or parts.scheme != "tcp" or not parts.path.strip("/"):
            raise SiddhiAppCreationError(
                f"invalid option 'url' of sink 'tcp': '{url}'", code="E326", hint="write tcp://host:port/context"
            )
        refuse_java_stores(options)
        self._address = (host, port)
        self._channel = parts.path[1:]
        self._session = f"{uuid.uuid4()}-{host}:{port}"
        self._no_delay = options.flag("tcp.no.delay", default=True)
        self._keep_alive = options.flag("keep.alive", default=True)
        self._timeout = options.duration("connection.timeout", "10 sec")
        self._sync = options.option("sync", "false")
        if self._sync.is_static:
            options.flag("sync", default=False)
        self._context: ssl.SSLContext | None = None
        names = [name for name in options.names if name.lower().startswith("tls.") and name.lower() != "tls.enabled"]
        if options.flag("tls.enabled", default=bool(names)):
            self._context = client_context(options)
        elif names:
            raise options.invalid(names[0], "'tls.enabled' = 'true' beside it", shown=False)
        self._connection: ClientConnection | None = None

    async def open(self) -> None:
        def made() -> ClientConnection:
            return ClientConnection(no_delay=self._no_delay, keep_alive=self._keep_alive)

        connecting = asyncio.get_running_loop().create_connection(made, *self._address, ssl=self._context)
        try:
            _, self._connection = await asyncio.wait_for(connecting, self._timeout)
        except asyncio.TimeoutError:
            raise ConnectionError(f"no connection within {self._timeout:g} s") from None

    async def send(self, payload: object, options: DynamicOptions) -> None:
        if not isinstance(payload, (str, bytes)):
            raise MappingFailedError(f"sink 'tcp' sends texts and bytes, not {type(payload).__name__}")
        if not self._sync.is_static and (sync := str(self._sync.value(options)).lower()) not in ("true", "false"):
            raise MappingFailedError(f"option 'sync' of sink 'tcp' is '{sync}'; expected 'true' or 'false'")
        content = payload.encode() if isinstance(payload, str) else payload
        if len(content) > LARGEST_FRAME // 2:
            raise MappingFailedError(
                f"a payload of {len(content)} bytes is too large: expected at most {LARGEST_FRAME // 2}"
            )
        if self._connection is None:
            raise ConnectionResetError("the connection is closed")
        await self._connection.write(frame(self._session, self._channel, content))

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
