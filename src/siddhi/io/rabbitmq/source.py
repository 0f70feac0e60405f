"""``@source(type = 'rabbitmq')``: consumes a queue of RabbitMQ."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, cast

from aio_pika.abc import AbstractConnection, AbstractIncomingMessage

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.async_source import AsyncSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder
from siddhi.io.rabbitmq.connection import EXCHANGE_TYPES, RabbitServer, close_connection, run_library, use_exchange
from siddhi.io.source import SourceEventListener
from siddhi.io.unacknowledged import UnacknowledgedLimit

__all__ = ["RabbitSource"]

CHECK_SECONDS = 10.0
"""Time without a message after which a source asks whether its queue and its consumer are still there."""
_CANCELLED = "the server has cancelled the consumer, as when a queue is deleted"
_PROPERTIES = {
    "exchange": "exchange",
    "routing.key": "routing_key",
    "redelivered": "redelivered",
    "content.type": "content_type",
    "content.encoding": "content_encoding",
    "priority": "priority",
    "correlation.id": "correlation_id",
    "reply.to": "reply_to",
    "expiration": "expiration",
    "message.id": "message_id",
    "timestamp": "timestamp",
    "type": "type",
    "user.id": "user_id",
    "app.id": "app_id",
}
"""The names of transport properties, and those of the library. Every other name is a header."""


@dataclass(slots=True, eq=False)
class _Pending:
    """A message that is not acknowledged yet."""

    number: int
    message: AbstractIncomingMessage
    processed: asyncio.Future[bool] | None = None

    @property
    def has_failed(self) -> bool:
        """Whether the app could not process it."""
        return self.processed is not None and self.processed.done() and not self.processed.result()


class RabbitSource(AsyncSource):
    """Consumes a queue, which is bound to an exchange.

    The server sends at most ``prefetch.count`` messages ahead of their acknowledgement. Those that are not acknowledged when the
    connection ends are delivered again.
    """

    ack_modes: ClassVar = ("processed", "checkpoint", "received")
    has_message_time = True

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        self._names = transport_properties
        self._server = RabbitServer.read(options)
        if "auto.ack" in options:
            if "ack" in options:
                raise options.invalid("auto.ack", "either 'ack' or this one")
            self.acknowledges = "received" if options.flag("auto.ack", default=False) else "processed"
        self._prefetch = options.integer(
            "prefetch.count", 10_000 if self.acknowledges == "checkpoint" else self.buffer_size, least=1, most=65535
        )
        # The server keeps to it; this tells why it sends no more.
        self._limit = UnacknowledgedLimit(
            self._prefetch if self.acknowledges == "checkpoint" else None,
            f"app '{context.app}', source 'rabbitmq' of stream '{context.stream}'",
            "prefetch.count",
        )
        self._rejects = options.flag("reject.failed", default=False)
        if self._rejects and self.acknowledges == "received":
            raise options.invalid("reject.failed", "ack = 'processed' or 'checkpoint' beside it")
        self._exchange = options.static("exchange.name", "")
        self._exchange_options = {
            "type": options.choice("exchange.type", EXCHANGE_TYPES, "direct"),
            "durable": options.flag("exchange.durable.enabled", default=False),
            "auto_delete": options.flag("exchange.autodelete.enabled", default=False),
        }
        self._queue = options.static("queue.name", "")
        if not (self._queue or self._exchange):
            raise options.invalid("queue.name", "a name, or 'exchange.name' beside it")
        has_name = bool(self._queue)
        self._queue_options: dict[str, Any] = {
            "durable": options.flag("queue.durable.enabled", default=False),
            "exclusive": options.flag("queue.exclusive.enabled", default=not has_name),
            "auto_delete": options.flag("queue.autodelete.enabled", default=not has_name),
        }
        arguments = {}
        if "dead.letter.exchange" in options:
            arguments["x-dead-letter-exchange"] = options.static("dead.letter.exchange")
        if "dead.letter.routing.key" in options:
            arguments["x-dead-letter-routing-key"] = options.static("dead.letter.routing.key")
        self._queue_options["arguments"] = arguments or None
        self._key = options.static("routing.key", "")
        self._headers = options.pairs("headers")
        options.integer("consumer.threadpool.size", 1, least=1)  # has no effect: messages are processed in their order
        self._connection_: AbstractConnection | None = None
        self._failure: ConnectionUnavailableError | None = None
        self._arrived = asyncio.Event()
        self._messages: deque[AbstractIncomingMessage] = deque()
        self._pending: deque[_Pending] = deque()
        self._number = 0
        self._consumed = self._queue

    # --- connection

    async def open(self) -> None:
        self._arrived, self._failure = asyncio.Event(), None
        self._messages.clear()
        self._pending.clear()
        self._limit.begin()
        self._connection_ = connection = await self._server.connect(self._lose)
        await run_library(self._consume(connection))

    async def _consume(self, connection: AbstractConnection) -> None:
        channel = await connection.channel(publisher_confirms=False)
        channel.close_callbacks.add(lambda _channel, error: self._lose(f"channel closed: {error}"))
        cancelled = getattr(await channel.get_underlay_channel(), "on_consumer_cancel_callbacks", None)
        if cancelled is not None:  # since aiormq 7, which needs Python 3.11
            cancelled.add(lambda _frame: self._lose(_CANCELLED))
        await channel.set_qos(prefetch_count=self._prefetch)
        queue = await channel.declare_queue(self._queue or None, **self._queue_options)
        if self._exchange:
            exchange = await use_exchange(connection, channel, self._exchange, **self._exchange_options)
            await queue.bind(exchange, routing_key=self._key, arguments=dict(self._headers) or None)
        await queue.consume(self._take)
        self._consumed = queue.name

    def _lose(self, why: str) -> None:
        if self._failure is None:
            self._failure = ConnectionUnavailableError(f"the connection to RabbitMQ is lost: {why}")
            self._arrived.set()

    async def close(self) -> None:
        connection, self._connection_ = self._connection_, None
        self._limit.end()
        if connection is not None:
            self._failure = self._failure or ConnectionUnavailableError("the connection to RabbitMQ was closed")
            await close_connection(connection)

    # --- messages

    async def _take(self, message: AbstractIncomingMessage) -> None:
        self._messages.append(message)
        self._arrived.set()

    async def receive(self) -> None:
        while True:
            while not self._messages:
                if self._failure is not None:
                    raise self._failure
                self._arrived.clear()
                try:
                    await asyncio.wait_for(self._arrived.wait(), CHECK_SECONDS)
                except asyncio.TimeoutError:
                    await self._check()
            message = self._messages.popleft()
            properties = [self._property(message, name) for name in self._names]
            time = int(message.timestamp.timestamp() * 1000) if self.is_message_time and message.timestamp else None
            if self.acknowledges == "received":
                await self.put(message.body, properties, None, time)
                await run_library(message.ack())
            else:
                self._number += 1
                pending = _Pending(self._number, message)
                self._pending.append(pending)
                self._limit.note(len(self._pending))
                pending.processed = await self.submit(message.body, properties, pending.number, time)

    async def _check(self) -> None:
        """Ask the server for the queue, in a channel of its own, since a failure closes it."""
        connection = self._connection_
        if connection is not None:
            await run_library(self._look_up(connection))

    async def _look_up(self, connection: AbstractConnection) -> None:
        async with connection.channel() as looking:
            found = (await looking.declare_queue(self._consumed, passive=True)).declaration_result
        self.lag = found.message_count
        if not found.consumer_count:
            self._lose(_CANCELLED)

    async def acknowledge(self, position: object) -> None:
        await run_library(self._acknowledge(cast("int", position)))

    async def _acknowledge(self, number: int) -> None:
        good: AbstractIncomingMessage | None = None
        while self._pending and self._pending[0].number <= number:
            pending = self._pending.popleft()
            if self._rejects and pending.has_failed:
                await pending.message.reject(requeue=False)
            else:
                good = pending.message
        if good is not None:
            await good.ack(multiple=True)  # and all before it, without those that were rejected
        self._limit.note(len(self._pending))

    def _property(self, message: AbstractIncomingMessage, name: str) -> object:
        known = _PROPERTIES.get(name)
        value = message.headers.get(name) if known is None else getattr(message, known)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, datetime):
            return int(value.timestamp() * 1000)
        if isinstance(value, bytes):
            return value.decode(errors="replace")
        return value if value is None or isinstance(value, (str, int, float)) else str(value)
