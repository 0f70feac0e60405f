"""``@source(type = 'sse')``: receives server-sent events."""

from __future__ import annotations

import asyncio
import logging

import aiohttp

from siddhi.errors import ConnectionUnavailableError, SiddhiAppCreationError
from siddhi.io.async_source import ReplayableSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.http.client import ClientOptions, HttpClient, check
from siddhi.io.http.event_stream import EventReader, ServerEvent
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.source import SourceEventListener

__all__ = ["SseSource"]

logger = logging.getLogger("siddhi")

MOST_EVENT_SIZE = 16 * 1024 * 1024


class SseSource(ReplayableSource):
    """Receives the events of a stream; each event is a payload, its data.

    The position is the identifier of the last event: a connection that is lost, or a restore, goes on after it, if the server
    keeps its events.
    """

    output_event_classes = (str,)

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        for name in transport_properties:
            if name.lower() not in ("id", "event"):
                raise SiddhiAppCreationError(
                    f"source 'sse' has no transport property '{name}'", code="E326", hint="it has id and event"
                )
        self._names = tuple(name.lower() for name in transport_properties)
        self._options = ClientOptions(options, context, url="receiver.url", default_method="GET")
        self._silence = options.duration("socket.idle.timeout", "0")
        self._retry = options.duration("reconnect.pause", "3000")
        options.integer("worker.count", 1, least=1)
        self._client: HttpClient | None = None
        self._last: str | None = None  # identifier of the last event that was received

    async def open(self) -> None:
        self._last = None if self.position is None else str(self.position)
        self._client = HttpClient(self._options)

    async def receive(self) -> None:
        """Receive events; connect again when the server ends the stream."""
        while True:
            if not await self._receive_stream():
                return
            await asyncio.sleep(self._retry)

    async def _receive_stream(self) -> bool:
        """Receive the events of one connection. Return whether another one is welcome."""
        if self._client is None:
            raise ConnectionUnavailableError("the source is not connected")
        more = [("Accept", "text/event-stream"), ("Cache-Control", "no-cache")]
        if self._last is not None:
            more.append(("Last-Event-ID", self._last))
        reader = EventReader(MOST_EVENT_SIZE, self._last)
        async with self._client.request(b"", "", DynamicOptions(), silence=self._silence, more=more) as response:
            if response.status == 204:
                logger.info("source 'sse': '%s' has no more events", response.url)
                return False
            await check(response, frozenset({200}))
            if response.content_type != "text/event-stream":
                raise ConnectionUnavailableError(
                    f"'{response.url}' sends {response.content_type}, expected text/event-stream"
                )
            await self._receive_events(response, reader)
        return True

    async def _receive_events(self, response: aiohttp.ClientResponse, reader: EventReader) -> None:
        async for data in response.content.iter_any():
            events = reader.feed(data)
            if reader.retry is not None:
                self._retry = reader.retry
            if events:
                await self.put_many([(event.data, self._properties(event), event.id) for event in events])
                self._last = events[-1].id

    def _properties(self, event: ServerEvent) -> list[object] | None:
        return [event.id if name == "id" else event.event for name in self._names] if self._names else None

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()
