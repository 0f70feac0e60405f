"""Connections to RabbitMQ, and the exchanges that sources and sinks have in common."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractExchange
from aio_pika.connection import make_url
from aiormq.exceptions import ChannelNotFoundEntity

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.options import OptionHolder
from siddhi.io.tls import client_context, refuse_java_stores

__all__ = ["EXCHANGE_TYPES", "RabbitServer", "close_connection", "run_library", "use_exchange"]

_T = TypeVar("_T")

_CLOSE_SECONDS = 3.0
EXCHANGE_TYPES = ("direct", "fanout", "topic", "headers")


@dataclass(frozen=True, slots=True)
class RabbitServer:
    """The checked options of a connection.

    Attributes:
        host: host of the server.
        port: its port.
        virtual_host: the virtual host.
        username: the user.
        password: the password.
        tls: context of TLS; None: no TLS.
        heartbeat: seconds after which a server that sends nothing counts as lost.
        timeout: seconds that an attempt to connect may take.
    """

    host: str
    port: int
    virtual_host: str
    username: str
    password: str
    tls: ssl.SSLContext | None
    heartbeat: int
    timeout: float

    def __repr__(self) -> str:
        return f"RabbitServer({self.host}:{self.port})"

    @classmethod
    def read(cls, options: OptionHolder) -> RabbitServer:
        """Read the options.

        Raises:
            SiddhiAppCreationError: an option is missing or invalid.
        """
        refuse_java_stores(options)
        if "tls.version" in options:
            raise options.invalid("tls.version", "no version: TLS negotiates it")
        expected = "amqp://host:port/virtual-host, or amqps://… for TLS"
        try:
            parts = urlsplit(options.static("uri"))
            host, port = parts.hostname, parts.port
        except ValueError:
            raise options.invalid("uri", expected, shown=False) from None
        if parts.scheme not in ("amqp", "amqps") or not host or parts.query:
            raise options.invalid("uri", expected, shown=False)
        uses_tls = options.flag("tls.enabled", default=parts.scheme == "amqps")
        if parts.scheme == "amqps" and not uses_tls:
            raise options.invalid("tls.enabled", "'true', since 'uri' begins with amqps://")
        if not uses_tls:
            for name in options.names:
                if name.lower().startswith("tls.") and name.lower() != "tls.enabled":
                    raise options.invalid(name, "tls.enabled = 'true' beside it", shown=False)
        password = options.secret("password")
        return cls(
            host=host,
            port=port or (5671 if uses_tls else 5672),
            virtual_host=unquote(parts.path[1:]) or "/",
            username=options.optional("username") or unquote(parts.username or "guest"),
            password=unquote(parts.password or "guest") if password is None else password,
            tls=client_context(options) if uses_tls else None,
            heartbeat=int(options.duration("heartbeat", "60", unit="sec")),
            timeout=options.duration("connection.timeout", "30 sec"),
        )

    async def connect(self, lost: Callable[[str], None]) -> AbstractConnection:
        """Connect.

        Args:
            lost: called with the reason when the connection ends.

        Raises:
            ConnectionUnavailableError, OSError: it is not possible.
        """
        address = make_url(
            host=self.host,
            port=self.port,
            login=self.username,
            password=self.password,
            virtualhost=self.virtual_host,
            ssl=self.tls is not None,
            heartbeat=self.heartbeat,
        )
        connection = aio_pika.Connection(address, ssl_context=self.tls)
        try:
            await run_library(connection.connect(timeout=self.timeout))
        except BaseException:
            await close_connection(connection)
            raise
        connection.close_callbacks.add(lambda _connection, error: lost(_reason(error)))
        return connection


async def close_connection(connection: AbstractConnection) -> None:
    """Close a connection, whatever its state; a server that does not answer is not waited for.

    It is closed also if the caller is cancelled meanwhile.
    """
    await asyncio.shield(asyncio.ensure_future(_close(connection)))


async def _close(connection: AbstractConnection) -> None:
    for _ in range(2):  # the first call fails if the connection is lost, and leaves it half closed
        closing = asyncio.ensure_future(connection.close())
        await asyncio.wait({closing}, timeout=_CLOSE_SECONDS)
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)


def _reason(error: BaseException | None) -> str:
    return "it was closed" if error is None else f"{type(error).__name__}: {error}"


async def run_library(call: Coroutine[Any, Any, _T]) -> _T:
    """Await a call of the library, in a task of its own: the library cancels calls whose connection ends.

    Raises:
        ConnectionUnavailableError: the library has failed; the app connects again.
    """
    task = asyncio.ensure_future(call)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
    if task.cancelled():
        raise ConnectionUnavailableError("RabbitMQ: the connection has ended")
    try:
        return task.result()
    except Exception as error:
        raise ConnectionUnavailableError(f"RabbitMQ: {type(error).__name__}: {error}") from error


async def use_exchange(
    connection: AbstractConnection, channel: AbstractChannel, name: str, **declared: Any
) -> AbstractExchange:
    """Return an exchange as it exists, or declare it; the exchange without a name is the default one.

    Args:
        connection: the connection; the look for the exchange has a channel of its own, since a failure closes it.
        channel: the channel to use it in.
        name: its name.
        declared: its type and flags, if it does not exist.
    """
    if not name:
        return channel.default_exchange
    async with connection.channel() as looking:
        try:
            await looking.get_exchange(name, ensure=True)
        except ChannelNotFoundEntity:
            return await channel.declare_exchange(name, **declared)
    return await channel.get_exchange(name, ensure=False)
