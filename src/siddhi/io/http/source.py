"""``@source(type = 'http')``: receives requests."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import ClassVar, cast

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.async_source import AckMode, AsyncSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.http.access import Access
from siddhi.io.http.messages import Header, Request
from siddhi.io.http.options import Limits, receiver_of
from siddhi.io.http.payloads import payload_reader
from siddhi.io.http.properties import property_of
from siddhi.io.http.server import HttpServer
from siddhi.io.options import OptionHolder
from siddhi.io.source import SourceEventListener

__all__ = ["HttpSource"]

logger = logging.getLogger("siddhi")

RETRY_AFTER: tuple[Header, ...] = ((b"Retry-After", b"1"),)


class HttpSource(AsyncSource):
    """Receives the requests to one path.

    A request is answered with 200 after its events were processed, with ``ack = 'checkpoint'`` after they are part of a state
    that was saved. If ``buffer.payloads`` requests wait for the app, a further one is answered with 503 after ``buffer.wait``,
    and at once if the app is being shut down.

    Attributes:
        methods: methods of requests.
        needs_body: whether requests without a body are refused.
    """

    ack_modes: ClassVar[tuple[AckMode, ...]] = ("processed", "received", "checkpoint")
    output_event_classes = (str, bytes, dict)
    methods: tuple[str, ...] = ("POST",)
    needs_body = True

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        self._address, self._path, self._tls = receiver_of(options, context)
        self._access = Access.read(options)
        limits = Limits.read(options)
        self.most_bytes, self.too_large = limits.body, limits.body_answer
        self.most_header_bytes, self.header_too_large = limits.header, limits.header_answer
        self.origins: str | None = options.static("cors.allow.origin", "*").strip() or None
        self._busy_seconds = options.duration("buffer.wait", "1000")
        self._waits: set[asyncio.Task[None]] = set()  # of requests that wait for room
        self._idle_seconds = options.duration("socket.idle.timeout", "120000")
        self._traces = options.flag("trace.log.enabled", default=False)
        self._read = payload_reader(context.mapper)
        self._properties = tuple(property_of(name) for name in transport_properties)
        self._is_stopping = False
        self._number = 0  # of the last request, with ack = 'checkpoint'
        self._unsaved: dict[int, Request] = {}  # processed requests whose events are not saved yet, in order
        self._server: HttpServer | None = None
        options.integer("worker.count", 1, least=1)

    @property
    def port(self) -> int | None:
        """The port that the server listens on; None while the source is not connected."""
        return None if self._server is None else self._server.listening_port

    async def open(self) -> None:
        self._is_stopping = False
        self._server = await HttpServer.open(self._address, self._path, self, self._tls, self._idle_seconds)

    async def receive(self) -> None:
        """Wait until no more requests are accepted."""
        try:
            await asyncio.Event().wait()
        finally:
            self._is_stopping = True
            for task in self._waits:
                task.cancel()

    async def acknowledge(self, position: object) -> None:
        """Answer the requests whose events are saved."""
        for number in tuple(self._unsaved):
            if number > cast("int", position):
                return
            self.reply(self._unsaved.pop(number), 200)

    async def close(self) -> None:
        for request in self._unsaved.values():
            self.reply(request, 503, "the app was shut down before its state was saved", RETRY_AFTER)
        self._unsaved.clear()
        server, self._server = self._server, None
        if server is not None:
            await server.close(self._path)

    # --- requests

    def refuse(self, request: Request) -> tuple[int, str, tuple[Header, ...]] | None:
        """Return the answer to a request that is not allowed, before its body is read; None: it is."""
        if self._access is not None and (refusal := self._access.refuse(request)) is not None:
            self._trace(request, refusal[0])
            return refusal
        return (503, "the app is being shut down", RETRY_AFTER) if self._is_stopping else None

    def handle(self, request: Request) -> None:
        """Hand the payload of a request to the app, and answer the request."""
        try:
            payload = self._read(request.body, request.header(b"content-type"))
        except LookupError:
            self.reply(request, 415, "unknown charset")
            return
        except ValueError as error:
            self.reply(request, 400, f"the body can't be read: {error}")
            return
        properties = tuple(find(request) for find in self._properties) if self._properties else None
        if self._offer(request, payload, properties):
            return
        if self._is_stopping or not self._busy_seconds:
            self._reply_busy(request)
            return
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._wait_for_room(request, payload, properties))
        timer = loop.call_later(self._busy_seconds, task.cancel)
        self._waits.add(task)
        task.add_done_callback(partial(self._has_waited, timer))

    def _has_waited(self, timer: asyncio.TimerHandle, task: asyncio.Task[None]) -> None:
        timer.cancel()
        self._waits.discard(task)

    def _offer(self, request: Request, payload: object, properties: tuple[object, ...] | None) -> bool:
        """Hand a payload to the app if there is room, and have the request answered."""
        position = None
        if self.acknowledges == "checkpoint":
            position = self._number + 1
        processed = self.offer(payload, properties, position)
        if processed is None:
            return False
        if self.acknowledges == "received":
            self.reply(request, 202)
            return True
        self._number += 1
        processed.add_done_callback(partial(self._processed_request, request, position))
        return True

    async def _wait_for_room(self, request: Request, payload: object, properties: tuple[object, ...] | None) -> None:
        try:
            await self.room()
        except (
            asyncio.CancelledError,
            ConnectionUnavailableError,
        ):  # it has waited long enough, or the app is being shut down
            self._reply_busy(request)
            return
        if not self._offer(request, payload, properties):
            self._reply_busy(request)

    def _reply_busy(self, request: Request) -> None:
        self.reply(request, 503, "the app is being shut down" if self._is_stopping else "the app is busy", RETRY_AFTER)

    def _processed_request(self, request: Request, position: int | None, processed: asyncio.Future[bool]) -> None:
        if not processed.cancelled() and processed.result():
            if position is None:
                self.accept(request)
            else:
                self._unsaved[position] = request
                request.left = partial(self._leave, position)
        elif self._is_stopping:
            self.reply(request, 503, "the app was shut down", RETRY_AFTER)
        else:
            self.reply(
                request, 400, "the payload, or a part of it, can't be mapped to the stream: see the log of the app"
            )

    def _leave(self, position: int) -> None:
        self._unsaved.pop(position, None)

    def accept(self, request: Request) -> None:
        """Answer a request whose events were processed."""
        self.reply(request, 200)

    def reply(self, request: Request, status: int, text: str = "", headers: tuple[Header, ...] = ()) -> None:
        """Answer a request."""
        if self._traces:
            self._trace(request, status)
        request.reply(status, text or b"", headers)

    def _trace(self, request: Request, status: int) -> None:
        if self._traces:
            logger.info("http: %s %s of %s: %d", request.method, request.path, request.client.peer, status)
