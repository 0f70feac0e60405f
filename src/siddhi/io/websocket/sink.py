"""``@sink(type = 'websocket')``: sends messages to a WebSocket server."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from siddhi.errors import ConnectionUnavailableError, MappingFailedError
from siddhi.io.async_sink import AsyncSink
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.websocket.client import WebSocketClient
from siddhi.io.websocket.link import Link

__all__ = ["WebSocketSink", "message_of"]


def message_of(owner: str, payload: object) -> str | bytes:
    """Return the message of a payload.

    Raises:
        MappingFailedError: the payload is neither a text nor bytes.
    """
    if isinstance(payload, (str, bytes)):
        return payload
    raise MappingFailedError(f"{owner} sends texts and bytes, not {type(payload).__name__}")


class WebSocketSink(AsyncSink):
    """Sends as a client: texts as text messages, bytes as binary messages.

    A payload counts as published when it is written to the connection; with ``confirm``, when the server has answered a ping
    that was sent after it. Messages of the server are ignored.
    """

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self._client = WebSocketClient(options)
        self._confirms = options.flag("confirm", default=False)
        self._link: Link | None = None
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._link = await self._client.connect()
        # Answers to pings come among the messages of the server.
        self._reading = asyncio.get_running_loop().create_task(_ignore_messages(self._link))

    async def send(self, payload: object, options: DynamicOptions) -> None:
        message = message_of("sink 'websocket'", payload)
        if self._link is not None and self._link.is_idle:
            await self.close()
            await self.open()
        if self._link is None:
            raise ConnectionUnavailableError(f"{self._client.name}: the connection is closed")
        await self._link.send(message)
        if self._confirms:
            await self._link.confirm()

    async def close(self) -> None:
        link, self._link = self._link, None
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        if link is not None:
            await link.close()


async def _ignore_messages(link: Link) -> None:
    with suppress(ConnectionUnavailableError):  # the next payload finds out
        while True:
            await link.receive()
