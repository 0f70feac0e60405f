"""``@source(type = 'sqs')``: receives the messages of a queue of Amazon SQS."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, cast

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.async_source import AsyncSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.event_loop import end_tasks
from siddhi.io.options import OptionHolder
from siddhi.io.source import SourceEventListener
from siddhi.io.sqs.queue import Queue, RefusedError
from siddhi.io.unacknowledged import UnacknowledgedLimit

__all__ = ["SqsSource"]

logger = logging.getLogger("siddhi")

_ENTRIES = 10  # of a request
_SYSTEM = {
    "SENT_TIMESTAMP": "SentTimestamp",
    "RECEIVE_COUNT": "ApproximateReceiveCount",
    "MESSAGE_GROUP_ID": "MessageGroupId",
    "SEQUENCE_NUMBER": "SequenceNumber",
}


class SqsSource(AsyncSource):
    """Receives messages, and deletes them once they are acknowledged.

    Until then their visibility timeout is extended, so that no other consumer receives them. Positions count messages.
    """

    ack_modes: ClassVar[tuple[Literal["received", "processed", "checkpoint"], ...]] = ("processed", "checkpoint")
    has_message_time = True

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        self._names = transport_properties
        self._consumers = options.integer("number.of.parallel.consumers", 1, least=1, most=64)
        self._queue = Queue("source 'sqs'", options, self._consumers)
        self._interval = options.duration("polling.interval", "0 ms")
        self._wait = int(options.duration("wait.time", "2 sec", unit="sec", most=20.0, whole=True))
        self._most = options.integer("max.number.of.messages", _ENTRIES, least=1, most=_ENTRIES)
        self._visibility = int(
            options.duration("visibility.timeout", "30 sec", unit="sec", least=1.0, most=43200.0, whole=True)
        )
        self._deletes = options.flag("delete.messages", default=True)
        self._keeps_failed = options.choice("failed.messages", ("delete", "keep"), "delete") == "keep"
        self._attempts = options.integer("max.number.of.delete.retry.attempts", 10)
        self._pause = options.duration("delete.retry.interval", "5000 ms")
        self._limit = UnacknowledgedLimit.read(
            options, self.acknowledges, f"app '{context.app}', source 'sqs' of stream '{context.stream}'"
        )
        self._number = 0
        self._unacknowledged: dict[int, tuple[str, asyncio.Future[bool]]] = {}

    async def open(self) -> None:
        self._unacknowledged = {}  # the queue delivers them again
        self._limit.begin()
        await self._queue.open(float(self._wait))

    async def close(self) -> None:
        self._limit.end()
        await self._queue.close()

    async def receive(self) -> None:
        tasks = [asyncio.ensure_future(self._extend())]
        tasks += [asyncio.ensure_future(self._consume()) for _ in range(self._consumers)]
        try:
            await asyncio.gather(*tasks)
        finally:
            await end_tasks(tasks)

    async def _consume(self) -> None:
        while True:
            await self._limit.room()
            messages = await self._receive_messages()
            for message in messages:
                self._number += 1
                number = self._number
                future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
                # Known before it is handed over, so that its visibility is extended while it waits.
                self._unacknowledged[number] = message["ReceiptHandle"], future
                self._limit.note(len(self._unacknowledged))
                time = int(message["Attributes"]["SentTimestamp"]) if self.is_message_time else None
                processed = await self.submit(message["Body"], self._properties(message), number, time)
                self._unacknowledged[number] = message["ReceiptHandle"], processed
            if not messages and self._interval:
                await asyncio.sleep(self._interval)

    async def _receive_messages(self) -> list[dict[str, Any]]:
        try:
            answer = await self._queue.call(
                "receive_message",
                wait=float(self._wait),
                MaxNumberOfMessages=self._most,
                WaitTimeSeconds=self._wait,
                VisibilityTimeout=self._visibility,
                AttributeNames=["All"],
                MessageAttributeNames=["All"],
            )
        except RefusedError as error:
            raise ConnectionUnavailableError(f"the queue refuses to deliver: {error}") from error
        return list(answer.get("Messages", ()))

    def _properties(self, message: dict[str, Any]) -> list[object]:
        values: list[object] = []
        for name in self._names:
            if name == "MESSAGE_ID":
                values.append(message["MessageId"])
            elif name in _SYSTEM:
                values.append(message.get("Attributes", {}).get(_SYSTEM[name]))
            else:
                values.append(message.get("MessageAttributes", {}).get(name, {}).get("StringValue"))
        return values

    async def _extend(self) -> None:
        """Extend the visibility timeout of the messages that are not acknowledged."""
        while True:
            await asyncio.sleep(self._visibility / 3)
            held = [(str(number), handle) for number, (handle, _) in self._unacknowledged.items()]
            for entries in _batches(held):
                await self._request(
                    "change_message_visibility_batch",
                    [
                        {"Id": key, "ReceiptHandle": handle, "VisibilityTimeout": self._visibility}
                        for key, handle in entries
                    ],
                )

    async def acknowledge(self, position: object) -> None:
        last = cast("int", position)
        done = []
        for number in sorted(number for number in self._unacknowledged if number <= last):
            handle, outcome = self._unacknowledged.pop(number)
            if self._deletes and not (self._keeps_failed and outcome.done() and not outcome.result()):
                done.append((str(number), handle))
        self._limit.note(len(self._unacknowledged))
        for entries in _batches(done):
            await self._delete(entries)

    async def _delete(self, entries: Sequence[tuple[str, str]]) -> None:
        left = [{"Id": key, "ReceiptHandle": handle} for key, handle in entries]
        for attempt in range(self._attempts + 1):
            failed = await self._request("delete_message_batch", left)
            left = [entry for entry in left if entry["Id"] in failed]
            if not left:
                return
            if attempt < self._attempts:
                await asyncio.sleep(self._pause)
        logger.error(
            "source 'sqs' of stream '%s': %d messages could not be deleted, and are delivered again",
            self.context.stream,
            len(left),
        )

    async def _request(self, name: str, entries: list[dict[str, Any]]) -> set[str]:
        """Send a request for several messages, and return the ids of those for which it failed."""
        try:
            answer = await self._queue.call(name, Entries=entries)
        except RefusedError as error:
            raise ConnectionUnavailableError(f"the queue refuses {name}: {error}") from error
        # A receipt handle that has expired belongs to a message that is delivered again anyway.
        return {str(entry["Id"]) for entry in answer.get("Failed", ()) if not entry.get("SenderFault")}


def _batches(entries: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    return [entries[at : at + _ENTRIES] for at in range(0, len(entries), _ENTRIES)]
