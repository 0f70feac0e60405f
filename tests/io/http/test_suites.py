"""The checks that every source and sink has to pass."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web

from siddhi.io.http.event_stream import EventReader, event_text
from siddhi.testing.connectors import SinkSuite, SourceSuite
from tests.kit.http import connected, free_port
from tests.kit.http_server import serving
from tests.kit.proxy import FaultProxy


class TestHttpSource(SourceSuite):
    delivery = "at least once"
    has_buffer = False  # it bounds the requests of several connections: see test_source.py

    @pytest.fixture(autouse=True)
    def server(self) -> None:
        self.port = free_port()
        self.options = f"type = 'http', receiver.url = 'http://127.0.0.1:{self.port}/s'"

    def send(self, payloads: Any) -> None:
        with connected(self.port) as client:
            for payload in payloads:
                while client.request("POST", "/s", payload).status == 503:
                    time.sleep(0.01)


class TestSseSource(SourceSuite):
    delivery = "at least once"
    is_durable = True

    @pytest.fixture(autouse=True)
    def server(self) -> Iterator[None]:
        self.events: list[str] = []
        with serving(self.stream) as port, FaultProxy(port) as self.proxy:
            self.options = (
                f"type = 'sse', receiver.url = 'http://127.0.0.1:{self.proxy.port}/e', reconnect.pause = '10'"
            )
            yield

    async def stream(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        number = int(request.headers.get("Last-Event-ID", "0"))
        while True:
            while number < len(self.events):
                number += 1
                await response.write(event_text(self.events[number - 1], id_=str(number)).encode())
            await asyncio.sleep(0.002)

    def send(self, payloads: Any) -> None:
        self.events.extend(payloads)

    def break_connection(self) -> None:
        self.proxy.drop()


class TestHttpSink(SinkSuite):
    is_confirmed = True

    @pytest.fixture(autouse=True)
    def server(self) -> Iterator[None]:
        self.bodies: list[str | bytes] = []

        async def keep(request: web.BaseRequest) -> web.StreamResponse:
            self.bodies.append(await request.text())
            return web.Response()

        with serving(keep) as port, FaultProxy(port) as self.proxy:
            self.options = f"type = 'http', publisher.url = 'http://127.0.0.1:{self.proxy.port}/s'"
            yield

    def received(self) -> list[str | bytes]:
        return list(self.bodies)

    def stop_server(self) -> None:
        self.proxy.refuse()

    def start_server(self) -> None:
        self.proxy.accept()


class TestSseServer(SinkSuite):
    """A client requests the stream whenever the app has started."""

    @pytest.fixture(autouse=True)
    def server(self) -> Iterator[None]:
        self.port = free_port()
        self.payloads: list[str | bytes] = []
        self.clients: list[threading.Thread] = []
        self.options = f"type = 'sse-server', server.url = 'http://127.0.0.1:{self.port}/e'"
        yield
        for client in self.clients:
            client.join(30)

    def app_started(self) -> None:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        connection.sendall(b"GET /e HTTP/1.1\r\nHost: h\r\n\r\n")
        head = b""
        while b"\r\n\r\n" not in head:  # then it is a client
            head += connection.recv(1)
        self.clients.append(threading.Thread(target=self.read, args=(connection,)))
        self.clients[-1].start()

    def read(self, connection: socket.socket) -> None:
        reader = EventReader(1_000_000)
        with connection:
            while data := connection.recv(65536):
                self.payloads.extend(event.data for event in reader.feed(data))

    def received(self) -> list[str | bytes]:
        return list(self.payloads)
