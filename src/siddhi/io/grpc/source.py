"""``@source(type = 'grpc')``: receives messages of gRPC clients, which get no answer but an empty message."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from siddhi.io.async_source import AsyncSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.grpc.options import Target
from siddhi.io.grpc.server import Answer, GrpcServer, Refusal, ServerOptions, property_reader
from siddhi.io.options import OptionHolder
from siddhi.io.source import SourceEventListener

__all__ = ["GrpcSource"]


class GrpcSource(AsyncSource):
    """Receives the messages of the method ``consume`` of the event service, or of a method of a user's service.

    A client's stream is read no faster than the app processes. At its end the client gets an empty message when all messages
    were processed, or the status INVALID_ARGUMENT if some of them could not be mapped.
    """

    is_call = False
    method = "consume"

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        self.stream = context.stream
        self.target = Target.of(options, "receiver.url", self.method)
        self._options, self._access = ServerOptions.of(options, self.target)
        self._properties = property_reader(transport_properties)
        self._server: GrpcServer | None = None

    async def open(self) -> None:
        self._server = await GrpcServer.open(self._options, self._access, self)

    async def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.close(self)

    async def take(self, payload: str | bytes, properties: Mapping[str, object]) -> asyncio.Future[bool]:
        return await self.submit(payload, self._properties(properties))

    async def answer(self, payload: str | bytes, properties: Mapping[str, object]) -> Answer | Refusal:
        raise NotImplementedError  # the method of this source has no answer
