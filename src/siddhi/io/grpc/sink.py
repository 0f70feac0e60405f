"""``@sink(type = 'grpc')``: sends messages to a gRPC service."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import grpc

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.async_sink import AsyncSink
from siddhi.io.connector import ConnectorContext
from siddhi.io.event_loop import end_tasks
from siddhi.io.grpc.channel import GrpcChannel
from siddhi.io.options import DynamicOptions, OptionHolder

__all__ = ["GrpcSink"]

logger = logging.getLogger("siddhi")


class GrpcSink(AsyncSink):
    """Sends messages to the method ``consume`` of the event service, or to a method of a user's service.

    All payloads are messages of one stream, and one counts as published when gRPC has taken it. With ``confirm`` each payload
    is a call of its own, and published when the server has answered.
    """

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self._channel = GrpcChannel(options, "consume")
        self._confirms = options.flag("confirm", default=not self._channel.target.format.has_headers)
        self._timeout = options.duration("call.timeout", "30 sec")
        if not self._confirms and options.option("headers", "").is_static is False and not self._has_headers:
            raise options.invalid("headers", "texts without attributes, since they are those of the whole stream")
        self._method: Any = None
        self._call: Any = None
        self._ended: asyncio.Future[None]

    @property
    def _has_headers(self) -> bool:
        return self._channel.target.format.has_headers

    async def open(self) -> None:
        channel = await self._channel.open()
        # On the wire a call with one message is a stream of one message; its status comes undisturbed by writing.
        kind = channel.unary_unary if self._confirms else channel.stream_unary
        self._method = kind(self._channel.target.path)

    async def send(self, payload: object, options: DynamicOptions) -> None:
        if self._method is None:
            raise ConnectionUnavailableError(f"{self._channel.name}: the channel is closed")
        message, metadata = self._channel.message(payload, options)
        call: Any = None
        try:
            if self._confirms:
                call = self._method(message, metadata=metadata, timeout=self._timeout)
                await call
                return
            if self._call is None:
                self._call = self._method(metadata=metadata)
                self._ended = asyncio.get_running_loop().create_future()
                self._call.add_done_callback(lambda _, ended=self._ended: ended.done() or ended.set_result(None))
            call = self._call
            await self._write(call, message)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError, grpc.aio.UsageError) as error:
            self._call = None
            raise await self._channel.failure(call, error) from error

    async def _write(self, call: Any, message: bytes) -> None:
        # gRPC can leave a write waiting indefinitely when the server has ended the stream.
        writing = asyncio.ensure_future(call.write(message))
        try:
            await asyncio.wait((writing, self._ended), return_when=asyncio.FIRST_COMPLETED)
            if not writing.done():
                raise asyncio.InvalidStateError("the server has ended the stream")
        finally:
            await end_tasks((writing,))
        writing.result()

    async def close(self) -> None:
        """End the stream, wait for the server's answer within a limit, and close the channel."""
        call, self._call, self._method = self._call, None, None
        if call is not None:
            try:
                await asyncio.wait_for(_end(call), self._channel.closing_timeout)
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError) as error:
                why = await self._channel.failure(call, error)
                logger.error(
                    "app '%s', sink 'grpc' of stream '%s': some messages may be lost: %s",
                    self.context.app,
                    self.context.stream,
                    why,
                )
            except asyncio.TimeoutError:
                logger.error(
                    "app '%s', sink 'grpc' of stream '%s': no answer of %s to the end of the stream",
                    self.context.app,
                    self.context.stream,
                    self._channel.name,
                )
        await self._channel.close()


async def _end(call: Any) -> None:
    """End a stream, and wait for the server's answer."""
    if not call.done():
        await call.done_writing()
    await call
