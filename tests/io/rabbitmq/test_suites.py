"""The checks that every source and sink has to pass."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import aio_pika
import pytest

from siddhi.testing.connectors import SinkSuite, SourceSuite
from tests.kit.event_loop import looping
from tests.kit.proxy import FaultProxy
from tests.kit.servers.rabbitmq import RabbitServer

pytestmark = pytest.mark.server

_numbers = itertools.count()


class _Rabbit:
    @pytest.fixture(autouse=True)
    def connection(self, server: RabbitServer) -> Iterator[None]:
        self.queue = f"suite-{next(_numbers)}"
        with looping() as self.loop, FaultProxy(server.port) as self.proxy:
            uri = f"uri = 'amqp://127.0.0.1:{self.proxy.port}'"
            self.options = f"type = 'rabbitmq', {uri}, {self.options.format(self.queue)}"  # type: ignore[has-type]
            self.peer = self.loop.run(aio_pika.connect(server.url))
            self.channel = self.loop.run(self._open_channel())
            yield
            self.loop.run(self.peer.close())

    async def _open_channel(self) -> Any:
        return await self.peer.channel()


class TestSource(_Rabbit, SourceSuite):
    options = "queue.name = '{}', ack = 'checkpoint'"
    delivery = "at least once"
    is_durable = True
    is_reconnecting = True

    def send(self, payloads: Any) -> None:
        self.loop.run(self._send_all(payloads))

    async def _send_all(self, payloads: Any) -> None:
        for payload in payloads:
            await self.channel.default_exchange.publish(aio_pika.Message(payload.encode()), self.queue)

    def break_connection(self) -> None:
        self.proxy.drop()


class TestSink(_Rabbit, SinkSuite):
    options = "routing.key = '{}', mandatory = 'true'"
    is_confirmed = True

    @pytest.fixture(autouse=True)
    def consumer(self, connection: None) -> None:
        self.bodies: list[str | bytes] = []
        self.loop.run(self._consume())

    async def _consume(self) -> None:
        async def keep(message: Any) -> None:
            self.bodies.append(message.body.decode())

        queue = await self.channel.declare_queue(self.queue)
        await queue.consume(keep, no_ack=True)

    def received(self) -> list[str | bytes]:
        return list(self.bodies)

    def stop_server(self) -> None:
        self.proxy.refuse()

    def start_server(self) -> None:
        self.proxy.accept()
