"""``@sink(type = 'tcp')``: sends messages of Siddhi's TCP protocol."""

from __future__ import annotations

import asyncio
import uuid
from urllib.parse import urlsplit

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.io.async_sink import AsyncSink
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.tcp import LARGEST_FRAME, frame

__all__ = ["TcpSink"]


class TcpSink(AsyncSink):
    """Sends payloads to a channel of a TCP server.

    A payload counts as published when the operating system has accepted it. The protocol has no acknowledgement: what was on
    its way is lost if the connection breaks.
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
        self._address = (host, port)
        self._channel = parts.path[1:]
        self._session = f"{uuid.uuid4()}-{host}:{port}"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def open(self) -> None:
        self._streams = await asyncio.open_connection(*self._address)

    async def send(self, payload: object, options: DynamicOptions) -> None:
        if not isinstance(payload, (str, bytes)):
            raise MappingFailedError(f"sink 'tcp' sends texts and bytes, not {type(payload).__name__}")
        content = payload.encode() if isinstance(payload, str) else payload
        if len(content) > LARGEST_FRAME // 2:
            raise MappingFailedError(f"a payload of {len(content)} bytes; the largest has {LARGEST_FRAME // 2}")
        if self._streams is None:
            raise ConnectionResetError("the connection is closed")
        reader, writer = self._streams
        if reader.at_eof():
            raise ConnectionResetError("the server has closed the connection")
        writer.write(frame(self._session, self._channel, content))
        await writer.drain()

    async def close(self) -> None:
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].close()
            await asyncio.gather(streams[1].wait_closed(), return_exceptions=True)
