"""``@source(type = 'http-service')`` and ``@sink(type = 'http-service-response')``: requests that a stream answers."""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from functools import partial
from typing import ClassVar

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.io.async_source import AckMode
from siddhi.io.connector import ConnectorContext
from siddhi.io.http.messages import Header, Request
from siddhi.io.http.options import header_of
from siddhi.io.http.payloads import content_type, encode
from siddhi.io.http.source import HttpSource
from siddhi.io.http.templates import Headers
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.sink import Sink
from siddhi.io.source import SourceEventListener
from siddhi.repeats import Repeats

__all__ = ["HttpServiceResponseSink", "HttpServiceSource"]

logger = logging.getLogger("siddhi")


class HttpServiceSource(HttpSource):
    """Receives requests, each of which the sink ``http-service-response`` with the same ``source.id`` answers.

    A request has the transport property ``messageId``. Without an answer within ``connection.timeout`` it is answered with 504,
    and with 400 at once if its payload can't be mapped.
    """

    ack_modes: ClassVar[tuple[AckMode, ...]] = ("processed",)
    _by_id: ClassVar[dict[str, HttpServiceSource]] = {}
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        self._id = options.static("source.id")
        self._timeout = options.duration("connection.timeout", "120000")
        self._requests: dict[str, Request] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    @classmethod
    def find(cls, id_: str) -> HttpServiceSource | None:
        """Return the connected source with an id. In any thread."""
        with cls._guard:
            return cls._by_id.get(id_)

    async def open(self) -> None:
        with self._guard:
            if self._id in self._by_id:
                raise SiddhiAppCreationError(
                    f"the id '{self._id}' belongs to another source 'http-service'",
                    code="E326",
                    hint="use another 'source.id'",
                )
            self._by_id[self._id] = self
        await super().open()

    async def close(self) -> None:
        with self._guard:
            if self._by_id.get(self._id) is self:
                del self._by_id[self._id]
        for id_ in tuple(self._requests):
            self._answer(id_, 504, b"the app was shut down", ())
        await super().close()

    def handle(self, request: Request) -> None:
        request.id = str(uuid.uuid4())
        self._requests[request.id] = request
        loop = asyncio.get_running_loop()
        self._timers[request.id] = loop.call_later(
            self._timeout, self._answer, request.id, 504, b"no answer in time", ()
        )
        request.left = partial(self._left, request.id)
        super().handle(request)

    def accept(self, request: Request) -> None:
        """Do nothing: the sink answers."""

    def reply(self, request: Request, status: int, text: str = "", headers: tuple[Header, ...] = ()) -> None:
        self._forget(request.id)
        super().reply(request, status, text, headers)

    def respond(self, id_: str, status: int, body: bytes, headers: tuple[Header, ...]) -> bool:
        """Answer a request. In any thread. False: there is none with this id, or it was answered."""
        connection = self._connection
        if connection is None or id_ not in self._requests:
            return False
        connection.use.loop.call_soon_threadsafe(self._answer, id_, status, body, headers)
        return True

    def _answer(self, id_: str, status: int, body: bytes, headers: tuple[Header, ...]) -> None:
        request = self._forget(id_)
        if request is not None:
            self._trace(request, status)
            request.reply(status, body, headers)

    def _left(self, id_: str) -> None:
        self._forget(id_)

    def _forget(self, id_: str) -> Request | None:
        timer = self._timers.pop(id_, None)
        if timer is not None:
            timer.cancel()
        return self._requests.pop(id_, None)


class HttpServiceResponseSink(Sink):
    """Answers the requests of the source ``http-service`` with the same ``source.id``.

    The first answer to a request counts. An answer to an unknown request, such as one that was answered with 504, is logged
    and dropped.
    """

    supported_input_event_classes = (str, bytes, bytearray, memoryview, dict)

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        self._source_id = options.static("source.id")
        self._message_id = options.option("message.id")
        self._status = options.option("status.code", "200")
        if self._status.is_static:
            options.integer("status.code", 200, least=200, most=599)
        self._headers = Headers(options, context)
        self._type = content_type(context.mapper)
        self._repeats = Repeats()
        self._label = f"app '{context.app}', sink 'http-service-response' of stream '{context.stream}'"

    def connect(self) -> None:
        """Do nothing: the source has the connections."""

    def publish(self, payload: object, options: DynamicOptions) -> None:
        text = str(self._status.value(options)).strip()
        if not (text.isascii() and text.isdecimal() and 200 <= int(text) <= 599):
            raise MappingFailedError(f"invalid 'status.code': '{text}'")
        headers = [header_of(name, value) for name, value in self._headers.values(options)]
        if not any(name.lower() == b"content-type" for name, _ in headers):
            headers.append((b"Content-Type", self._type.encode()))
        id_ = str(self._message_id.value(options))
        source = HttpServiceSource.find(self._source_id)
        if source is None or not source.respond(id_, int(text), encode(payload), tuple(headers)):
            note = self._repeats.note(f"{self._label}: unknown requests")
            if note is not None:
                logger.warning("%s: no request '%s' waits at source '%s'%s", self._label, id_, self._source_id, note)
