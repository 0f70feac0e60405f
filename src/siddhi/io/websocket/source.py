"""``@source(type = 'websocket')``: receives the messages of a WebSocket server."""

from __future__ import annotations

import asyncio

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.async_source import AsyncSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder
from siddhi.io.source import SourceEventListener
from siddhi.io.websocket.client import WebSocketClient
from siddhi.io.websocket.link import Link

__all__ = ["WebSocketSource"]


class WebSocketSource(AsyncSource):
    """Receives as a client: texts, and bytes of binary messages.

    The connection is read no faster than the app processes. WebSocket has no acknowledgement and no positions: what the server
    sends while there is no connection is lost.
    """

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        if transport_properties:
            raise SiddhiAppCreationError(
                f"source 'websocket' has no transport properties, but @attributes maps 'trp:{transport_properties[0]}'",
                code="E326",
                hint="a client receives messages without headers; map the attribute to a part of the message",
            )
        self._client = WebSocketClient(options)
        self._greeting = options.secret("connect.message")
        self._link: Link | None = None

    async def open(self) -> None:
        self._link = await self._client.connect()
        if self._greeting is not None:
            await self._link.send(self._greeting)

    async def receive(self) -> None:
        link = self._link
        assert link is not None
        link.is_received = True
        while True:
            message = await link.receive()
            link.block()
            try:
                await self.put(message)
            except asyncio.CancelledError:
                link.discarded += 1
                raise
            link.unblock()

    async def close(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.close()
