"""``@source(type = 'grpc-service')`` and ``@sink(type = 'grpc-service-response')``: calls that a stream answers."""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Mapping
from typing import ClassVar

import grpc

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.connector import ConnectorContext
from siddhi.io.grpc.server import Answer, Refusal
from siddhi.io.grpc.source import GrpcSource
from siddhi.io.options import DynamicOptions, OptionHolder, pairs_of
from siddhi.io.sink import Sink
from siddhi.io.source import SourceEventListener
from siddhi.repeats import Repeats

__all__ = ["GrpcServiceResponseSink", "GrpcServiceSource"]

logger = logging.getLogger("siddhi")


class GrpcServiceSource(GrpcSource):
    """Receives calls, each of which the sink ``grpc-service-response`` with the same ``source.id`` answers.

    A call has the transport property ``message.id``. Without an answer within ``service.timeout`` it ends with
    DEADLINE_EXCEEDED, and with INVALID_ARGUMENT at once if its payload can't be mapped.
    """

    is_call = True
    method = "process"
    _by_id: ClassVar[dict[str, GrpcServiceSource]] = {}
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
        self._timeout = options.duration("service.timeout", "10000")
        self._pending: dict[str, asyncio.Future[Answer | Refusal]] = {}

    @classmethod
    def find(cls, id_: str) -> GrpcServiceSource | None:
        """Return the connected source with an id. In any thread."""
        with cls._guard:
            return cls._by_id.get(id_)

    async def open(self) -> None:
        with self._guard:
            if self._by_id.setdefault(self._id, self) is not self:
                raise SiddhiAppCreationError(
                    f"the id '{self._id}' belongs to another source 'grpc-service'",
                    code="E326",
                    hint="use another 'source.id'",
                )
        await super().open()

    async def close(self) -> None:
        with self._guard:
            if self._by_id.get(self._id) is self:
                del self._by_id[self._id]
        for answer in self._pending.values():
            if not answer.done():
                answer.set_result(Refusal(grpc.StatusCode.UNAVAILABLE, "the app is shut down"))
        await super().close()

    async def answer(self, payload: str | bytes, properties: Mapping[str, object]) -> Answer | Refusal:
        id_ = str(uuid.uuid4())
        answer: asyncio.Future[Answer | Refusal] = asyncio.get_running_loop().create_future()
        self._pending[id_] = answer

        def processed(outcome: asyncio.Future[bool]) -> None:
            if not answer.done() and not outcome.cancelled() and not outcome.result():
                answer.set_result(Refusal(grpc.StatusCode.INVALID_ARGUMENT, "the message could not be mapped"))

        async def ask() -> Answer | Refusal:
            outcome = await self.take(payload, {**properties, "message.id": id_, "messageId": id_})
            outcome.add_done_callback(processed)
            return await answer

        try:
            return await asyncio.wait_for(ask(), self._timeout)
        except asyncio.TimeoutError:
            return Refusal(grpc.StatusCode.DEADLINE_EXCEEDED, f"no answer within {self._timeout:g} s")
        finally:
            self._pending.pop(id_, None)

    def respond(self, id_: str, payload: object, headers: dict[str, str]) -> bool:
        """Answer a call. In any thread. False: there is none with this id, or it was answered."""
        answer = self._pending.get(id_)
        if answer is None or answer.done():
            return False
        answer.get_loop().call_soon_threadsafe(_set, answer, payload, headers)
        return True


def _set(answer: asyncio.Future[Answer | Refusal], payload: object, headers: dict[str, str]) -> None:
    if not answer.done():
        answer.set_result(Answer(payload, headers))


class GrpcServiceResponseSink(Sink):
    """Answers the calls of the source ``grpc-service`` with the same ``source.id``.

    The first answer to a call counts. An answer to an unknown call, such as one that ended with DEADLINE_EXCEEDED, is logged
    and dropped.
    """

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        self._label = f"app '{context.app}', sink 'grpc-service-response' of stream '{context.stream}'"
        self._id = options.static("source.id")
        self._message_id = options.option("message.id")
        self._headers = options.option("headers", "")
        self._repeats = Repeats()

    def connect(self) -> None:
        """Do nothing: the source has the connections."""

    def publish(self, payload: object, options: DynamicOptions) -> None:
        """Answer a call.

        Raises:
            MappingFailedError: the service can't carry the payload.
            ValueError: the headers are not pairs of names and texts.
        """
        id_ = str(self._message_id.value(options))
        headers = pairs_of(str(self._headers.value(options)))
        source = GrpcServiceSource.find(self._id)
        if source is None:
            self._log(f"no connected source has the id '{self._id}'")
            return
        source.target.format.encode(payload, headers)  # raises here, where on.error hears of it
        if not source.respond(id_, payload, headers):
            self._log("an answer was dropped: there is no call with its id, or the call has ended")

    def _log(self, text: str) -> None:
        note = self._repeats.note(text)
        if note is not None:
            logger.warning("%s: %s%s", self._label, text, note)
