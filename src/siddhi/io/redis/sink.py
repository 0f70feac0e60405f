"""``@sink(type = 'redis-stream')`` and ``@sink(type = 'redis-pubsub')``: send commands to Redis, many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from siddhi.errors import ConnectionUnavailableError, MappingFailedError
from siddhi.io.async_sink import AsyncSink
from siddhi.io.connector import ConnectorContext
from siddhi.io.event_loop import end_tasks
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.redis.connection import RedisServer, redis_errors

__all__ = ["RedisChannelSink", "RedisStreamSink"]

Command = tuple[Any, ...]

_UNAVAILABLE = tuple("OOM READONLY LOADING MISCONF NOREPLICAS BUSY MASTERDOWN CLUSTERDOWN NOAUTH NOPERM".split())
"""First words of error messages that say that the server can't take a command now."""


class _RedisSink(AsyncSink):
    """Sends the command of each payload. The commands that wait are sent together, in their order; each is answered."""

    concurrency = 128

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self._server = RedisServer.read(options)
        self._client: Redis | None = None
        self._commands: list[tuple[Command, asyncio.Future[None]]] = []
        self._pipeline: asyncio.Task[None] | None = None

    def command(self, payload: Any, options: DynamicOptions) -> Command:
        """Return the command that publishes a payload.

        Raises:
            MappingFailedError: it can't be published.
        """
        raise NotImplementedError

    async def open(self) -> None:
        self._client = client = self._server.client()
        with redis_errors():
            await client.ping()

    async def send(self, payload: object, options: DynamicOptions) -> None:
        command = self.command(payload, options)
        client = self._client
        if client is None:
            raise ConnectionUnavailableError("the connection to Redis is closed")
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[None] = loop.create_future()
        self._commands.append((command, answered))
        if self._pipeline is None:
            self._pipeline = loop.create_task(self._send_commands(client))
        await answered

    async def _send_commands(self, client: Redis) -> None:
        sent: list[tuple[Command, asyncio.Future[None]]] = []
        failure: Exception = ConnectionUnavailableError("the connection to Redis was closed")
        try:
            while self._commands:
                sent, self._commands = self._commands, []
                pipeline = client.pipeline(transaction=False)
                for command, _ in sent:
                    pipeline.execute_command(*command)
                for (_, answered), answer in zip(sent, await pipeline.execute(raise_on_error=False), strict=True):
                    _answer(answered, _failure(answer) if isinstance(answer, Exception) else None)
        except (RedisError, OSError) as error:
            failure = _failure(error)
        finally:
            for _, answered in sent:
                _answer(answered, failure)
            self._drop_commands(failure)

    def _drop_commands(self, failure: Exception) -> None:
        self._pipeline = None
        left, self._commands = self._commands, []
        for _, answered in left:
            _answer(answered, failure)

    async def close(self) -> None:
        client, self._client = self._client, None  # first, so that no sender uses it any more
        pipeline = self._pipeline
        if pipeline is not None:
            await end_tasks((pipeline,))
            # A task that had not begun is cancelled without running at all.
            self._drop_commands(ConnectionUnavailableError("the connection to Redis was closed"))
        if client is not None:
            await client.aclose()


class RedisStreamSink(_RedisSink):
    """Adds an entry to a stream for each payload. It is published when the server has answered with the id of the entry."""

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self._stream = options.option("stream")
        self._field = options.static("payload.field", "payload")
        self._limit: Command = ()
        if "maxlen" in options:
            sign = "~" if options.flag("maxlen.approximate", default=True) else "="
            self._limit = ("MAXLEN", sign, options.integer("maxlen"))
        elif "maxlen.approximate" in options:
            raise options.invalid("maxlen.approximate", "'maxlen' beside it")

    def command(self, payload: Any, options: DynamicOptions) -> Command:
        stream = str(self._stream.value(options))
        return ("XADD", stream, *self._limit, "*", *_fields(payload, self._field))


class RedisChannelSink(_RedisSink):
    """Publishes each payload to a channel. It is published when the server has answered, whether anybody subscribes or not."""

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self._channel = options.option("channel")

    def command(self, payload: Any, options: DynamicOptions) -> Command:
        if not isinstance(payload, (str, bytes)):
            raise MappingFailedError(f"sink 'redis-pubsub' publishes texts and bytes, not {type(payload).__name__}")
        return ("PUBLISH", str(self._channel.value(options)), payload)


def _fields(payload: object, field: str) -> list[Any]:
    """Return names and values of the fields of an entry; an attribute that is null has no field."""
    if isinstance(payload, (str, bytes)):
        return [field, payload]
    if isinstance(payload, (bytearray, memoryview)):
        return [field, bytes(payload)]
    if not isinstance(payload, Mapping):
        raise MappingFailedError(f"sink 'redis-stream' adds texts, bytes and dicts, not {type(payload).__name__}")
    fields = []
    for name, value in payload.items():
        if isinstance(value, bool):
            fields += [name, "true" if value else "false"]
        elif isinstance(value, (str, bytes, int, float)):
            fields += [name, value]
        elif value is not None:
            raise MappingFailedError(f"sink 'redis-stream' can't add the field '{name}' of {type(value).__name__}")
    if not fields:
        raise MappingFailedError("sink 'redis-stream' can't add an entry without fields")
    return fields


def _failure(error: Exception) -> Exception:
    text = f"Redis: {type(error).__name__}: {error}"
    if isinstance(error, ResponseError) and not str(error).startswith(_UNAVAILABLE):
        return MappingFailedError(text)
    return ConnectionUnavailableError(text)


def _answer(answered: asyncio.Future[None], failure: Exception | None) -> None:
    if answered.done():
        return
    if failure is None:
        answered.set_result(None)
    else:
        answered.set_exception(failure)
