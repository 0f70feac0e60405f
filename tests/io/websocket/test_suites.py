"""The checks that every source and sink has to pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from siddhi.testing.connectors import SinkSuite, SourceSuite, wait_until
from tests.io.test_tcp import free_port
from tests.kit.event_loop import Loop
from tests.kit.proxy import FaultProxy
from tests.kit.servers.websocket import Client, FeedServer, connected


class _Client:
    @pytest.fixture(autouse=True)
    def connection(self, loop: Loop) -> Iterator[None]:
        self.feed = FeedServer(loop).start()
        with FaultProxy(self.feed.port) as self.proxy:
            self.options = f"type = 'websocket', url = 'ws://127.0.0.1:{self.proxy.port}/'"
            yield
        self.feed.stop()


class TestSource(_Client, SourceSuite):
    is_reconnecting = True

    def send(self, payloads: Any) -> None:
        wait_until(lambda: self.feed.clients, "a client is there")
        self.feed.send(*payloads)

    def break_connection(self) -> None:
        before = len(self.feed.requests)
        self.proxy.drop()
        wait_until(lambda: len(self.feed.requests) > before and len(self.feed.clients) == 1, "a new client is there")


class TestSink(_Client, SinkSuite):
    def received(self) -> list[str | bytes]:
        return list(self.feed.received)

    def stop_server(self) -> None:
        self.proxy.refuse()

    def start_server(self) -> None:
        self.proxy.accept()


class TestConfirmingSink(TestSink):
    is_confirmed = True

    @pytest.fixture(autouse=True)
    def confirm(self, connection: None) -> None:
        self.options += ", confirm = 'true'"


class TestServerSource(SourceSuite):
    """A client connects when it sends, and again if the connection is closed."""

    @pytest.fixture(autouse=True)
    def client(self, loop: Loop) -> Iterator[None]:
        self.loop, self.port = loop, free_port()
        self.options = f"type = 'websocket-server', host = '127.0.0.1', port = '{self.port}'"
        self.connected: Client | None = None
        yield
        self.break_connection()

    def send(self, payloads: Any) -> None:
        if self.connected is None or self.connected.is_closed:
            self.connected = connected(self.loop, f"ws://127.0.0.1:{self.port}")
        self.connected.send(*payloads)

    def break_connection(self) -> None:
        if self.connected is not None:
            self.connected.close()
            self.connected = None


class TestServerSink(SinkSuite):
    """A client connects whenever the app has started."""

    @pytest.fixture(autouse=True)
    def client(self, loop: Loop) -> None:
        self.loop, self.port = loop, free_port()
        self.options = f"type = 'websocket-server', host = '127.0.0.1', port = '{self.port}'"
        self.messages: list[str | bytes] = []

    def app_started(self) -> None:
        client = connected(self.loop, f"ws://127.0.0.1:{self.port}")
        self.loop.start(self._read(client.connection))

    async def _read(self, connection: Any) -> None:
        try:
            while True:
                self.messages.append(await connection.recv())
        except ConnectionClosed:
            pass

    def received(self) -> list[str | bytes]:
        return list(self.messages)
