"""``@source(type = 'redis-pubsub')``: receives the messages of channels of Redis."""

from __future__ import annotations

from typing import Any

from redis.asyncio.client import PubSub, Redis

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.async_source import AsyncSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder
from siddhi.io.redis.connection import RedisServer, redis_errors, text_of
from siddhi.io.source import SourceEventListener

__all__ = ["RedisChannelSource"]

_PROPERTIES = ("channel", "pattern")


class RedisChannelSource(AsyncSource):
    """Subscribes channels and patterns of channels. Redis keeps no messages: what is published meanwhile is lost."""

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        for name in transport_properties:
            if name not in _PROPERTIES:
                raise SiddhiAppCreationError(
                    f"source 'redis-pubsub' has no transport property '{name}'",
                    code="E326",
                    hint=f"use {', '.join(_PROPERTIES)}",
                )
        self._names = transport_properties
        self._server = RedisServer.read(options)
        self._channels = _names(options, "channel")
        self._patterns = _names(options, "pattern")
        if not (self._channels or self._patterns):
            raise SiddhiAppCreationError(
                "source 'redis-pubsub' requires the option 'channel' or 'pattern'", code="E326"
            )
        self._client: Redis | None = None
        self._pubsub: PubSub | None = None

    async def open(self) -> None:
        self._client = self._server.client()
        self._pubsub = pubsub = self._client.pubsub()
        with redis_errors():
            if self._channels:
                await pubsub.subscribe(*self._channels)
            if self._patterns:
                await pubsub.psubscribe(*self._patterns)
            for _ in (*self._channels, *self._patterns):  # the server has them when it has answered
                await pubsub.get_message(timeout=self._server.timeout)

    async def receive(self) -> None:
        pubsub = self._pubsub
        assert pubsub is not None
        with redis_errors():
            while True:
                message: dict[str, Any] | None = await pubsub.get_message(ignore_subscribe_messages=True, timeout=5.0)
                if message is None:
                    await pubsub.check_health()  # type: ignore[no-untyped-call]
                    continue
                await self.put(message["data"], [text_of(message[name] or b"") for name in self._names])

    async def close(self) -> None:
        pubsub, self._pubsub = self._pubsub, None
        client, self._client = self._client, None
        if pubsub is not None:
            await pubsub.aclose()  # type: ignore[no-untyped-call]
        if client is not None:
            await client.aclose()


def _names(options: OptionHolder, name: str) -> list[str]:
    if name not in options:
        return []
    found = [part.strip() for part in options.static(name).split(",")]
    if not all(found):
        raise options.invalid(name, "names separated by commas")
    return found
