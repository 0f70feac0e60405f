"""``@sink(type = 'sse-server')``: pushes payloads to the clients that have requested its URL."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from functools import partial
from typing import cast

from siddhi.errors import MappingFailedError
from siddhi.io.async_sink import AsyncSink
from siddhi.io.connector import ConnectorContext
from siddhi.io.event_loop import end_tasks
from siddhi.io.http.access import Access
from siddhi.io.http.event_stream import event_text
from siddhi.io.http.messages import Client, Header, Request
from siddhi.io.http.options import Limits, header_of, receiver_of
from siddhi.io.http.server import HttpServer
from siddhi.io.http.templates import Headers
from siddhi.io.options import DynamicOptions, OptionHolder

__all__ = ["SseServerSink"]

logger = logging.getLogger("siddhi")

_KEEP_ALIVE_SECONDS = 15.0


class SseServerSink(AsyncSink):
    """Pushes each payload as an event to the clients that have requested the URL.

    A payload counts as published when it was written to all connections; without clients it is dropped. A client that does not
    read is disconnected. With ``event.id``, a client that connects again gets those of the last ``replay.events`` events that
    it has missed.
    """

    supported_input_event_classes = (str, bytes, bytearray, memoryview)
    methods: tuple[str, ...] = ("GET",)
    needs_body = False

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self._address, self._path, self._tls = receiver_of(options, context, "server.url")
        self._access = Access.read(options)
        limits = Limits.read(options)
        self.most_bytes, self.too_large = limits.body, limits.body_answer
        self.most_header_bytes, self.header_too_large = limits.header, limits.header_answer
        self.origins: str | None = options.static("cors.allow.origin", "*").strip() or None
        self._event = options.option("event.type") if "event.type" in options else None
        self._event_id = options.option("event.id") if "event.id" in options else None
        kept = options.integer("replay.events", 0, most=1_000_000)
        if kept and self._event_id is None:
            raise options.invalid("replay.events", "'event.id' beside it")
        self._headers = Headers(options, context)
        self._kept: deque[tuple[str, bytes]] = deque(maxlen=kept)
        self._clients: set[Client] = set()
        self._server: HttpServer | None = None
        self._pinging: asyncio.Task[None] | None = None
        options.integer("worker.count", 1, least=1)

    @property
    def port(self) -> int | None:
        """The port that the server listens on; None while the sink is not connected."""
        return None if self._server is None else self._server.listening_port

    async def open(self) -> None:
        self._server = await HttpServer.open(self._address, self._path, self, self._tls, 120.0)
        self._pinging = asyncio.get_running_loop().create_task(self._keep_alive())

    async def close(self) -> None:
        task, self._pinging = self._pinging, None
        if task is not None:
            await end_tasks((task,))
        clients, self._clients = self._clients, set()
        for client in clients:
            client.end_stream()
        server, self._server = self._server, None
        if server is not None:
            await server.close(self._path)

    async def send(self, payload: object, options: DynamicOptions) -> None:
        try:
            text = payload if isinstance(payload, str) else bytes(cast("bytes", payload)).decode()
            kind = None if self._event is None else str(self._event.value(options))
            id_ = None if self._event_id is None else str(self._event_id.value(options))
            data = event_text(text, kind, id_).encode()
        except ValueError as error:
            raise MappingFailedError(str(error)) from None
        if id_ is not None:
            self._kept.append((id_, data))
        self._push(data)

    def _push(self, data: bytes) -> None:
        for client in tuple(self._clients):
            if not client.send(data):
                logger.warning("sink 'sse-server': a client, %s, that does not read was disconnected", client.peer)
                self._clients.discard(client)
                client.abort()

    async def _keep_alive(self) -> None:
        while True:
            await asyncio.sleep(_KEEP_ALIVE_SECONDS)
            self._push(b":\n\n")

    # --- requests

    def refuse(self, request: Request) -> tuple[int, str, tuple[Header, ...]] | None:
        """Return the answer to a request that is not allowed; None: it is."""
        return None if self._access is None else self._access.refuse(request)

    def handle(self, request: Request) -> None:
        """Add a client."""
        headers: list[Header] = [header_of(name, value) for name, value in self._headers.values(DynamicOptions())]
        headers += [(b"Content-Type", b"text/event-stream; charset=utf-8"), (b"Cache-Control", b"no-cache")]
        client = request.client
        if not client.stream(request, headers, partial(self._clients.discard, client)):
            return
        self._clients.add(client)
        client.send(b":\n\n" + b"".join(self._missed(request)))

    def _missed(self, request: Request) -> list[bytes]:
        """Return the kept events after the last one that a client has received."""
        last = request.header(b"last-event-id")
        if last is None:
            return []
        ids = [id_ for id_, _ in self._kept]
        with suppress(ValueError):
            after = len(ids) - ids[::-1].index(last)
            return [data for _, data in list(self._kept)[after:]]
        return [data for _, data in self._kept]  # it has missed more than are kept
