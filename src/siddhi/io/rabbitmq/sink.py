"""``@sink(type = 'rabbitmq')``: publishes messages to exchanges of RabbitMQ."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from aio_pika import DeliveryMode, Message
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractExchange
from aiormq.exceptions import DeliveryError

from siddhi.errors import ConnectionUnavailableError, MappingFailedError, SiddhiRuntimeError
from siddhi.io.async_sink import AsyncSink
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import DynamicOptions, Option, OptionHolder, pairs_of, seconds_of
from siddhi.io.rabbitmq.connection import EXCHANGE_TYPES, RabbitServer, close_connection, run_library, use_exchange

__all__ = ["RabbitSink"]


def _flag(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError("expected 'true' or 'false'")
    return text.strip().lower() == "true"


def _exchange_type(text: str) -> str:
    if text.strip().lower() not in EXCHANGE_TYPES:
        raise ValueError(f"expected one of {', '.join(EXCHANGE_TYPES)}")
    return text.strip().lower()


def _delivery_mode(text: str) -> DeliveryMode:
    return DeliveryMode(int(text))


def _priority(text: str) -> int:
    if not 0 <= int(text) <= 255:
        raise ValueError("expected a number from 0 to 255")
    return int(text)


def _expiration(text: str) -> float:
    return seconds_of(text)


def _timestamp(text: str) -> datetime:
    """Return a time of ms since 1970, or of Java's form dd/MM/yyyy."""
    if text.strip().lstrip("-").isdecimal():
        return datetime.fromtimestamp(int(text) / 1000, timezone.utc)
    return datetime.strptime(text.strip(), "%d/%m/%Y").replace(tzinfo=timezone.utc)


_PROPERTIES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "delivery.mode": ("delivery_mode", _delivery_mode),
    "content.type": ("content_type", str),
    "content.encoding": ("content_encoding", str),
    "priority": ("priority", _priority),
    "correlation.id": ("correlation_id", str),
    "reply.to": ("reply_to", str),
    "expiration": ("expiration", _expiration),
    "message.id": ("message_id", str),
    "timestamp": ("timestamp", _timestamp),
    "type": ("type", str),
    "user.id": ("user_id", str),
    "app.id": ("app_id", str),
    "headers": ("headers", pairs_of),
}
"""The properties of a message: option, name in the library, and what reads the text."""
_EXCHANGE: dict[str, tuple[str, Callable[[str], Any]]] = {
    "exchange.type": ("type", _exchange_type),
    "exchange.durable.enabled": ("durable", _flag),
    "exchange.autodelete.enabled": ("auto_delete", _flag),
}


class RabbitSink(AsyncSink):
    """Publishes payloads. One is published when the server has confirmed it: a durable queue then has it on the disk."""

    supported_input_event_classes = (str, bytes, bytearray, memoryview)
    concurrency = 100

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self._server = RabbitServer.read(options)
        self._name = options.option("exchange.name", "")
        self._key = options.option("routing.key", "")
        self._properties = _options(options, _PROPERTIES)
        self._exchange_options = _options(options, _EXCHANGE)
        self._mandatory = options.flag("mandatory", default=False)
        self._connection: AbstractConnection | None = None
        self._channel: AbstractChannel | None = None
        self._failure: ConnectionUnavailableError | None = None
        self._exchanges: dict[str, AbstractExchange] = {}
        self._declaring = asyncio.Lock()

    async def open(self) -> None:
        self._failure = None
        self._exchanges = {}
        self._declaring = asyncio.Lock()
        self._connection = connection = await self._server.connect(self._lose)
        channel = connection.channel(publisher_confirms=True, on_return_raises=True)
        await run_library(channel.initialize())
        self._channel = channel
        channel.close_callbacks.add(lambda _channel, error: self._lose(f"channel closed: {error}"))

    def _lose(self, why: str) -> None:
        if self._failure is None:
            self._failure = ConnectionUnavailableError(f"the connection to RabbitMQ is lost: {why}")

    async def send(self, payload: object, options: DynamicOptions) -> None:
        if not isinstance(payload, (str, bytes, bytearray, memoryview)):
            raise MappingFailedError(f"sink 'rabbitmq' publishes texts and bytes, not {type(payload).__name__}")
        body = payload.encode() if isinstance(payload, str) else bytes(payload)
        properties: dict[str, Any] = {
            "delivery_mode": DeliveryMode.NOT_PERSISTENT,
            "timestamp": datetime.now(timezone.utc),
        }
        message = Message(body, **(properties | _values(self._properties, options)))
        name, key = str(self._name.value(options)), str(self._key.value(options))
        exchange_options = {"type": "direct", **_values(self._exchange_options, options)}
        if self._failure is not None:
            raise self._failure
        if self._connection is None or self._channel is None:
            raise ConnectionUnavailableError("the connection to RabbitMQ is closed")
        publishing = self._publish_message(self._connection, self._channel, name, exchange_options, message, key)
        try:
            await run_library(publishing)
        except ConnectionUnavailableError as error:
            if isinstance(error.__cause__, DeliveryError):
                what = "returned: no queue takes it" if self._mandatory else "not confirmed by the server"
                raise SiddhiRuntimeError(
                    f"the message to exchange '{name}', routing key '{key}', was {what}"
                ) from error
            raise

    async def _publish_message(
        self,
        connection: AbstractConnection,
        channel: AbstractChannel,
        name: str,
        declared: dict[str, Any],
        message: Message,
        key: str,
    ) -> None:
        exchange = await self._exchange(connection, channel, name, declared)
        await exchange.publish(message, key, mandatory=self._mandatory, timeout=self._server.timeout)

    async def _exchange(
        self, connection: AbstractConnection, channel: AbstractChannel, name: str, options: dict[str, Any]
    ) -> AbstractExchange:
        async with self._declaring:  # in the order of the payloads, also for the first one of an exchange
            exchange = self._exchanges.get(name)
            if exchange is None:
                exchange = self._exchanges[name] = await use_exchange(connection, channel, name, **options)
            return exchange

    async def close(self) -> None:
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None:
            self._lose("it was closed")
            await close_connection(connection)


Readers = list[tuple[str, str, Option, Callable[[str], Any]]]


def _options(options: OptionHolder, known: dict[str, tuple[str, Callable[[str], Any]]]) -> Readers:
    """Return the options that are set, and check those without attributes."""
    found = []
    for name, (argument, read) in known.items():
        if name not in options:
            continue
        option = options.option(name)
        if option.is_static:
            try:
                read(str(option.value()))
            except (ValueError, OverflowError) as error:
                raise options.invalid(name, _expected(error)) from None
        found.append((name, argument, option, read))
    return found


def _values(options: Readers, event: DynamicOptions) -> dict[str, Any]:
    """Return the values for a payload.

    Raises:
        MappingFailedError: a value is invalid.
    """
    values = {}
    for name, argument, option, read in options:
        try:
            values[argument] = read(str(option.value(event)))
        except (ValueError, OverflowError) as error:
            raise MappingFailedError(f"invalid option '{name}' of sink 'rabbitmq': {_expected(error)}") from None
    return values


def _expected(error: Exception) -> str:
    return str(error).removeprefix("expected ")
