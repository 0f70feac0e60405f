"""``@sink(type = 'grpc-call')`` and ``@source(type = 'grpc-call-response')``: calls whose answers are events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, ClassVar

import grpc

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.async_sink import AsyncSink
from siddhi.io.async_source import AsyncSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.grpc.channel import GrpcChannel
from siddhi.io.grpc.server import property_reader
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.source import SourceEventListener
from siddhi.repeats import Repeats

__all__ = ["GrpcCallResponseSource", "GrpcCallSink"]

logger = logging.getLogger("siddhi")

MOST_ANSWERS = 10_000
"""Number of answers that may wait for the source besides its buffer; then the sink waits."""


class GrpcCallResponseSource(AsyncSource):
    """Receives the answers to the calls of the sink ``grpc-call`` with the same ``sink.id``.

    Transport properties: the attributes of the event that made the call, and the headers and metadata of the answer.
    """

    _by_id: ClassVar[dict[str, list[GrpcCallResponseSource]]] = {}  # used on the event loop only

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        self._id = options.static("sink.id")
        self._properties = property_reader(transport_properties)

    @classmethod
    def find(cls, id_: str) -> GrpcCallResponseSource | None:
        """Return the first connected source with an id."""
        return next(iter(cls._by_id.get(id_, ())), None)

    async def open(self) -> None:
        self._by_id.setdefault(self._id, []).append(self)

    async def take(self, payload: str | bytes, properties: Mapping[str, object]) -> None:
        """Hand an answer to the app."""
        await self.put(payload, self._properties(properties))

    async def close(self) -> None:
        sources = self._by_id.get(self._id, [])
        if self in sources:
            sources.remove(self)
        if not sources:
            self._by_id.pop(self._id, None)


class GrpcCallSink(AsyncSink):
    """Calls the method ``process`` of the event service, or a method of a user's service, with each payload.

    A payload is published when the server has answered.
    """

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self._channel = GrpcChannel(options, "process")
        self._id = options.static("sink.id")
        self._timeout = options.duration("call.timeout", "30 sec")
        self.concurrency = options.integer("concurrency", 1, least=1, most=10_000)
        self._names = [name for name, _ in context.attributes]
        self._method: Any = None
        self._delivering: set[asyncio.Task[None]] = set()
        self._repeats = Repeats()

    async def open(self) -> None:
        channel = await self._channel.open()
        self._method = channel.unary_unary(self._channel.target.path)

    async def send(self, payload: object, options: DynamicOptions) -> None:
        if self._method is None:
            raise ConnectionUnavailableError(f"{self._channel.name}: the channel is closed")
        message, metadata = self._channel.message(payload, options)
        call: Any = None
        try:
            call = self._method(message, metadata=metadata, timeout=self._timeout)
            answer: bytes = await call
            received = [*(await call.initial_metadata()), *(await call.trailing_metadata())]
        except (grpc.aio.AioRpcError, grpc.aio.UsageError) as error:
            raise await self._channel.failure(call, error) from error
        source = GrpcCallResponseSource.find(self._id)
        if source is None:
            self._log(f"no connected source 'grpc-call-response' has the sink.id '{self._id}'; answers are dropped")
            return
        try:
            content, headers = self._channel.target.format.decode(answer)
        except ValueError as error:
            self._log(f"an answer was dropped: {error}")
            return
        event = options.event
        asked = {} if event is None else dict(zip(self._names, event.data, strict=True))
        properties = {**{name: text for name, text in received if isinstance(text, str)}, **headers, **asked}
        await self._deliver(source, content, properties)

    async def _deliver(
        self, source: GrpcCallResponseSource, content: str | bytes, properties: Mapping[str, object]
    ) -> None:
        # Not in this coroutine: in a loop of calls and answers within one app, the source would wait for the sink.
        task = asyncio.get_running_loop().create_task(source.take(content, properties))
        self._delivering.add(task)
        task.add_done_callback(self._delivered)
        while len(self._delivering) > MOST_ANSWERS:
            await asyncio.wait(tuple(self._delivering), return_when=asyncio.FIRST_COMPLETED)

    def _delivered(self, task: asyncio.Task[None]) -> None:
        self._delivering.discard(task)
        if task.cancelled() or task.exception() is not None:
            self._log("an answer was dropped: its source was disconnected")

    def _log(self, text: str) -> None:
        note = self._repeats.note(text)
        if note is not None:
            place = f"app '{self.context.app}', sink 'grpc-call' of stream '{self.context.stream}'"
            logger.error("%s: %s%s", place, text, note)

    async def close(self) -> None:
        self._method = None
        if self._delivering:
            await asyncio.wait(tuple(self._delivering), timeout=self._channel.closing_timeout)
        for task in tuple(self._delivering):
            task.cancel()
        await self._channel.close()
