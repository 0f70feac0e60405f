"""The checks that every source and sink has to pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from siddhi.testing.connectors import SinkSuite, SourceSuite
from tests.kit.proxy import FaultProxy
from tests.kit.servers.redis import RedisServer


class _Source(SourceSuite):
    is_reconnecting = True

    @pytest.fixture(autouse=True)
    def connection(self, server: RedisServer, client: Any) -> Iterator[None]:
        self.client = client
        with FaultProxy(server.port) as self.proxy:
            self.options = f"{self.options}, url = 'redis://127.0.0.1:{self.proxy.port}'"
            yield

    def break_connection(self) -> None:
        self.proxy.drop()


class TestGroupSource(_Source):
    options = "type = 'redis-stream', stream = 's', group = 'g', ack = 'checkpoint'"
    delivery = "at least once"
    is_durable = True

    def send(self, payloads: Any) -> None:
        for payload in payloads:
            self.client.xadd("s", {"payload": payload})


class TestStreamSource(TestGroupSource):
    options = "type = 'redis-stream', stream = 's'"


class TestChannelSource(_Source):
    options = "type = 'redis-pubsub', channel = 'c'"

    def send(self, payloads: Any) -> None:
        for payload in payloads:
            self.client.publish("c", payload)


class TestStreamSink(SinkSuite):
    options = "type = 'redis-stream', stream = 's'"
    is_confirmed = True

    @pytest.fixture(autouse=True)
    def connection(self, server: RedisServer, client: Any) -> Iterator[None]:
        self.client = client
        with FaultProxy(server.port) as self.proxy:
            self.options = f"{self.options}, url = 'redis://127.0.0.1:{self.proxy.port}'"
            yield

    def received(self) -> list[str | bytes]:
        return [fields["payload"] for _, fields in self.client.xrange("s")]

    def stop_server(self) -> None:
        self.proxy.refuse()

    def start_server(self) -> None:
        self.proxy.accept()


class TestChannelSink(TestStreamSink):
    options = "type = 'redis-pubsub', channel = 'c'"

    @pytest.fixture(autouse=True)
    def subscription(self, client: Any) -> Iterator[None]:
        self.messages: list[str | bytes] = []
        with client.pubsub(ignore_subscribe_messages=True) as self.subscribed:
            self.subscribed.subscribe("c")
            self.subscribed.get_message(timeout=10)
            yield

    def received(self) -> list[str | bytes]:
        while (message := self.subscribed.get_message()) is not None:
            self.messages.append(message["data"])
        return list(self.messages)
