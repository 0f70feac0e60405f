"""``@sink(type = 'sqs')``: sends messages to a queue of Amazon SQS."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.io.async_sink import AsyncSink
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.sqs.queue import Queue, RefusedError

__all__ = ["SqsSink"]


class SqsSink(AsyncSink):
    """Sends each payload as a message, which is published when the queue has it.

    A FIFO queue drops a message that is sent again, by its deduplication id: the one of the option, or one of the event.
    """

    supported_input_event_classes = (str,)

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self.concurrency = options.integer("concurrency", 1, least=1, most=64)
        self._sqs = Queue("sink 'sqs'", options, self.concurrency)
        self._group = options.option("message.group.id", "")
        self._deduplication = options.option("deduplication.id", "")
        self._has_group = "message.group.id" in options
        self._delay = int(options.duration("delay.interval", "0 sec", unit="sec", most=900.0, whole=True))
        if self._sqs.is_fifo != self._has_group or ("deduplication.id" in options and not self._sqs.is_fifo):
            raise SiddhiAppCreationError(
                "sink 'sqs': a FIFO queue, whose name ends with '.fifo', and 'message.group.id' need each other",
                code="E326",
            )
        if self._sqs.is_fifo and self._delay:
            raise options.invalid("delay.interval", "a queue that is not FIFO")
        if self._sqs.is_fifo and self.concurrency > 1:
            raise options.invalid("concurrency", "1 for a FIFO queue: otherwise the order is lost")

    async def open(self) -> None:
        await self._sqs.open()

    async def close(self) -> None:
        await self._sqs.close()

    async def send(self, payload: Any, options: DynamicOptions) -> None:
        arguments: dict[str, Any] = {"MessageBody": payload}
        if self._sqs.is_fifo:
            arguments["MessageGroupId"] = str(self._group.value(options))
            arguments["MessageDeduplicationId"] = str(self._deduplication.value(options)) or self._identifier(
                payload, options
            )
        elif self._delay:
            arguments["DelaySeconds"] = self._delay
        try:
            await self._sqs.call("send_message", **arguments)
        except RefusedError as error:
            raise MappingFailedError(f"the queue refuses the message: {error}") from error

    def _identifier(self, payload: str, options: DynamicOptions) -> str:
        event = options.event
        parts = (
            self.context.app,
            self.context.stream,
            event and (event.timestamp, event.data),
            options.destination,
            payload,
        )
        return blake2b(repr(parts).encode(errors="surrogatepass"), digest_size=32).hexdigest()
