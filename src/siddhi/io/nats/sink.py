"""``@sink(type = 'nats')``: publishes to subjects."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, cast

import nats.errors
import nats.js.errors

from siddhi.errors import ConnectionUnavailableError, MappingFailedError
from siddhi.io.async_sink import AsyncSink
from siddhi.io.connector import ConnectorContext
from siddhi.io.event_loop import end_tasks
from siddhi.io.nats.connection import ConnectionOptions, NatsConnection, is_streaming
from siddhi.io.options import DynamicOptions, OptionHolder, pairs_of

__all__ = ["NatsSink"]

ACK_SECONDS = 5.0
"""Maximum time until the server confirms a payload."""


class NatsSink(AsyncSink):
    """Publishes payloads, many at a time and in their order.

    With JetStream a payload is published when its stream has stored it; without, when the server has answered a ping that was
    sent after it.
    """

    supported_input_event_classes = (str, bytes, bytearray, memoryview)
    concurrency = 256

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self._subject = options.option("destination")
        self._streams = is_streaming(options)
        self._stream = options.optional("stream")
        self._headers = options.option("headers") if "headers" in options else None
        self._id = options.option("message.id") if "message.id" in options else None
        if self._id is not None and not self._streams:
            raise options.invalid("message.id", "'jetstream' or 'stream' beside it", shown=False)
        if self._headers is not None and self._headers.is_static:
            options.pairs("headers")
        self._connecting = ConnectionOptions.read(options)
        self._name = options.static("client.id", f"{context.app}/{context.stream}")
        self._label = f"app '{context.app}', sink 'nats' of stream '{context.stream}'"
        self._connection: NatsConnection | None = None
        self._confirming: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._connection = NatsConnection(self._connecting, self._name, self._label)
        await self._connection.open()

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
        if self._confirming is not None:
            await end_tasks((self._confirming,))
            self._confirming = None

    async def send(self, payload: Any, options: DynamicOptions) -> None:
        connection = self._connection
        if connection is None:
            raise ConnectionUnavailableError("the sink is not connected")
        subject = str(self._subject.value(options))
        content = payload.encode() if isinstance(payload, str) else bytes(payload)
        headers = self._headers_of(options)
        try:
            if self._streams:
                jetstream = connection.client.jetstream(timeout=ACK_SECONDS)
                await connection.call(
                    jetstream.publish(subject, content, stream=self._stream, headers=cast("Any", headers))
                )
            else:
                connection.check()
                await connection.client.publish(subject, content, headers=headers)
                await self._confirmed(connection)
            if subject.lower() in connection.denied:
                raise MappingFailedError(f"the server does not allow to publish to '{subject}'")
        except (nats.errors.MaxPayloadError, nats.errors.BadSubjectError) as error:
            raise MappingFailedError(f"NATS does not accept the payload for '{subject}': {error}") from error
        except nats.js.errors.NoStreamResponseError:
            raise ConnectionUnavailableError(f"no stream of JetStream has the subject '{subject}'") from None
        except (nats.errors.Error, asyncio.TimeoutError) as error:
            raise ConnectionUnavailableError(f"NATS: {type(error).__name__}: {error}".rstrip(": ")) from error

    def _headers_of(self, options: DynamicOptions) -> dict[str, str] | None:
        headers: dict[str, str] = {}
        if self._headers is not None:
            text = str(self._headers.value(options))
            try:
                headers = pairs_of(text)
            except ValueError as error:
                raise MappingFailedError(f"expected headers such as 'a:1','b:2': {error}") from None
            if any(character in text for character in "\r\n"):
                raise MappingFailedError("headers can't contain line ends")
        if self._id is not None:
            headers["Nats-Msg-Id"] = str(self._id.value(options))
        return headers or None

    async def _confirmed(self, connection: NatsConnection) -> None:
        """Wait until the server has what was published; those who wait meanwhile share the next answer."""
        running = self._confirming
        if running is not None and not running.done():
            with suppress(Exception):  # it may have begun before the payload
                await asyncio.shield(running)
            running = self._confirming
        if running is None or running.done():
            running = self._confirming = asyncio.ensure_future(self._flush(connection))
        await asyncio.shield(running)

    async def _flush(self, connection: NatsConnection) -> None:
        try:
            await connection.call(connection.client.flush(timeout=int(ACK_SECONDS)))
        except asyncio.CancelledError:  # by close: those who share it must not be cancelled themselves
            raise ConnectionUnavailableError("the connection to NATS is closed") from None
